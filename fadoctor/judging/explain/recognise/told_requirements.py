"""What installers say of requirements that are not met: facts, and the rule that each is about."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import msgspec

from fadoctor.judging.engine.operators import does_satisfy
from fadoctor.judging.explain.recognise.line_cause import line_cause
from fadoctor.model.fact import Absent, Fact, Known, Value, fact_mapping
from fadoctor.model.finding import Confidence, Severity
from fadoctor.model.packages import (
    BYSTANDERS,
    COMPANIONS,
    FLASH_ATTN,
    STACK,
    TORCH,
    TRITON,
    XFORMERS,
    package_of,
)
from fadoctor.model.rule import rules_by_id
from fadoctor.sources.logs.cleaning import Line
from fadoctor.sources.logs.facts import LogFacts
from fadoctor.sources.targets.derived import derive
from fadoctor.syntax.patterns import compiled

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from fadoctor.judging.explain.causes import Cause
    from fadoctor.knowledge.matrix.query import Matrix
    from fadoctor.model.rule import Knowledge

TOLD_LIMIT = 40
"""Most of such lines of one text that are read."""

# vllm 0.16.0+cu130 requires transformers<5,>=4.56.0, but you have transformers 5.2.0 which is
# incompatible. | flash-attn 2.8.3 requires torch, which is not installed.
# xformers==0.0.30 requires torch==2.7.0
_REQUIRES = compiled(
    r"(?<![\w.-])(?P<package>[A-Za-z][\w.-]{1,40})(?: |==| \()v?"
    r"(?P<release>\d[\w.+!-]{0,30})\)? (?:requires|has requirement|depends on) "
    r"(?P<needs>[A-Za-z](?:[\w.-]{0,40}\w)?)(?:\[[\w, -]{1,40}\])?"
)
_VERSION = (
    r"\d{1,8}(?:\.\d{1,8}){0,6}(?:\.\*)?(?:(?:a|b|rc|\.?post|\.?dev)\d{1,8})?(?:\+[\w.]{1,30})?"
)
_CLAUSE = rf"(?:===?|~=|!=|<=?|>=?) ?{_VERSION}"
_RANGE = compiled(rf" ?\(?(?P<range>{_CLAUSE}(?:, ?{_CLAUSE}){{0,4}})")
_TAIL = compiled(
    r"[^,\n]{0,120},? (?:(?P<missing>which is not installed)"
    r"|but you(?:.ll)?(?: will)? have [A-Za-z][\w.-]{1,40} (?P<found>\d[\w.+!-]{0,30}))"
)
_WORDS = ("requires ", "has requirement ", "depends on ")
_OTHERS = "requirement-unmet"
_KNOWN = STACK | COMPANIONS
_CALLED = FLASH_ATTN.replace("_", "-")
_BOUND = frozenset({TORCH, _CALLED, XFORMERS, TRITON})
"""What a package is compiled for that asks for one release, or calls without a promise."""


class Told(msgspec.Struct, frozen=True):
    """One requirement that somebody says is not met."""

    package: str
    release: str
    needs: str
    range: str
    found: str
    """The version that is installed, "" where none is, or nothing is said."""
    is_missing: bool
    is_certain: bool
    """Whether the line says itself that it is not met."""
    line: Line


def told_in(lines: Iterable[Line]) -> tuple[Told, ...]:
    """Return the requirements of the stack that lines tell of."""
    found = [each for line in lines for each in _of_line(line) if _is_of_stack(each)]
    return tuple(found[:TOLD_LIMIT])


def _of_line(line: Line) -> Iterator[Told]:
    if not any(word in line.text for word in _WORDS):
        return
    for found in _REQUIRES.finditer(line.text):
        ranged = _RANGE.match(line.text, found.end())
        tail = _TAIL.match(line.text, ranged.end() if ranged else found.end())
        said = tail.groupdict() if tail else {}
        missing, installed = bool(said.get("missing")), said.get("found") or ""
        yield Told(
            _normal(found["package"]),
            found["release"].rstrip("."),
            _normal(found["needs"]),
            ranged["range"].replace(" ", "").rstrip(",") if ranged else "",
            installed.rstrip("."),
            missing,
            missing or bool(installed),
            line,
        )


def _normal(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def _is_of_stack(told: Told) -> bool:
    if told.package not in _KNOWN:
        is_bound = told.needs in _BOUND and (told.range.startswith("==") or told.needs == _CALLED)
        return is_bound and told.is_certain and not told.is_missing
    return told.needs in _KNOWN | BYSTANDERS


def with_told(facts: LogFacts, told: tuple[Told, ...], matrix: Matrix) -> LogFacts:
    """Return the facts of a text with those of its installer's lines, where nothing else tells."""
    said: dict[str, Fact] = {}
    for each in told:
        if not each.is_certain:
            continue
        source = f"line {each.line.number}"
        for distribution, version in ((each.package, each.release), (each.needs, each.found)):
            key = package_of(distribution)
            if key and version:
                said.setdefault(f"{key}.version", Known(version, source))
                said.setdefault(f"{key}.distribution", Known(distribution, source))
        key = package_of(each.package)
        if key and each.range:
            required = dict(fact_mapping(said.get(f"{key}.requires")))
            said[f"{key}.requires"] = Known({**required, each.needs: each.range}, source)
    environment = facts.environment
    known = environment.facts
    new = {name: fact for name, fact in said.items() if not isinstance(known.get(name), Known)}
    if not new:
        return facts
    world = msgspec.structs.replace(environment, facts={**known, **new})
    named = {**facts.named, **{k: v for k, v in new.items() if k.endswith(".version")}}
    world = derive(world, matrix)
    unmet = _unmet(told, matrix)
    world = msgspec.structs.replace(world, facts={**world.facts, **unmet})
    return LogFacts(world, named, facts.reported)


