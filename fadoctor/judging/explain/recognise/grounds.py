"""What makes a repair useless: the text's own facts prove that this torch cannot use this GPU.

A compiler, a kernel or a package that fits torch does not help before torch itself fits the GPU.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from fadoctor.judging.explain.recognise.line_cause import line_cause
from fadoctor.judging.explain.recognise.proved import heads_of
from fadoctor.judging.explain.weigh import Weighed
from fadoctor.model.explanation import Agreement
from fadoctor.model.fact import Known
from fadoctor.model.finding import Confidence, Severity
from fadoctor.model.packages import PACKAGES, TRITON
from fadoctor.model.rule import rules_by_id
from fadoctor.syntax.patterns import compiled

if TYPE_CHECKING:
    from fadoctor.judging.explain.causes import Cause
    from fadoctor.judging.explain.join import Surroundings
    from fadoctor.model.finding import Finding
    from fadoctor.model.rule import Knowledge

_BUILT_ON_IT = frozenset({"build", TRITON})
"""Areas of rules about what is compiled for torch."""

_OF_TORCH = compiled(
    r"(?i)torch|triton|inductor|dynamo|flash[-_ ]?att|xformers|sage[-_ ]?att|cpp_extension"
)
# from torch.utils.cpp_extension import CUDAExtension | torch\include\c10
_BUILT_WITH_IT = compiled(r"cpp_extension|CUDAExtension|BuildExtension|torch[\\/]include|nvcc")

_OURS = frozenset(name for names in PACKAGES.values() for name in names)


def with_grounds(
    found: tuple[Weighed, ...], around: Surroundings, knowledge: Knowledge
) -> tuple[Weighed, ...]:
    """Return causes; before the first one about what is built on torch: why torch does not fit."""
    at = next((n for n, each in enumerate(found) if _needs_torch(each.cause, around)), None)
    if at is None or around.own is None:
        return found
    told = {name for each in found for name in (each.cause.rule.id, *each.cause.consequences)}
    told |= {each.finding.rule_id for each in found if each.finding is not None}
    rules = rules_by_id(knowledge)
    grounds = [
        Weighed(
            line_cause(rules[each.rule_id], each.message, found[at].cause.lines[0]),
            Agreement.CONFIRMED,
            each,
        )
        for each in around.own.findings
        if _is_ground(each) and each.rule_id not in told
    ]
    return (*found[:at], *grounds, *found[at:])


def _needs_torch(cause: Cause, around: Surroundings) -> bool:
    """Return whether a cause is about what is built on torch; a note is no complaint."""
    built, text = around.built, cause.failure.text
    if isinstance(built, Known) and built.value not in _OURS and not _BUILT_WITH_IT.search(text):
        return False
    if cause.severity is Severity.NOTE or cause.rule.area not in _BUILT_ON_IT:
        return False
    return bool(cause.lines) and _OF_TORCH.search(text) is not None


def _is_ground(finding: Finding) -> bool:
    """Return whether a finding says for certain that a torch and a GPU do not fit."""
    is_sure = finding.severity is Severity.ERROR and finding.confidence is Confidence.HIGH
    return is_sure and {"torch", "gpu"} <= heads_of(finding)
