"""The answer in one sentence for each kind of GPU: it works, it fails, or nobody knows."""

from __future__ import annotations

import enum
from typing import TYPE_CHECKING

import msgspec

from fadoctor.model.environment import UNNAMED, UNSAID
from fadoctor.model.fact import Absent, Known, Unknown
from fadoctor.model.fix import StepKind
from fadoctor.model.verdict import Backend, Dtype

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from fadoctor.model.fact import Fact
    from fadoctor.model.fix import Fix
    from fadoctor.model.report import Report
    from fadoctor.model.verdict import Verdict

_FLASH = (Backend.FA4, Backend.FA3, Backend.FA2, Backend.FA1)
"""FlashAttention as its own packages bring it, the newest first."""

_FLASH_PACKAGES = ("flash_attn", "flash_attn_3", "flash_attn_4")
_OF_VLLM = "vLLM's FlashAttention"
"""What vLLM computes with, whether flash-attn is there or not."""

_OF_HUB = {
    Backend.HUB_FA4: "FlashAttention-4 from the Hub",
    Backend.HUB_FA3: "FlashAttention-3 from the Hub",
    Backend.HUB_FA2: "FlashAttention-2 from the Hub",
}
"""What stands in for the packages where it is known to work."""

_HALF = (Dtype.BF16, Dtype.FP16)

_ASK = "To ask about one: `fadoctor check --gpu A100`."


class State(enum.Enum):
    """How the answer comes out. Declared from worst to best."""

    FAILS = "fails"
    UNKNOWN = "unknown"
    WORKS = "works"


class Answer(msgspec.Struct, frozen=True):
    """What one wants to know first."""

    state: State
    sentence: str
    """``Tesla V100: FlashAttention-2 cannot run here.``"""


def is_flash(verdict: Verdict) -> bool:
    """Return whether the answer speaks of a cell: FlashAttention in half precision."""
    return verdict.backend in (*_FLASH, Backend.VLLM_FA) and verdict.dtype in _HALF


def answers_of(report: Report) -> tuple[Answer, ...]:
    """Return an answer for each kind of GPU, the worst first; one where there is none to ask of."""
    names = dict.fromkeys(verdict.gpu for verdict in report.verdicts)
    if not names or isinstance(report.environment.get("torch.version"), Absent):
        return (_without_table(report),)
    found: dict[str, Answer] = {}
    for gpu in names:
        verdicts = [each for each in report.verdicts if each.gpu == gpu]
        answer = _of_gpu(gpu, verdicts, _of_hardware(report), _without_flash(report))
        found.setdefault(answer.sentence, answer)
    order = list(State)
    return tuple(sorted(found.values(), key=lambda each: order.index(each.state)))


def state_of(verdict: Verdict) -> State:
    """Return how a cell comes out."""
    return State[verdict.outcome.name]


def _of_hardware(report: Report) -> frozenset[str]:
    """Return the rules that found a limit of a GPU: other packages or drivers do not move it."""
    found = (
        each
        for each in report.findings
        if each.subject.startswith("gpu[") and not any(map(_replaces, each.fixes))
    )
    return frozenset(rule for each in found for rule in (each.rule_id, *each.consequences))


def _replaces(fix: Fix) -> bool:
    """Return whether a fix brings other software, and not only other settings."""
    return any(step.kind in (StepKind.INSTALL, StepKind.SYSTEM) for step in fix.steps)


def _without_flash(report: Report) -> str:
    """Return how it is said that no table speaks of FlashAttention: files ask, or do not.

    A text that does not name it does not say that it is not installed.
    """
    versions = [report.environment.get(f"{each}.version") for each in _FLASH_PACKAGES]
    if any(isinstance(each, Unknown) and each.reason == UNSAID for each in versions):
        return "the text names no FlashAttention"
    if report.target.kind != "manifest":
        return "FlashAttention is not installed"
    if any(_is_open(each) for each in versions):
        return "which FlashAttention comes is not known"
    return "the files ask for no FlashAttention"


def _is_open(version: Fact | None) -> bool:
    """Return whether a package may come in a release that nobody knows."""
    return isinstance(version, Unknown) and version.reason != UNNAMED


def _of_gpu(
    gpu: str, verdicts: Sequence[Verdict], of_hardware: frozenset[str], without: str
) -> Answer:
    name = gpu.partition(" ")[2] or gpu
    for backend in _FLASH:
        mine = [each for each in verdicts if each.backend is backend and each.dtype in _HALF]
        if mine:
            what = f"FlashAttention-{backend.value.removeprefix('fa')}"
            state, sentence = _of_backend(what, mine, of_hardware)
            return Answer(state, f"{name}: {sentence}")
    mine = [each for each in verdicts if each.backend is Backend.VLLM_FA and each.dtype in _HALF]
    if mine:
        state, sentence = _of_backend(_OF_VLLM, mine, of_hardware)
        return Answer(state, f"{name}: {sentence}")
    for backend, what in _OF_HUB.items():
        mine = [each for each in verdicts if each.backend is backend and each.dtype in _HALF]
        if State.WORKS in map(state_of, mine):
            state, sentence = _of_backend(what, mine, of_hardware)
            return Answer(state, f"{name}: {sentence}")
    others = [each for each in verdicts if each.dtype in _HALF]
    state = max(map(state_of, others), key=list(State).index, default=State.UNKNOWN)
    tail = {
        State.WORKS: "attention works without it",
        State.FAILS: "no other attention works either",
        State.UNKNOWN: "whether another attention works is unknown",
    }[state]
    return Answer(state, f"{name}: {without}; {tail}.")


def _of_backend(
    what: str, verdicts: Sequence[Verdict], of_hardware: frozenset[str]
) -> tuple[State, str]:
    states = {each.dtype: state_of(each) for each in verdicts}
    works = [dtype.value for dtype in _HALF if states.get(dtype) is State.WORKS]
    if works:
        return State.WORKS, f"{what} works in {' and '.join(works)}."
    if State.UNKNOWN in states.values():
        return State.UNKNOWN, f"it is not known whether {what} works here."
    if all(of_hardware.intersection(each.because) for each in verdicts):
        return State.FAILS, f"{what} cannot run on this GPU."
    return State.FAILS, f"{what} does not work here."


def _without_table(report: Report) -> Answer:
    facts = report.environment
    if isinstance(facts.get("torch.version"), Absent):
        without = "There is no torch here: no attention can run."
        return Answer(State.FAILS, report.not_looked[0] if report.not_looked else without)
    if report.not_looked:
        return Answer(State.UNKNOWN, report.not_looked[0])
    return Answer(State.UNKNOWN, _why_no_table(facts))


def _why_no_table(facts: Mapping[str, Fact]) -> str:
    """Return why nothing can be said of torch on a GPU."""
    count, visible = facts.get("gpu.count"), facts.get("gpu.visible_count")
    if isinstance(count, Known) and count.value == 0:
        return f"There is no GPU here. {_ASK}"
    if isinstance(count, Unknown):
        return f"fadoctor could not read which GPU is here. {_ASK}"
    torch = facts.get("torch.version")
    if isinstance(torch, Unknown):
        return f"It is not known which torch is here: {torch.reason}."
    if isinstance(visible, Known) and visible.value == 0:
        return f"Programs see no GPU here, because all are hidden. {_ASK}"
    return "No attention that is installed runs on a GPU that programs can see here."
