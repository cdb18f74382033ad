"""Leave out fixes that install what no visible GPU can run: no wheel helps an old GPU."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from fadoctor.judging.engine.scope import Scope
from fadoctor.knowledge.matrix.kernels import visible_gpus
from fadoctor.model.fact import Known
from fadoctor.model.rule import rules_by_id

if TYPE_CHECKING:
    from collections.abc import Mapping

    from fadoctor.knowledge.matrix.kernels import Gpu, Kernels
    from fadoctor.model.finding import Finding
    from fadoctor.model.fix import Fix
    from fadoctor.model.rule import FixTemplate, Knowledge, Rule
    from fadoctor.model.verdict import Backend

_HALF = Known("fp16", "asked")


def without_vain_fixes(
    findings: tuple[Finding, ...], kernels: Kernels, knowledge: Knowledge
) -> tuple[Finding, ...]:
    """Return findings without such fixes; where none is left, with those of the GPU's own rule."""
    gpus = visible_gpus(kernels.environment)
    if not gpus:
        return findings
    by_id = rules_by_id(knowledge)
    return tuple(_without(each, kernels, gpus, by_id) for each in findings)


def _without(
    finding: Finding, kernels: Kernels, gpus: list[Gpu], rules: Mapping[str, Rule]
) -> Finding:
    rule = rules.get(finding.rule_id)
    bringing = [each for each in rule.fixes if each.brings] if rule else []
    refusals = {each.id: _refusal(each, kernels, gpus) for each in bringing}
    left = tuple(each for each in finding.fixes if not refusals.get(each.id))
    if len(left) == len(finding.fixes):
        return finding
    first = next(refusals[each.id] for each in finding.fixes if refusals.get(each.id))
    fixes = left or _fixes_of(rules.get(first), kernels, gpus[0])
    return msgspec.structs.replace(finding, fixes=fixes)


def _fixes_of(rule: Rule | None, kernels: Kernels, gpu: Gpu) -> tuple[Fix, ...]:
    if rule is None:
        return ()
    # Late: only a fix that is in vain asks for others.
    from fadoctor.judging.engine.possible import possible_fixes  # noqa: PLC0415

    return possible_fixes(
        Scope(kernels.environment, kernels.matrix, rule, {"gpu": gpu.subject}), ()
    )


def _refusal(fix: FixTemplate, kernels: Kernels, gpus: list[Gpu]) -> str:
    """Return the rule that says why nothing that a fix brings runs on any GPU; "" if it may."""
    found = [_refusal_of(backend, gpu, kernels) for backend in fix.brings for gpu in gpus]
    return found[0] if all(found) else ""


def _refusal_of(backend: Backend, gpu: Gpu, kernels: Kernels) -> str:
    if not isinstance(gpu.capability, Known):
        return ""
    asked = {"backend": Known(backend.value, "asked"), "dtype": _HALF, "cc": gpu.capability}
    rows = kernels.matrix.find("kernel-support", asked)
    support, named = rows.cell("support"), rows.cell("rule")
    is_refused = isinstance(support, Known) and support.value == "fails"
    return str(named.value) if is_refused and isinstance(named, Known) else ""