def _unmet(told: Iterable[Told], matrix: Matrix) -> dict[str, Fact]:
    """Return what is not met of the requirements that no rule of their own speaks of."""
    found: dict[str, Fact] = {}
    for each in told:
        key = package_of(each.package)
        if not key or not each.is_certain or _rule_of(each, matrix) != _OTHERS:
            continue
        source = f"line {each.line.number}"
        values: dict[str, Value] = {
            "unmet": {each.needs: f"{each.range} ({each.found or 'not installed'})"},
            "unmet_told": {each.needs: each.found or "(not installed)"},
            "unmet_alone": (f"{each.needs}{each.range}",),
        }
        found |= {f"{key}.{name}": Known(value, source) for name, value in values.items()}
        outside: Fact = Absent("it is not installed")
        found[f"{key}.unmet_outside"] = (
            Known({each.needs: each.found}, source) if each.found else outside
        )
        found |= {f"{key}.{name}": Absent("a line says so") for name in _NOT_ASKED}
    return found


_NOT_ASKED = ("unmet_checked", "unmet_why", "unmet_stake", "missing")
"""What tables say of unmet requirements beside that, for which an installer's line is no source."""


def told_causes(
    told: Iterable[Told],
    facts: LogFacts,
    knowledge: Knowledge,
    matrix: Matrix,
    *,
    ends_otherwise: bool = False,
) -> Iterator[Cause]:
    """Yield the causes that lines of installers tell, each rule once.

    Where a log ends in an exception about something else, what a package outside of the field
    requires is only a note.
    """
    rules = rules_by_id(knowledge)
    seen = set()
    for each in told:
        known = facts.environment.facts.get(f"{package_of(each.needs)}.version")
        found = each.found or (str(known.value) if isinstance(known, Known) else "")
        broken = bool(found and each.range) and does_satisfy(found, each.range) is False
        if not (each.is_missing or broken):
            continue
        rule = rules.get(_rule_of(each, matrix))
        if rule is None or rule.id in seen:
            continue
        seen.add(rule.id)
        is_aside = ends_otherwise and rule.id == _OTHERS and each.package not in _KNOWN
        has = f"{each.needs} {found} is installed" if found else f"{each.needs} is not installed"
        yield line_cause(
            rule,
            f"{each.package} {each.release} requires {each.needs}{each.range}, but {has}.",
            each.line,
            severity=Severity.NOTE if is_aside else _SEVERITY.get(rule.severity, Severity.WARNING),
            confidence=Confidence.HIGH if each.is_certain else Confidence.MEDIUM,
            captures={"requirer": package_of(each.package)},
        )


_SEVERITY = {Severity.NOTE: Severity.NOTE}
"""What an installer leaves behind may still work: no more than a warning."""


def _rule_of(told: Told, matrix: Matrix) -> str:
    """Return the rule that speaks of a requirement; by the table, else the one of all others."""
    asked = {"package": Known(told.package, "told"), "requirement": Known(told.needs, "told")}
    cell = matrix.find("requirement-rules", asked).cell("missing" if told.is_missing else "outside")
    return str(cell.value) if isinstance(cell, Known) else _OTHERS
