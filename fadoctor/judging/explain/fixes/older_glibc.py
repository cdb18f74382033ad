"""Leave out flash-attn's files that need a newer glibc than the system of a text has."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from fadoctor.judging.engine.possible import QUESTION, possible_fixes
from fadoctor.judging.engine.scope import Scope
from fadoctor.knowledge.matrix.versions import is_older, version_part
from fadoctor.model.catalogue import CAUSES
from fadoctor.model.fact import Known, fact_text
from fadoctor.model.fix import StepKind
from fadoctor.syntax.patterns import compiled

if TYPE_CHECKING:
    from collections.abc import Iterator

    from fadoctor.knowledge.matrix.query import Matrix
    from fadoctor.knowledge.matrix.wheels import WheelFile
    from fadoctor.model.environment import Environment
    from fadoctor.model.fix import Fix
    from fadoctor.model.rule import Knowledge

TOO_NEW = "The system's glibc is {}: flash-attn's files that need a newer one are left out."

_RULE = "glibc-too-old"
_GLIBC = "host.glibc"
# flash-attn==2.8.3 | .../flash_attn-2.8.3%2Bcu12torch2.8cxx11abiTRUE-cp310-cp310-linux_x86_64.whl
_ITEM = compiled(
    r"flash[-_]attn(?:==|-)(?P<version>\d[\d.]{2,6}\d(?:\.post\d{1,2})?)(?![\w.]{0,12}==)"
    r"(?:(?:\+|%2B)cu\d{2,3}torch(?P<torch>\d\.\d{1,2}))?"
)
_OFFICIAL = "Dao-AILab"
_FORCED = "FORCE_BUILD"


def for_older_glibc(
    fixes: tuple[Fix, ...], scope: Scope, knowledge: Knowledge, log: tuple[str, ...]
) -> tuple[Fix, ...]:
    """Return fixes without those whose file does not load here; files that do then come first."""
    environment = scope.environment
    if not fact_text(environment.fact(_GLIBC), ""):
        return fixes
    left = tuple(fix for fix in fixes if not _is_too_new(fix, environment, scope.matrix))
    if len(left) == len(fixes):
        return fixes
    rule = next(rule for rule in knowledge.rules if rule.id == _RULE)
    own = scope.rule.id == _RULE
    causes = {CAUSES: Known((_RULE,), "the log")}
    here = msgspec.structs.replace(environment, facts={**environment.facts, **causes})
    instead = () if own else possible_fixes(Scope(here, scope.matrix, rule, {}), log)
    first = next((fix for fix in instead if fix.id != QUESTION), None)
    ready = tuple(fix for fix in left if _installs_a_file(fix))
    rest = tuple(fix for fix in left if fix not in ready)
    return (*ready, *((first,) if first is not None else ()), *rest)


def needs_newer(environment: Environment, file: WheelFile) -> bool:
    """Return whether a file is known to load only with a newer glibc than this system's."""
    asked = (file.glibc_needed, file.glibc_enough, file.glibc_built_on)
    least = next((each for each in asked if isinstance(each, Known)), None)
    return least is not None and _is_below(environment, least)


def _is_below(environment: Environment, least: Known) -> bool:
    """Return whether this system's glibc is known, and older than one that is needed."""
    here = fact_text(environment.fact(_GLIBC), "")
    return bool(here) and is_older(here, fact_text(least, "")) is True


def _is_too_new(fix: Fix, environment: Environment, matrix: Matrix) -> bool:
    """Return whether what a fix installs was seen to need a newer glibc."""
    if any(_FORCED in step.text for step in fix.steps):
        return False
    needs = next(_needed(fix, environment, matrix), None)
    return needs is not None and _is_below(environment, needs)


def _needed(fix: Fix, environment: Environment, matrix: Matrix) -> Iterator[Known]:
    """Yield the glibc that flash-attn's own files of a fix need, where the table tells it."""
    torch = version_part(fact_text(environment.fact("torch.version"), ""), "minor")
    for step in fix.steps:
        installs = step.kind in (StepKind.INSTALL, StepKind.SYSTEM)
        for found in _ITEM.finditer(step.text) if installs else ():
            minor = found["torch"] or torch
            if not minor or (found["torch"] and _OFFICIAL not in step.text):
                continue
            asked = {"version": Known(found["version"], "asked"), "torch": Known(minor, "asked")}
            needs = matrix.find("flash-attn-wheel-glibc", asked).cell("needs")
            if isinstance(needs, Known):
                yield needs


def _installs_a_file(fix: Fix) -> bool:
    return any(item.endswith(".whl") for step in fix.steps for item in step.items)
