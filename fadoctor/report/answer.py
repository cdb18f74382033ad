"""The answer in one sentence for each kind of GPU: it works, it fails, or nobody knows."""

from __future__ import annotations

import enum
from typing import TYPE_CHECKING

import msgspec

from fadoctor.model.environment import NAME_A_GPU, UNCHECKED, UNNAMED, UNSAID
from fadoctor.model.fact import Absent, Known, Unknown, fact_text, printable
from fadoctor.model.finding import Severity
from fadoctor.model.fix import StepKind
from fadoctor.model.packages import BACKENDS
from fadoctor.model.smoke import CPU
from fadoctor.model.verdict import Backend, Dtype
from fadoctor.report.doubt import about_gpus, doubt_of, is_unchecked, only_reason, waits_for
from fadoctor.report.headline import headline, headline_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fadoctor.model.fact import Fact
    from fadoctor.model.finding import Finding
    from fadoctor.model.fix import Fix
    from fadoctor.model.report import Report
    from fadoctor.model.verdict import Verdict

_FLASH = (Backend.FA4, Backend.FA3, Backend.FA2, Backend.FA1)
"""FlashAttention as its own packages bring it, the newest first."""

_FLASH_PACKAGES = tuple(dict.fromkeys(BACKENDS[each.value] for each in _FLASH))

_OWN = {each: f"FlashAttention-{each.value.removeprefix('fa')}" for each in _FLASH} | {
    Backend.VLLM_FA: "vLLM's FlashAttention"
}
"""How they are called; vLLM computes with its own, whether flash-attn is there or not."""

_OF_HUB = {
    Backend.HUB_FA4: "FlashAttention-4 from the Hub",
    Backend.HUB_FA3: "FlashAttention-3 from the Hub",
    Backend.HUB_FA2: "FlashAttention-2 from the Hub",
}
"""What stands in for the packages where it is known to work."""

_HALF = (Dtype.BF16, Dtype.FP16)

_REASON_LIMIT = 200

_NO_GPU = "--gpu none"
_MAY_FAIL = "may not work here"
_OPEN = "could not be decided here"

_ASK = "To ask about one: `fadoctor check --gpu A100`."


class State(enum.Enum):
    """How the answer comes out. Declared from worst to best."""

    FAILS = "fails"
    UNKNOWN = "unknown"
    WORKS = "works"


class GpuAnswer(msgspec.Struct, frozen=True):
    """What one wants to know first."""

    state: State
    sentence: str
    """``Tesla V100: FlashAttention-2 cannot run here.``"""
    because: tuple[str, ...] = ()
    """Ids of the rules behind it, where it fails."""
    is_explained: bool = False
    """Whether the sentence names the cause: the GPU itself, or a torch that is not there."""


def is_flash(verdict: Verdict) -> bool:
    """Return whether the answer speaks of a cell: FlashAttention in half precision."""
    return verdict.backend in (*_FLASH, Backend.VLLM_FA) and verdict.dtype in _HALF


def answers_of(report: Report) -> tuple[GpuAnswer, ...]:
    """Return an answer for each kind of GPU, the worst first; one where there is none to ask of.

    Where something is wrong, the first one names the cause, and none says that it works.
    """
    if not is_tabled(report):
        return with_cause(report, [_without_table(report)])
    idle = left_out(report)
    answers = [_of_gpu(report, gpu) for gpu in gpus_of(report) if gpu not in idle]
    found: dict[str, GpuAnswer] = {}
    for each in with_cause(report, answers):
        found.setdefault(each.sentence, each)
    order = list(State)
    return tuple(sorted(found.values(), key=lambda each: order.index(each.state)))


def not_said(report: Report) -> tuple[str, ...]:
    """Return why nothing was looked at, without the sentence that is the answer already."""
    said = {each.sentence for each in answers_of(report)} if report.not_looked else set()
    return tuple(each for each in report.not_looked if each not in said)


def is_tabled(report: Report) -> bool:
    """Return whether there is a table to answer from: a GPU, and a torch, here or assumed."""
    has_torch = not isinstance(report.environment.get("torch.version"), Absent)
    is_assumed = any(each.backend is Backend.SDPA_MATH for each in report.verdicts)
    return (has_torch or is_assumed) and bool(gpus_of(report))


