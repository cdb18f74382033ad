"""Check the symptoms of rules: their patterns meet text from anybody, so none may run away."""

from __future__ import annotations

import re
from functools import cache
from typing import TYPE_CHECKING, Any

from fadoctor.knowledge.matrix.pattern_tree import PARSER, REPEATS, Node
from fadoctor.model.finding import Severity
from fadoctor.model.rule import COMPLAINT, HEIRS, LOOKAHEAD, TABLE
from fadoctor.syntax.patterns import alternatives

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from fadoctor.knowledge.matrix.yaml_reader import Path
    from fadoctor.model.rule import Rule, Symptom, Table

    Problem = tuple[Path, str]

ANCHOR_LENGTHS = range(6, 121)
"""A short anchor is found everywhere, and then every pattern must run."""

STEP_LIMIT = 100_000
"""Most ways in which the repetitions of one pattern can be tried from one place."""

PATTERN_LIMIT = 1_500
"""Longest pattern, in characters."""

_PLACEHOLDER = re.compile(r"\{([^{}]*)\}")


def check_symptoms(rule: Rule) -> Iterator[Problem]:
    """Yield what is wrong with a rule's symptoms, and with its message where it has no `when`."""
    if not rule.when and _PLACEHOLDER.search(rule.message):
        yield ("message",), "a rule that shows only in logs has no facts"
    severities = list(Severity)
    for index, symptom in enumerate(rule.symptoms):
        place: Path = ("symptoms", index)
        yield from _check_anchor(symptom, place)
        yield from _check_pattern(symptom, place)
        conditions = ("near", symptom.near), ("same_line", symptom.same_line)
        vetoes = (
            ("absent", symptom.absent),
            ("others", symptom.others),
            ("survived", symptom.survived),
        )
        for key, patterns in (*conditions, *vetoes):
            for number, pattern in enumerate(patterns):
                yield from check_regex(pattern, (*place, key, number))
        severity = symptom.severity or rule.severity
        if severities.index(severity) < severities.index(rule.severity):
            yield (*place, "severity"), "a wording cannot weigh more than its rule"


def check_refines(rule: Rule, rules: Iterable[str]) -> Iterator[Problem]:
    """Yield what is wrong with how a rule refines more general ones."""
    known = {COMPLAINT, *rules} - {rule.id}
    for index, refined in enumerate(rule.refines):
        place: Path = ("refines", index)
        for number, general in enumerate(refined.of):
            if general not in known:
                yield (*place, "of", number), f"there is no other rule {general}"
        if not refined.of:
            yield (*place, "of"), "names no general rule"
        if not (refined.given or refined.near):
            yield place, "needs `given` or `near`: without either the general rule is this one"
        if _PLACEHOLDER.search(refined.message):
            yield (*place, "message"), "holds no values"
        for key, patterns in (("near", refined.near), ("absent", refined.absent)):
            for number, pattern in enumerate(patterns):
                yield from check_regex(pattern, (*place, key, number))


def check_listed(rule: Rule, tables: Mapping[str, Table]) -> Iterator[Problem]:
    """Yield what is wrong with the tables that symptoms are held against."""
    for index, symptom in enumerate(rule.symptoms):
        if not symptom.listed:
            continue
        place: Path = ("symptoms", index, "listed")
        keys = {key: group for key, group in symptom.listed.items() if key not in {TABLE, HEIRS}}
        table, heirs = (tables.get(symptom.listed.get(name, "")) for name in (TABLE, HEIRS))
        if table is None or not keys or not keys.keys() <= table.keys.keys():
            yield place, "names a table, and groups of the pattern for its keys"
        if HEIRS in symptom.listed and (
            heirs is None or len(heirs.columns) != 1 or not heirs.keys.keys() < keys.keys()
        ):
            yield place, "heirs is a table of one of these keys with one column"
        for group in keys.values():
            if f"(?P<{group}>" not in symptom.pattern:
                yield place, f"the pattern has no group {group}"


