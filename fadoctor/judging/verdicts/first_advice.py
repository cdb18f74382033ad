"""Which way to an attention somebody who knows takes first, and what stands against it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fadoctor.judging.verdicts.hub_route import Route
from fadoctor.knowledge.matrix.kernels import distribution_version
from fadoctor.model.fact import Absent, Known, fact_text, fact_words
from fadoctor.model.packages import ADVISED
from fadoctor.model.verdict import Backend

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator

    from fadoctor.knowledge.matrix.kernels import Gpu, Kernels
    from fadoctor.knowledge.matrix.query import Rows
    from fadoctor.model.fact import Fact
    from fadoctor.model.verdict import Dtype, Verdict


def advised(kernels: Kernels, gpus: Collection[Gpu]) -> frozenset[str]:
    """Return the backends that the first advice names for the frameworks here, on all GPUs."""
    found = [
        set[str]().union(*(fact_words(row.cell("backends")) for _, row in _rows(kernels, gpu)))
        for gpu in gpus
    ]
    return frozenset(set.intersection(*found)) if found else frozenset()


def is_within_reach(kernels: Kernels, backend: Backend, gpus: Iterable[Gpu]) -> bool:
    """Return whether nothing of its own stands against another way, on any of some GPUs."""
    if kernels.route(backend) != "hub":
        return True
    route = Route(kernels, backend)
    return all(route.obstacle(gpu) is None for gpu in gpus)


def said_of_routes(
    kernels: Kernels, gpus: list[Gpu], chosen: tuple[Backend, Dtype], verdicts: Iterable[Verdict]
) -> str:
    """Return what else is worth knowing: where a kernel comes from, and the first advice."""
    cells = {each.backend.value: each for each in verdicts if each.dtype is chosen[1]}
    said = [
        *_source(kernels, chosen[0]),
        *_better(kernels, gpus, chosen[0], cells),
    ]
    return "".join(f" {text}" for text in said)


def _source(kernels: Kernels, chosen: Backend) -> Iterator[str]:
    if kernels.route(chosen) == "hub":
        yield f"It is {Route(kernels, chosen).note()}."


def _better(
    kernels: Kernels, gpus: list[Gpu], chosen: Backend, cells: dict[str, Verdict]
) -> Iterator[str]:
    """Yield for each framework the way that goes before the one that is recommended."""
    for framework, row in _rows(kernels, gpus[0]) if _are_alike(gpus) else ():
        wanted = fact_words(row.cell("backends"))
        before = wanted[: wanted.index(chosen.value)] if chosen.value in wanted else ()
        first = next((name for name in before if kernels.route(Backend(name))), "")
        if not first:
            continue
        against = _against(kernels, Backend(first), cells.get(first))
        version = fact_text(_version(kernels, framework), "")
        how = fact_text(row.cell("how"), first)
        if against:
            yield f"First advice with {framework} {version} here: {how}. {against}"


def _against(kernels: Kernels, backend: Backend, cell: Verdict | None) -> str:
    """Return why the first advice is not what is recommended."""
    if cell is not None:
        return f"But {backend.value}: {_reason(cell)}."
    if kernels.route(backend) != "hub":
        return ""
    environment = kernels.environment
    version = environment.fact("transformers.version")
    if not isinstance(environment.fact("kernels.version"), Absent):
        return ""
    row = kernels.matrix.find("transformers-hub-kernels", {"version": version})
    newest, instead = row.cell("installable"), row.cell("instead")
    if isinstance(newest, Known):
        return f'For that install kernels {newest.value}: pip install "transformers[kernels]".'
    if isinstance(instead, Known):
        return (
            "No release of kernels that it accepts was published; transformers "
            f"{instead.value} has one."
        )
    return ""


def _reason(cell: Verdict) -> str:
    return cell.detail or ", ".join(cell.because) or "nobody knows"


def _are_alike(gpus: list[Gpu]) -> bool:
    return len({fact_text(gpu.capability, gpu.subject) for gpu in gpus}) == 1


def _rows(kernels: Kernels, gpu: Gpu) -> Iterator[tuple[str, Rows]]:
    """Yield the advice for each framework that is installed."""
    purpose = kernels.environment.fact("config.purpose")
    task = "inference" if fact_text(purpose, "") == "inference" else "training"
    for framework in ADVISED:
        version = _version(kernels, framework)
        if isinstance(version, Known):
            keys = {
                "framework": Known(framework, "asked"),
                "version": version,
                "task": Known(task, "asked"),
                "cc": gpu.capability,
            }
            yield framework, kernels.matrix.find("first-advice", keys)


def _version(kernels: Kernels, framework: str) -> Fact:
    return distribution_version(kernels.environment, framework)