def gpus_of(report: Report) -> tuple[str, ...]:
    """Return the GPUs of the table; the CPU, on which a run may have passed, is none."""
    return tuple(dict.fromkeys(each.gpu for each in report.verdicts if each.gpu != CPU))


def left_out(report: Report) -> frozenset[str]:
    """Return a display's GPUs and their like: what is recommended fails there, not everywhere."""
    advice = report.recommendation
    chosen = advice and (advice.backend, advice.dtype)
    mine = [each for each in report.verdicts if (each.backend, each.dtype) == chosen]
    states = {each.gpu: state_of(each) for each in mine if each.gpu != CPU}
    failing = frozenset(gpu for gpu, state in states.items() if state is State.FAILS)
    return failing if State.WORKS in states.values() else frozenset()


def state_on(report: Report, gpu: str) -> State:
    """Return how the answer for one GPU of the table comes out."""
    return _of_gpu(report, gpu).state


def with_cause(report: Report, answers: Sequence[GpuAnswer]) -> tuple[GpuAnswer, ...]:
    """Return answers that begin with the worst error, where one was found."""
    worst = worst_of(report)
    if worst is None:
        return tuple(answers)
    failing = [each for each in answers if each.state is State.FAILS]
    ids = {worst.rule_id, *worst.consequences}
    if any(ids & set(each.because) for each in failing):
        return tuple(_explained(each, report) for each in failing)
    first = GpuAnswer(State.FAILS, f"{headline_of(worst)}.")
    open_ = [each for each in answers if each.state is State.UNKNOWN and is_tabled(report)]
    return (first, *(_explained(each, report) for each in failing if each.because), *open_)


def worst_of(report: Report) -> Finding | None:
    """Return the first error of a report; None where it has none."""
    return next((each for each in report.findings if each.severity is Severity.ERROR), None)


def _explained(answer: GpuAnswer, report: Report) -> GpuAnswer:
    """Return an answer with the title of the error that makes it; a GPU's limit needs none."""
    if answer.is_explained:
        return answer
    causes = (each for each in report.findings if each.severity is Severity.ERROR)
    for each in causes:
        if {each.rule_id, *each.consequences} & set(answer.because):
            return msgspec.structs.replace(answer, sentence=f"{answer.sentence} {headline(each)}.")
    return answer


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
    limits = frozenset(rule for each in found for rule in (each.rule_id, *each.consequences))
    return limits | _of_assumed(report)


def _of_assumed(report: Report) -> frozenset[str]:
    """Return the rules behind failing cells of releases that are assumed: they fit the GPU."""
    mine = (each for each in report.verdicts if is_flash(each))
    return frozenset(r for each in mine for r in each.because if _is_assumed(report))


def _is_assumed(report: Report) -> bool:
    """Return whether the table is about releases that are not here: no torch for that GPU is."""
    is_asked = any(each.startswith("--gpu ") for each in report.overlays)
    facts = report.environment
    is_alone = "torch.version" not in facts  # no file speaks of torch, and no machine was read
    is_absent = is_alone or isinstance(facts.get("torch.version"), Absent)
    is_real = is_alone or report.target.kind != "manifest"
    build = facts.get("torch.build")
    return (
        is_asked
        and is_real
        and (is_absent or (build is not None and fact_text(build, "") == "cpu"))
    )


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
        return "which FlashAttention will be installed is unknown"
    if "torch.version" not in report.environment:
        return "no FlashAttention is named"
    return "the files ask for no FlashAttention"


def _is_open(version: Fact | None) -> bool:
    """Return whether a package may come in a release that nobody knows."""
    return isinstance(version, Unknown) and version.reason != UNNAMED