def longest_match(pattern: str) -> int:
    """Return how many characters a match has at most; 0 of what is no regular expression."""
    try:
        widest: int = PARSER.parse(pattern).getwidth()[1]
    except (re.error, OverflowError, RecursionError):
        return 0
    return widest


def _check_anchor(symptom: Symptom, place: Path) -> Iterator[Problem]:
    if len(symptom.anchor) not in ANCHOR_LENGTHS:
        least, most = ANCHOR_LENGTHS[0], ANCHOR_LENGTHS[-1]
        yield (*place, "anchor"), f"must have {least} to {most} characters"
    if not symptom.anchor.isprintable():
        yield (*place, "anchor"), "must be part of one line"


def _check_pattern(symptom: Symptom, place: Path) -> Iterator[Problem]:
    """Check the pattern, that it needs its anchor, and that the message knows its groups."""
    groups: set[str] = set()
    if symptom.pattern:
        problems = list(check_regex(symptom.pattern, (*place, "pattern")))
        yield from problems
        if problems:
            return
        tree = PARSER.parse(symptom.pattern)
        if _ahead(list(tree)) > LOOKAHEAD:
            yield (*place, "pattern"), f"looks further than {LOOKAHEAD} characters ahead"
        numbers = set(_certain(list(tree)))
        groups = {name for name, number in tree.state.groupdict.items() if number in numbers}
        if tree.state.flags & re.IGNORECASE or not _needs(list(tree), symptom.anchor):
            yield (*place, "pattern"), "can match without the anchor"
    for name in _PLACEHOLDER.findall(symptom.message):
        if name not in groups:
            yield (*place, "message"), f"the pattern has no group {name} that takes part always"


def is_regex(pattern: str) -> bool:
    """Return whether a pattern is a regular expression, as a whole and by its alternatives."""
    try:
        for each in {pattern, *alternatives(pattern)}:
            PARSER.parse(each)
    except (re.error, OverflowError, RecursionError):
        return False
    return True


def check_regex(pattern: str, place: Path) -> Iterator[Problem]:
    """Yield why a pattern is not allowed: not compiling, unbounded, nested or too many ways."""
    yield from ((place, problem) for problem in _problems(pattern))


@cache  # one pattern is in several places, and each is parsed in Python
def _problems(pattern: str) -> tuple[str, ...]:
    try:
        re.compile(pattern)
        tree = PARSER.parse(pattern)
    except (re.error, OverflowError, RecursionError) as error:
        return (f"is not a regular expression: {error}",)
    problems = []
    if len(pattern) > PATTERN_LIMIT:
        problems.append(f"is longer than {PATTERN_LIMIT} characters")
    if len(tree.state.groupdict) < tree.state.groups - 1:
        problems.append("has a group without a name; write (?:...) or (?P<name>...)")
    found = set(_faults(list(tree), inside=False))
    problems += sorted(found)
    if not found and _ways(list(tree)) > STEP_LIMIT:
        problems.append("has too many wide repetitions in a row")
    return tuple(problems)


def _faults(nodes: list[Node], *, inside: bool) -> Iterator[str]:
    """Yield what runs away: repetitions without a bound, or one inside another, and references."""
    for operation, argument in nodes:
        if operation.name in REPEATS:
            least, most, _ = argument
            if most == PARSER.MAXREPEAT:
                yield "has a repetition without a bound; write {0,200}"
            if inside and least != most:
                yield "has a repetition inside another one"
        if inside and operation.name == "BRANCH":
            yield "has a choice inside a repetition"
        if operation.name in ("GROUPREF", "GROUPREF_EXISTS"):
            yield "refers back to a group"
        repeats = operation.name in REPEATS and argument[1] > 1
        for part in _parts(operation.name, argument):
            yield from _faults(part, inside=inside or repeats)


