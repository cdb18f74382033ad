"""What flash_attention_2 of transformers really is here: a package, a kernel of the Hub, an error.

transformers takes the package flash-attn where it accepts its release, else, from some release on,
a kernel of the Hub through the package kernels. Where neither can be had it raises.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from fadoctor.knowledge.matrix.versions import is_in
from fadoctor.model.fact import Absent, Known, Unknown, fact_text
from fadoctor.model.packages import FLASH_ATTN
from fadoctor.model.verdict import Backend, Becomes, Dtype, Origin, Predicted

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable

    from fadoctor.knowledge.matrix.kernels import Kernels
    from fadoctor.knowledge.matrix.query import Rows
    from fadoctor.model.fact import Fact
    from fadoctor.model.verdict import Verdict

_HALF = (Dtype.BF16, Dtype.FP16)
_ORIGINS = {
    Predicted.WORKS: Origin.HUB,
    Predicted.FAILS: Origin.ERROR,
    Predicted.UNKNOWN: Origin.UNKNOWN,
}


def flash_attention_2(
    kernels: Kernels, gpus: Collection[str], dtype: Dtype, verdicts: Iterable[Verdict]
) -> Becomes | None:
    """Return what becomes of the name on some GPUs, by label; None where nobody can ask for it."""
    transformers = kernels.environment.fact("transformers.version")
    row = kernels.matrix.find("transformers-flash-attn", {"version": transformers})
    if not isinstance(transformers, Known) or not row.rows:
        return None
    package = kernels.environment.fact("flash_attn.version")
    if isinstance(package, Unknown):
        return Becomes(Origin.UNKNOWN, detail=package.reason)
    if isinstance(package, Absent) and _is_mistaken(kernels, row):
        return Becomes(Origin.UNKNOWN, detail="flash-attn-4 has the import name of flash-attn")
    refusal = _refusal(kernels, transformers, package, row.cell(FLASH_ATTN))
    asked = dtype if dtype in _HALF else Dtype.FP16
    wanted = Backend.FA2 if refusal is None else Backend.HUB_FA2
    cells = [
        verdict
        for verdict in verdicts
        if verdict.backend is wanted and verdict.dtype is asked and verdict.gpu in gpus
    ]
    if refusal is None:
        return _package(f"flash-attn {fact_text(package, '')}", cells)
    return _without_package(kernels, transformers, refusal, cells)


def _is_mistaken(kernels: Kernels, row: Rows) -> bool:
    """Return whether this transformers may take flash-attn-4 for flash-attn."""
    other, asks = kernels.environment.fact("flash_attn_4.version"), row.cell("by_distribution")
    return isinstance(other, Known) and isinstance(asks, Known) and asks.value is False


def _refusal(kernels: Kernels, transformers: Known, package: Fact, accepted: Fact) -> str | None:
    """Return why transformers does not take the package flash-attn, None where it does."""
    if isinstance(package, Absent):
        return f"flash-attn {_is_missing(kernels)}"
    version = fact_text(package, "")
    on_rocm = not isinstance(kernels.environment.fact("torch.hip"), Absent)
    if on_rocm or not isinstance(accepted, Known):
        return None
    if is_in(version, str(accepted.value)) is not False:
        return None
    return f"transformers {transformers.value} accepts flash-attn {accepted.value}, not {version}"


def _is_missing(kernels: Kernels) -> str:
    """Return how it is said that a package is not there: files only ask for packages."""
    is_planned = kernels.environment.target.kind == "manifest"
    return "is not asked for" if is_planned else "is not installed"


def _without_package(
    kernels: Kernels, transformers: Known, refusal: str, cells: list[Verdict]
) -> Becomes:
    """Return what becomes of the name where transformers does not take the package."""
    environment = kernels.environment
    row = kernels.matrix.find("transformers-hub-kernels", {"version": transformers})
    taken, here = row.cell("fa2"), environment.fact("kernels.version")
    if isinstance(taken, Unknown) or isinstance(here, Unknown):
        reason = taken if isinstance(taken, Unknown) else here
        return Becomes(Origin.UNKNOWN, detail=getattr(reason, "reason", ""))
    if isinstance(taken, Absent):
        return Becomes(Origin.ERROR, detail=f"{refusal}, and it uses none from the Hub")
    if isinstance(here, Absent):
        text = f"{refusal}, and kernels, which would fetch {taken.value}, {_is_missing(kernels)}"
        return Becomes(Origin.ERROR, detail=text)
    if not isinstance(environment.fact("torch.hip"), Absent):
        return Becomes(Origin.UNKNOWN, detail=kernels.rocm.hub_kernel("fa2"))
    return _by_hub(kernels, cells)


def _package(name: str, cells: list[Verdict]) -> Becomes:
    """Return the package, and what speaks against its cells."""
    state, detail = _worst(cells)
    words = {Predicted.FAILS: "fails", Predicted.UNKNOWN: "not known to work"}
    about = f"{words[state]}: {detail}" if state in words and cells else ""
    return Becomes(Origin.PACKAGE, name, about)


def _by_hub(kernels: Kernels, cells: list[Verdict]) -> Becomes:
    """Return the kernel that its cells say something of."""
    from fadoctor.judging.verdicts.hub_route import Route  # noqa: PLC0415 -- few environments have kernels

    route = Route(kernels, Backend.HUB_FA2)
    state, detail = _worst(cells)
    about = route.origin() if state is Predicted.WORKS else detail
    return Becomes(_ORIGINS[state], route.name(), about)


def _worst(cells: list[Verdict]) -> tuple[Predicted, str]:
    """Return the worst of the same cell on several GPUs, and why."""
    order = (Predicted.FAILS, Predicted.UNKNOWN, Predicted.WORKS)
    found = [(cell.outcome, cell) for cell in cells]
    if not found:
        return Predicted.UNKNOWN, "no GPU was asked about"
    state, cell = min(found, key=lambda each: order.index(each[0]))
    where = f"on {cell.gpu.partition(' ')[0]}: " if len({s for s, _ in found}) > 1 else ""
    detail = cell.detail or ", ".join(cell.because) or "the reason is not known"
    return state, where + detail
