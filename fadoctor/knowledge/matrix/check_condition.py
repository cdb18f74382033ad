"""Check conditions and paths: that every name exists, and that no test is decided by a slip.

A condition that can never hold, or always does, compiles as well as a right one; what can be seen
without facts is refused here.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from fadoctor.knowledge.matrix.versions import parse_specifier, parse_version
from fadoctor.model.catalogue import CAUSES, FactSpec, example_name, find_spec, generic_name
from fadoctor.model.rule import ACCESSORS, OPERATORS

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from fadoctor.knowledge.matrix.yaml_reader import Path
    from fadoctor.model.rule import Rule, Table

    Problem = tuple[Path, str]

_NAMES = {name for pair in OPERATORS for name in pair}
_PLACEHOLDER = re.compile(r"\{([^{}]*)\}")
_OPTIONAL = re.compile(r"\[\[.{1,400}?\]\]", re.DOTALL)


class RuleNames:
    """Everything that a rule may refer to."""

    def __init__(
        self, catalogue: Mapping[str, FactSpec], tables: Mapping[str, Table], rules: Iterable[Rule]
    ) -> None:
        self.catalogue = catalogue
        self.tables = tables
        self.rules = {rule.id: rule for rule in rules}


def check_condition(
    condition: Mapping[str, Any], place: Path, rule: Rule, names: RuleNames
) -> Iterator[Problem]:
    """Yield what is wrong with a condition of a rule."""
    for path, test in condition.items():
        here = (*place, path)
        if path != "any":
            yield from check_path(path, here, rule, names)
            yield from _check_test(path, test, here, rule, names)
        elif not isinstance(test, list) or not test:
            yield here, "must be a list of conditions"
        else:
            for index, branch in enumerate(test):
                if isinstance(branch, dict) and branch:
                    yield from check_condition(branch, (*here, index), rule, names)
                else:
                    yield (*here, index), "must be a condition that tests something"


def check_template(text: str, place: Path, rule: Rule, names: RuleNames) -> Iterator[Problem]:
    """Yield what is wrong with the placeholders of a text."""
    for placeholder in _PLACEHOLDER.findall(text):
        yield from check_path(placeholder.partition("|")[0], place, rule, names)
    if text.count("[[") != len(_OPTIONAL.findall(text)):
        yield place, "[[ needs its ]], and optional parts cannot be nested"


def check_path(path: str, place: Path, rule: Rule, names: RuleNames) -> Iterator[Problem]:
    """Yield what is wrong with a path: a fact, a row's column or a name."""
    head, _, rest = path.partition(".")
    if not rest and head in rule.let:
        return
    if rest and head in rule.rows:
        table = names.tables.get(rule.rows[head].get("table", ""))
        if table is not None and rest not in table.columns:
            yield place, f"table {table.table} has no column {rest}"
        return
    spec, part = _spec_of(path, rule, names.catalogue)
    if spec is None:
        yield place, f"{path} is neither a fact, nor a row's column, nor a name"
    elif part and spec.type != "mapping" and (part not in ACCESSORS or spec.type != "version"):
        yield place, f"{spec.name} is a {spec.type}: it has no {part}"


def check_circles(rule: Rule, names: RuleNames) -> Iterator[Problem]:
    """Yield names, rows and explanations that lead back to themselves."""
    leads = {name: _heads(paths) for name, paths in rule.let.items()}
    leads |= {name: _heads(spec.values()) for name, spec in rule.rows.items()}
    for name in leads:
        if _leads_to(name, name, leads):
            key = "let" if name in rule.let else "rows"
            yield (key, name), "leads back to itself"
    explained = {rule_id: set(other.explained_by) for rule_id, other in names.rules.items()}
    if any(_leads_to(cause, rule.id, explained) for cause in rule.explained_by if cause != rule.id):
        yield ("explained_by",), "the rules explain each other"


def _heads(paths: Iterable[str]) -> set[str]:
    return {path.partition(".")[0] for path in paths}


def _leads_to(start: str, goal: str, leads: Mapping[str, set[str]]) -> bool:
    seen: set[str] = set()
    open_ = [start]
    while open_:
        for name in leads.get(open_.pop(), ()):
            if name == goal:
                return True
            if name not in seen:
                seen.add(name)
                open_.append(name)
    return False


def _spec_of(
    path: str, rule: Rule, catalogue: Mapping[str, FactSpec]
) -> tuple[FactSpec | None, str]:
    """Return the fact that a path names, and the part of it that is meant."""
    path = generic_name(example_name(path, rule.for_each))
    whole = find_spec(catalogue, path)
    if whole is not None:
        return whole, ""
    base, _, part = path.rpartition(".")
    return find_spec(catalogue, base), part


def _check_test(
    path: str, test: Any, place: Path, rule: Rule, names: RuleNames
) -> Iterator[Problem]:
    if isinstance(test, list) or test is None or test == {}:
        yield place, "must be a value or operators; write {in: [...]} or {present: false}"
        return
    spec, part = _spec_of(path, rule, names.catalogue)
    kind = (
        spec.type
        if spec is not None and not part and path.partition(".")[0] not in rule.rows
        else ""
    )
    operands = test if isinstance(test, dict) else {"is": test}
    for name, operand in operands.items():
        here = (*place, name) if isinstance(test, dict) else place
        if name not in _NAMES:
            yield here, f"there is no operator {name}"
        elif isinstance(operand, str) and operand.startswith("$"):
            yield from check_path(operand[1:], here, rule, names)
        elif (problem := _operand_problem(name, operand, kind)) is not None:
            yield here, problem
        elif path == CAUSES and name != "present":
            named = operand if isinstance(operand, list) else [operand]
            yield from (
                (here, f"there is no rule {each}") for each in named if each not in names.rules
            )


def _operand_problem(name: str, operand: Any, kind: str) -> str | None:
    """Return why a literal operand can never decide its test, or None."""
    match name:
        case "present":
            return None if isinstance(operand, bool) else "must be true or false"
        case "is" | "not":
            return _value_problem(operand, kind)
        case "in" | "not_in" | "overlaps" | "disjoint":
            return _list_problem(operand)
        case "below" | "at_least":
            fits = parse_version(str(operand)) is not None
            return None if fits else f"{operand!r} is not a version"
        case "satisfies" | "violates" | "patch_of" | "not_patch_of":
            fits = isinstance(operand, str) and parse_specifier(operand) is not None
            return None if fits else f"{operand!r} is not a specifier"
        case _:
            return None


def _value_problem(operand: Any, kind: str) -> str | None:
    if operand is None or (isinstance(operand, list) and kind != "list"):
        return "must be one value; write {in: [...]} or {present: false}"
    if (
        kind
        and not isinstance(operand, (dict, list))
        and isinstance(operand, bool) != (kind == "boolean")
    ):
        return f"{operand!r} is compared with a {kind}"
    return None


def _list_problem(operand: Any) -> str | None:
    if not isinstance(operand, list):
        return "must be a list, or a path to one"
    if any(isinstance(item, str) and item.startswith("$") for item in operand):
        return "a list cannot hold a path"
    return None
