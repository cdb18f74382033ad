"""Leave out what installs flash-attn for a GPU on which no release of it runs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fadoctor.judging.engine.fixes import begun
from fadoctor.judging.engine.possible import QUESTION, possible_fixes
from fadoctor.judging.engine.scope import Scope
from fadoctor.judging.engine.tried import MISFITS
from fadoctor.judging.explain.named_packages import ABOUT_FLASH
from fadoctor.model.fact import Known
from fadoctor.model.fix import StepKind

if TYPE_CHECKING:
    from collections.abc import Collection

    from fadoctor.model.fix import Fix
    from fadoctor.model.rule import FixTemplate, Knowledge, Rule
    from fadoctor.model.verdict import Backend

_HALF = Known("fp16", "asked")
_FIRST = {"gpu": "gpu[0]"}

IN_VAIN = "FlashAttention-2 does not run on the GPU that is named: what installs it is left out."


def without_vain(
    fixes: tuple[Fix, ...], scope: Scope, knowledge: Knowledge, log: tuple[str, ...]
) -> tuple[Fix, ...]:
    """Return fixes without those that install flash-attn in vain; where none is left, others.

    `log`: the lines that were read, which show the framework at work.
    """
    refusals = {fix.id: _refusal(fix, scope, knowledge.rules) for fix in scope.rule.fixes}
    refused = {name: refusal for name, refusal in refusals.items() if refusal is not None}
    if not refused or not any(map(ABOUT_FLASH.search, log)):
        return fixes
    asked = [each for each in possible_fixes(scope, log, without=refused) if each.id == QUESTION]
    left: list[Fix] = []
    for fix in fixes:
        if fix.id == QUESTION:
            left += asked
        elif fix.id not in refused:
            left.append(fix)
    if [fix.title for fix in left] == [fix.title for fix in fixes]:
        return fixes
    rule = next(iter(refused.values()))
    instead = possible_fixes(Scope(scope.environment, scope.matrix, rule, _FIRST), log)
    if scope.rule.area == MISFITS:
        # A broken extension stops the import, whatever attention is chosen.
        instead = tuple(sorted(instead, key=lambda fix: not _uninstalls(fix)))
    return tuple(left) or begun(instead)


def _uninstalls(fix: Fix) -> bool:
    return any(step.kind is StepKind.UNINSTALL for step in fix.steps)


def _refusal(fix: FixTemplate, scope: Scope, rules: Collection[Rule]) -> Rule | None:
    """Return the rule that says why nothing that a fix brings runs on the one GPU."""
    found = [refusal_of(backend, scope, rules) for backend in fix.brings]
    return found[0] if found and None not in found else None


def refusal_of(backend: Backend, scope: Scope, rules: Collection[Rule]) -> Rule | None:
    """Return the rule that says why no release runs on the one GPU; None where one may."""
    facts = scope.environment.facts
    capability = facts.get("gpu[0].compute_capability")
    if not isinstance(capability, Known) or "gpu[1].compute_capability" in facts:
        return None
    asked = {"backend": Known(backend.value, "asked"), "dtype": _HALF, "cc": capability}
    rows = scope.matrix.find("kernel-support", asked)
    support, named = rows.cell("support"), rows.cell("rule")
    if not isinstance(support, Known) or support.value != "fails" or not isinstance(named, Known):
        return None
    return next((rule for rule in rules if rule.id == named.value), None)