def _of_gpu(report: Report, gpu: str) -> GpuAnswer:
    """Return the answer for one GPU: of the newest FlashAttention that is there, else without."""
    name = gpu.partition(" ")[2] or gpu
    half = [each for each in report.verdicts if each.gpu == gpu and each.dtype in _HALF]
    for backend, what in (*_OWN.items(), *_OF_HUB.items()):
        mine = [each for each in half if each.backend is backend]
        if not mine or (backend in _OF_HUB and State.WORKS not in map(state_of, mine)):
            continue
        answer = _of_backend(f"{name}: ", what, mine, report)
        if answer.state is State.WORKS and _is_assumed(report):
            later = f"{answer.sentence.rstrip('.')} once it is installed."
            return msgspec.structs.replace(answer, sentence=later)
        return answer
    state = max(map(state_of, half), key=list(State).index, default=State.UNKNOWN)
    if state is State.FAILS:
        return GpuAnswer(
            state, f"{name}: no attention works here{only_reason(half)}.", _reasons(half)
        )
    tail = {
        State.WORKS: "attention works without it",
        State.UNKNOWN: "whether another attention works is unknown",
    }[state]
    if state is State.UNKNOWN and (cause := doubt_of(report, half)) is not None:
        return GpuAnswer(state, f"{name}: attention {_MAY_FAIL}. {headline(cause)}.")
    sentence = f"{name}: {_without_flash(report)}; {tail}."
    return GpuAnswer(state, sentence)


def _reasons(verdicts: Sequence[Verdict]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(rule for each in verdicts for rule in each.because))


def _of_backend(name: str, what: str, verdicts: Sequence[Verdict], report: Report) -> GpuAnswer:
    states = {each.dtype: state_of(each) for each in verdicts}
    works = [dtype.value for dtype in _HALF if states.get(dtype) is State.WORKS]
    if works:
        return GpuAnswer(State.WORKS, f"{name}{what} works in {' and '.join(works)}.")
    if State.UNKNOWN in states.values():
        if (cause := doubt_of(report, verdicts)) is not None:
            return GpuAnswer(State.UNKNOWN, f"{name}{what} {_MAY_FAIL}. {headline(cause)}.")
        how = f"is not decided yet: {UNCHECKED}" if is_unchecked(verdicts) else _OPEN
        how = f"supports this GPU; {waits}" if (waits := waits_for(report, verdicts)) else how
        return GpuAnswer(State.UNKNOWN, f"{name}{what} {how}.")
    because = _reasons(verdicts)
    of_hardware = _of_hardware(report)
    if all(of_hardware.intersection(each.because) for each in verdicts):
        return GpuAnswer(
            State.FAILS, f"{name}{what} cannot run on this GPU.", because, is_explained=True
        )
    return GpuAnswer(State.FAILS, f"{name}{what} does not work here.", because)


def _without_table(report: Report) -> GpuAnswer:
    facts = report.environment
    if _NO_GPU in report.overlays:
        return GpuAnswer(State.FAILS, "FlashAttention needs a GPU, and --gpu none means no GPU.")
    if isinstance(facts.get("torch.version"), Absent):
        without = "There is no torch here: no attention can run."
        about = (each.rule_id for each in report.findings if each.subject == "torch")
        said = report.not_looked[0] if report.not_looked else without
        return GpuAnswer(State.FAILS, said, tuple(about), is_explained=True)
    if report.not_looked:
        return GpuAnswer(State.UNKNOWN, report.not_looked[0])
    return GpuAnswer(State.UNKNOWN, _why_no_table(report))


def _why_no_table(report: Report) -> str:
    """Return why no answer is possible for torch on a GPU: the premise, and its cause if known."""
    facts = report.environment
    count, visible = facts.get("gpu.count"), facts.get("gpu.visible_count")
    cause = "".join(f" {headline(each)}." for each in about_gpus(report)[:1])
    if isinstance(count, Known) and count.value == 0:
        return f"There is no GPU here.{cause} {_ASK}"
    if isinstance(count, Unknown):
        reason = printable(count.reason, _REASON_LIMIT).rstrip(".")
        cause = cause or f" {reason[:1].upper()}{reason[1:]}."
        if reason.endswith(NAME_A_GPU):
            return f"The answer depends on the GPU.{cause}"
        return f"fadoctor could not read which GPU is here.{cause}"
    torch = facts.get("torch.version")
    if isinstance(torch, Unknown):
        return f"fadoctor could not tell which torch is here: {torch.reason}."
    if isinstance(visible, Known) and visible.value == 0:
        return f"All GPUs are hidden.{cause}"
    return "No attention that is installed runs on a GPU that programs can see here."
