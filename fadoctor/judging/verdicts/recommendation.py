"""The recommendation: what to use on the GPUs at hand, as if the findings were repaired."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fadoctor.judging.verdicts.audience import framework_of, serves
from fadoctor.knowledge.matrix.kernels import (
    Gpu,
    Kernels,
    computing_gpus,
    distribution_version,
    visible_gpus,
)
from fadoctor.knowledge.matrix.support import support_of
from fadoctor.model.fact import Absent, Fact, Known
from fadoctor.model.packages import (
    FLASH_ATTN,
    KERNELS,
    PREFERRED,
    SETTINGS,
    SETTINGS_ON_ROUTES,
    TORCH,
)
from fadoctor.model.smoke import CPU
from fadoctor.model.verdict import (
    Backend,
    Becomes,
    Dtype,
    Measured,
    Origin,
    Predicted,
    Recommendation,
)

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping

    from fadoctor.knowledge.matrix.support import Support
    from fadoctor.model.verdict import Verdict

PREFERRED_BACKENDS = tuple(map(Backend, PREFERRED))
_DTYPES = (Dtype.BF16, Dtype.FP16, Dtype.FP32)
_REASON_LIMIT = 4
_GPUS_NAMED = 4
_DOUBT = "; not verified for these versions"
"""Said where the cells of what is recommended are unknown: the hardware alone is no promise."""


def recommend(kernels: Kernels, verdicts: Iterable[Verdict] = ()) -> Recommendation | None:
    """Return the best that is known to work on all visible GPUs that compute; None if nothing is.

    bf16 before fp16 before fp32, and within a dtype the fused kernels before the plain ones: those
    of packages that are there. What the table says to work goes before what it cannot tell; what it
    says to fail, or a run has shown to, is not named.
    """
    gpus = computing_gpus(kernels.environment)
    idle = {gpu.label for gpu in visible_gpus(kernels.environment) if gpu not in gpus}
    verdicts = tuple(verdict for verdict in verdicts if verdict.gpu not in idle)
    doubtful = {(v.backend, v.dtype): v for v in verdicts if _is_doubtful(v)}
    broken = {(v.backend, v.dtype): v for v in verdicts if _is_broken(v)}
    surely = len(doubtful) < len(verdicts)
    sure = _best(kernels, verdicts, {**doubtful, **broken}) if surely else None
    return sure or _best(kernels, verdicts, broken, doubtful)


def _best(
    kernels: Kernels,
    verdicts: tuple[Verdict, ...],
    broken: Mapping[tuple[Backend, Dtype], Verdict],
    doubtful: Collection[tuple[Backend, Dtype]] = (),
) -> Recommendation | None:
    """Return the best of what is not broken; of what is doubtful it is said."""
    gpus = computing_gpus(kernels.environment)
    left_out = [gpu for gpu in visible_gpus(kernels.environment) if gpu not in gpus]
    ruled_out: list[str] = []
    for dtype in _DTYPES if gpus else ():
        for backend in _candidates(kernels, gpus):
            found = [(gpu, kernels.support(backend, dtype, gpu)) for gpu in gpus]
            works = all(support.works for _, support in found)
            if works and (backend, dtype) not in broken:
                settings = _settings(kernels, gpus, backend, dtype)
                doubt = _DOUBT if (backend, dtype) in doubtful else ""
                why = _why(kernels.label(backend), gpus, dtype, ruled_out, doubt)
                why += _said_of(left_out) + _of_routes(kernels, gpus, (backend, dtype), verdicts)
                taken = _taken(kernels, gpus, dtype, verdicts)
                return Recommendation(dtype, backend, settings, why, taken)
            if works:
                ruled_out.append(_said(broken[backend, dtype]))
            ruled_out += _failures(found, backend, dtype)
    return None


def _said_of(left_out: list[Gpu]) -> str:
    if not left_out:
        return ""
    found = []
    plain = [gpu.label for gpu in left_out if not gpu.is_amd]
    if plain:
        hides = "CUDA_VISIBLE_DEVICES hides it"
        found.append(f"{_list(plain)}, without tensor cores; {hides}")
    others = [gpu.label for gpu in left_out if gpu.is_amd]
    if others:
        found.append(f"{_list(others)}, which does not compute beside the other GPU")
    return f" Left out: {'; '.join(found)}."


def _taken(
    kernels: Kernels, gpus: list[Gpu], dtype: Dtype, verdicts: tuple[Verdict, ...]
) -> Becomes | None:
    """Return what flash_attention_2 of transformers is here; None where there is none."""
    if not verdicts or isinstance(kernels.environment.fact("transformers.version"), Absent):
        return None
    from fadoctor.judging.verdicts.flash_attention_2_source import flash_attention_2  # noqa: PLC0415 -- transformers only

    taken = flash_attention_2(kernels, {gpu.label for gpu in gpus}, dtype, verdicts)
    if taken is not None and taken.origin is Origin.ERROR and _is_beyond(kernels, gpus, dtype):
        # A package that is not here is not what is missing.
        which = "this GPU" if len(gpus) == 1 else "these GPUs"
        return Becomes(Origin.ERROR, detail=f"FlashAttention-2 does not support {which}")
    return taken


def _is_beyond(kernels: Kernels, gpus: list[Gpu], dtype: Dtype) -> bool:
    """Return whether no release of flash-attn, which is not here, would run on the GPUs."""
    asked = dtype if dtype in (Dtype.BF16, Dtype.FP16) else Dtype.FP16
    if not isinstance(kernels.environment.fact("flash_attn.version"), Absent):
        return False
    names = {"backend": Known(Backend.FA2.value, "asked"), "dtype": Known(asked.value, "asked")}
    rows = (kernels.matrix.find("kernel-support", {**names, "cc": g.capability}) for g in gpus)
    return all(each.rows and support_of(each).fails for each in rows)


def _of_routes(
    kernels: Kernels,
    gpus: list[Gpu],
    chosen: tuple[Backend, Dtype],
    verdicts: tuple[Verdict, ...],
) -> str:
    """Return what is said of other ways; nothing where none is here or near."""
    if not _has_routes(kernels):
        return ""
    from fadoctor.judging.verdicts.first_advice import said_of_routes  # noqa: PLC0415 -- few have them

    return said_of_routes(kernels, gpus, chosen, verdicts)


def _has_routes(kernels: Kernels) -> bool:
    """Return whether kernels come here by another way, or would if kernels were installed."""
    if any(map(kernels.route, kernels.installed())):
        return True
    facts = [kernels.environment.fact(f"{n}.version") for n in (FLASH_ATTN, KERNELS)]
    takes = isinstance(kernels.environment.fact("transformers.version"), Known)
    return takes and all(isinstance(fact, Absent) for fact in facts)


def _candidates(kernels: Kernels, gpus: list[Gpu]) -> Iterator[Backend]:
    """Yield the backends whose package is there, or may be: there is no attention without torch.

    Another way is one only where the first advice names it and nothing of its own is against it.
    vLLM computes with its own.
    """
    if isinstance(kernels.environment.fact("torch.version"), Absent):
        return
    routes = [
        each for each in PREFERRED_BACKENDS if kernels.route(each) and kernels.is_installed(each)
    ]
    near = _near(kernels, gpus, routes) if routes else ()
    own = (Backend.VLLM_FA,) if serves(kernels.environment.facts) else ()
    for backend in (*own, *PREFERRED_BACKENDS):
        of_torch = kernels.package(backend) == TORCH
        if kernels.route(backend):
            if backend in near:
                yield backend
        elif of_torch or isinstance(kernels.version(backend), Known):
            yield backend


def _near(kernels: Kernels, gpus: list[Gpu], routes: list[Backend]) -> list[Backend]:
    from fadoctor.judging.verdicts.first_advice import (  # noqa: PLC0415 -- few have other ways
        advised,
        is_within_reach,
    )

    wanted = advised(kernels, gpus)
    return [r for r in routes if r.value in wanted and is_within_reach(kernels, r, gpus)]


def _is_doubtful(verdict: Verdict) -> bool:
    """Return whether a cell on a GPU is not known to work."""
    if verdict.measured is not Measured.NOT_RUN or verdict.gpu == CPU:
        return False
    return verdict.predicted is Predicted.UNKNOWN


def _is_broken(verdict: Verdict) -> bool:
    """Return whether a cell fails on a GPU, by the facts or by what was run."""
    if verdict.gpu == CPU:
        return False
    if verdict.measured is not Measured.NOT_RUN:
        return verdict.measured is Measured.FAILED
    return verdict.predicted is Predicted.FAILS


def _said(verdict: Verdict) -> str:
    """Return in a few words which cell fails, or is not known to work, and why."""
    reason = ", ".join(verdict.because[:2]) or verdict.detail
    if _is_doubtful(verdict):
        reason = f"not known to work: {reason}" if reason else "not known to work"
    subject = verdict.gpu.partition(" ")[0]
    return f"{verdict.backend.value} in {verdict.dtype.value} on {subject} ({reason})"


def _failures(found: list[tuple[Gpu, Support]], backend: Backend, dtype: Dtype) -> Iterator[str]:
    """Yield once what does not work, with the GPUs that it does not work on."""
    failing = [(gpu, support) for gpu, support in found if support.fails]
    if failing:
        where = _list([gpu.subject for gpu, _ in failing])
        yield f"{backend.value} in {dtype.value} on {where} ({failing[0][1].rule or 'unsupported'})"


def _settings(
    kernels: Kernels, gpus: list[Gpu], backend: Backend, dtype: Dtype
) -> dict[str, dict[str, str]]:
    """Return the settings of each framework, also the configured one, that suit all GPUs."""
    found = {}
    here = kernels.environment
    on_route = SETTINGS_ON_ROUTES if kernels.route(backend) else ()
    more = [n for n in on_route if isinstance(distribution_version(here, n), Known)]
    spoken = [each for each in (framework_of(here.facts),) if each]
    for framework in dict.fromkeys((*SETTINGS, *more, *spoken)):
        answers = [kernels.settings(framework, backend, dtype, gpu) for gpu in gpus]
        agreed = _agreed(answers)
        if agreed:
            found[framework] = agreed
    return found


def _agreed(answers: list[Fact]) -> dict[str, str]:
    values = [fact.value if isinstance(fact, Known) else None for fact in answers]
    first = values[0]
    if isinstance(first, dict) and all(value == first for value in values):
        return first
    return {}


def _why(label: str, gpus: list[Gpu], dtype: Dtype, ruled_out: list[str], doubt: str) -> str:
    names = [f"{g.label} ({g.kind})" for g in gpus]
    text = f"{label} has kernels for {dtype.value} on {_list(names)}{doubt}."
    if ruled_out:
        text += f" Ruled out: {'; '.join(ruled_out[:_REASON_LIMIT])}."
    return text


def _list(names: list[str]) -> str:
    more = len(names) - _GPUS_NAMED
    return ", ".join(names[:_GPUS_NAMED]) + (f" and {more} more" if more > 0 else "")
