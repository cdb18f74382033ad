"""What installers say of requirements that are not met: facts, and the rule that each is about."""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING

import msgspec

from fadoctor.judging.engine.operators import does_satisfy, is_patch_of
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
from fadoctor.sources.pasted.requirement_lines import requirement_lines
from fadoctor.sources.pasted.requirement_rows import ToldRequirement
from fadoctor.sources.targets.accepted_releases import accepted
from fadoctor.sources.targets.derived import derive

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from fadoctor.judging.explain.causes import Cause
    from fadoctor.knowledge.matrix.query import Matrix
    from fadoctor.model.rule import Knowledge

TOLD_LIMIT = 40
"""Most of such lines of one text that are read."""

_OTHERS = "requirement-unmet"
_KNOWN = STACK | COMPANIONS
_CALLED = FLASH_ATTN.replace("_", "-")
_OF_NVIDIA = "nvidia-"
"""How the names of NVIDIA's libraries begin, each of which torch pins."""
_BOUND = frozenset({TORCH, _CALLED, XFORMERS, TRITON})
"""What a package is compiled for that asks for one release, or calls without a promise."""


Told = tuple[ToldRequirement, Line]
"""One requirement of the stack that somebody says is not met, and the line that says so."""


def told_in(lines: Iterable[Line], shown: Iterable[Cause] = ()) -> tuple[Told, ...]:
    """Return the requirements of the stack that lines tell of, with who asks.

    What a line says without the asker's release is left to a cause that its words show.
    """
    loud = (cause for cause in shown if cause.severity is not Severity.NOTE)
    worded = {line.number for cause in loud for line in cause.lines}
    told = ((each, line) for line in lines for each in requirement_lines(line.text))
    of_stack = ((each, line) for each, line in told if _is_of_stack(each))
    kept = (one for one in of_stack if one[0].release or one[1].number not in worded)
    return tuple(islice(kept, TOLD_LIMIT))


def _is_of_stack(told: ToldRequirement) -> bool:
    if told.asker not in _KNOWN:
        is_bound = told.needs in _BOUND and (
            told.specifier.startswith("==") or told.needs == _CALLED
        )
        return bool(told.asker and is_bound and told.found)
    is_of_torch = told.asker == TORCH and told.needs.startswith(_OF_NVIDIA)
    return is_of_torch or told.needs in _KNOWN | BYSTANDERS


def with_told(facts: LogFacts, told: tuple[Told, ...], matrix: Matrix) -> LogFacts:
    """Return the facts of a text with those of its installer's lines, where nothing else tells."""
    environment = facts.environment
    known = environment.facts
    said: dict[str, Fact] = {}
    for each, line in told:
        if not each.is_certain:
            continue
        source = f"line {line.number}"
        for distribution, version in ((each.asker, each.release), (each.needs, each.found)):
            key = package_of(distribution)
            if key and version:
                said.setdefault(f"{key}.version", Known(version, source))
                said.setdefault(f"{key}.distribution", Known(distribution, source))
        key = package_of(each.asker)
        release = said.get(f"{key}.version", known.get(f"{key}.version"))
        if key and each.specifier and isinstance(release, Known):
            required = dict(fact_mapping(said.get(f"{key}.requires")))
            said[f"{key}.requires"] = Known({**required, each.needs: each.specifier}, source)
    new = {name: fact for name, fact in said.items() if not isinstance(known.get(name), Known)}
    if not new:
        return facts
    world = msgspec.structs.replace(environment, facts={**known, **new})
    named = {**facts.named, **{k: v for k, v in new.items() if k.endswith(".version")}}
    world = derive(world, matrix)
    unmet = _unmet(told, world.facts, matrix)
    world = msgspec.structs.replace(world, facts={**world.facts, **unmet})
    return LogFacts(world, named, facts.reported)


def _unmet(told: Iterable[Told], facts: Mapping[str, Fact], matrix: Matrix) -> dict[str, Fact]:
    """Return what is not met of the requirements that no rule of their own speaks of."""
    found: dict[str, Fact] = {}
    for each, line in told:
        key = package_of(each.asker)
        is_read = each.is_certain and isinstance(facts.get(f"{key}.version"), Known)
        if not is_read or _rule_of(each, matrix) != _OTHERS:
            continue
        source = f"line {line.number}"
        values: dict[str, Value] = {
            "unmet": {each.needs: f"{each.specifier} ({each.found or 'not installed'})"},
            "unmet_told": {each.needs: each.found or "(not installed)"},
            "unmet_alone": (f"{each.needs}{each.specifier}",),
        }
        found |= {f"{key}.{name}": Known(value, source) for name, value in values.items()}
        outside: Fact = Absent("it is not installed")
        found[f"{key}.unmet_outside"] = (
            Known({each.needs: each.found}, source) if each.found else outside
        )
        found |= {f"{key}.{name}": Absent("a line says so") for name in _NOT_ASKED}
        unmet = {each.needs: each.specifier} if each.found and each.specifier else {}
        for name, value in accepted(each.asker, unmet, facts, matrix).items():
            found[f"{key}.{name}"] = Known(value, source) if value else outside
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
    for each, line in told:
        known = facts.environment.facts.get(f"{package_of(each.needs)}.version")
        found = each.found or (str(known.value) if isinstance(known, Known) else "")
        broken = bool(found and each.specifier) and does_satisfy(found, each.specifier) is False
        if not (each.is_missing or broken):
            continue
        rule = rules.get(_rule_of(each, matrix))
        if rule is None or rule.id in seen:
            continue
        seen.add(rule.id)
        is_aside = ends_otherwise and rule.id == _OTHERS and each.asker not in _KNOWN
        has = f"{each.needs} {found} is installed" if found else f"{each.needs} is not installed"
        asker = f"{each.asker} {each.release}".rstrip()
        yield line_cause(
            rule,
            f"{asker} requires {each.needs}{each.specifier}, but {has}.",
            line,
            severity=Severity.NOTE if is_aside else _SEVERITY.get(rule.severity, Severity.WARNING),
            confidence=Confidence.HIGH if each.is_certain else Confidence.MEDIUM,
            captures={"requirer": package_of(each.asker)},
        )


_SEVERITY = {Severity.NOTE: Severity.NOTE}
"""What an installer leaves behind may still work: no more than a warning."""


def _rule_of(told: ToldRequirement, matrix: Matrix) -> str:
    """Return the rule that speaks of a requirement; by the table, else the one of all others."""
    asked = {"package": Known(told.asker, "told"), "requirement": Known(told.needs, "told")}
    row = matrix.find("requirement-rules", asked)
    is_patch = bool(told.found) and is_patch_of(told.found, told.specifier) is True
    cells = ("missing",) if told.is_missing else ("patch", "outside") if is_patch else ("outside",)
    known = (cell for name in cells if isinstance(cell := row.cell(name), Known))
    return next((str(cell.value) for cell in known), _OTHERS)