def _ways(nodes: list[Node]) -> int:
    """Return in how many ways the repetitions can be tried, at most, from one place.

    One that ends the sequence, or that the next character ends for certain, has only one way.
    """
    ways = 1
    flat = list(_flat(nodes))
    for (operation, argument), following in zip(flat, [*flat[1:], None], strict=False):
        inner = [_ways(part) for part in _parts(operation.name, argument)]
        if operation.name in REPEATS:
            least, most, body = argument
            ways *= max(inner)
            ways *= 1 if _is_ended(list(body), following) else most - least + 1
        elif operation.name == "BRANCH":
            ways *= sum(inner)
        else:
            ways *= max(inner, default=1)
    return ways


def _is_ended(body: list[Node], following: Node | None) -> bool:
    """Return whether a repetition of `body` can stop at one place only."""
    if following is None:
        return True
    operation, argument = following
    return operation.name == "LITERAL" and len(body) == 1 and not _takes(body[0], chr(argument))


def _takes(node: Node, character: str) -> bool:
    """Return whether a node for one character matches this one; what is not known does."""
    operation, argument = node
    if operation.name == "LITERAL":
        return bool(chr(argument) == character)
    if operation.name == "NOT_LITERAL":
        return bool(chr(argument) != character)
    if operation.name == "IN":
        negated = argument[0][0].name == "NEGATE"
        return negated is not any(_is_member(each, character) for each in argument[negated:])
    return True


def _is_member(member: Node, character: str) -> bool:
    operation, argument = member
    if operation.name == "RANGE":
        return bool(argument[0] <= ord(character) <= argument[1])
    if operation.name == "CATEGORY":
        return _category(argument.name, character)
    return _takes(member, character)


def _category(name: str, character: str) -> bool:
    kinds = {
        "DIGIT": character.isdecimal(),
        "SPACE": character.isspace(),
        "WORD": character.isalnum() or character == "_",
    }
    kind = name.rpartition("_")[2]
    return kinds.get(kind, True) is not ("_NOT_" in name)


def _needs(nodes: list[Node], anchor: str) -> bool:
    """Return whether every match holds the anchor in one run of literal characters."""
    run = ""
    for operation, argument in _flat(nodes):
        name = operation.name
        if name == "LITERAL":
            run += chr(argument)
            continue
        if name in ("AT", "ASSERT", "ASSERT_NOT"):
            continue
        if anchor in run:
            return True
        run = ""
        parts = _parts(name, argument)
        certain = name == "BRANCH" or (name in REPEATS and argument[0] > 0)
        if certain and all(_needs(part, anchor) for part in parts):
            return True
    return anchor in run


def _ahead(nodes: list[Node]) -> int:
    """Return how far the widest assertion looks ahead, in characters."""
    widest = 0
    for operation, argument in nodes:
        if operation.name in ("ASSERT", "ASSERT_NOT") and argument[0] > 0:
            widest = max(widest, argument[1].getwidth()[1])
        for part in _parts(operation.name, argument):
            widest = max(widest, _ahead(part))
    return widest


def _certain(nodes: list[Node]) -> Iterator[int]:
    """Yield the numbers of the groups that take part in every match."""
    for operation, argument in nodes:
        if operation.name == "SUBPATTERN" and argument[0] is not None:
            yield argument[0]
        optional = operation.name in REPEATS and argument[0] == 0
        if not optional and operation.name not in ("BRANCH", "ASSERT_NOT"):
            for part in _parts(operation.name, argument):
                yield from _certain(part)


def _flat(nodes: list[Node]) -> Iterator[Node]:
    """Yield nodes with those of groups in their place; a group that ignores case stays closed."""
    for operation, argument in nodes:
        if operation.name == "SUBPATTERN" and not argument[1] & re.IGNORECASE:
            yield from _flat(list(argument[3]))
        else:
            yield operation, argument


def _parts(name: str, argument: Any) -> list[list[Node]]:
    """Return the sequences below a node."""
    if name in REPEATS:
        return [list(argument[2])]
    if name == "SUBPATTERN":
        return [list(argument[3])]
    if name == "BRANCH":
        return [list(branch) for branch in argument[1]]
    if name in ("ASSERT", "ASSERT_NOT"):
        return [list(argument[1])]
    if name == "ATOMIC_GROUP":
        return [list(argument)]
    return []
