"""Which GPUs of an environment the compiled extensions have code for."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fadoctor.binary.coverage import Coverage, CoverageVerdict, GpuRow, coverage
from fadoctor.model.fact import Absent, Fact, Known
from fadoctor.model.packages import EXTENSIONS

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from fadoctor.knowledge.matrix.query import Matrix
    from fadoctor.model.environment import Environment

_NAMES = ("runs_on", "no_code_for", "jit_for", "jit_isa")
_NOT_SOUGHT = Absent("facts were saved by a fadoctor that looked for no such extension")
_HAS_CODE = (CoverageVerdict.ALL, CoverageVerdict.JIT, CoverageVerdict.MIXED)


def gpu_code(environment: Environment, matrix: Matrix, packages: Iterable[str]) -> dict[str, Fact]:
    """Return the facts that say for each extension which of the GPUs here it has code for.

    A GPU is in no list whose compute capability is not known, or of which the matrix does not say
    what runs there; verdicts about it are unknown anyway.
    """
    found: dict[str, Fact] = {}
    gpus: list[GpuRow] | None = None
    for extension in _extensions(packages):
        code = environment.facts.get(f"{extension}.code")
        if code is None:
            if not environment.was_sought(extension):
                found |= {f"{extension}.{name}": _NOT_SOUGHT for name in _NAMES}
            continue
        optional = environment.facts.get(f"{extension}.optional")
        if isinstance(optional, Known):
            nothing = Absent(optional.source)
            found |= {f"{extension}.{name}": nothing for name in _NAMES}
        elif isinstance(code, Known) and isinstance(code.value, dict):
            gpus = known_gpus(environment, matrix) if gpus is None else gpus
            found |= _derived(extension, code.value, code.source, gpus)
        else:
            found |= {f"{extension}.{name}": code for name in _NAMES}
    return found


def _extensions(packages: Iterable[str]) -> Iterator[str]:
    for package in packages:
        yield from (f"{package}.{name}" for name in EXTENSIONS.get(package, ()))


def _derived(
    extension: str, code: dict[str, str], source: str, gpus: list[GpuRow]
) -> dict[str, Fact]:
    judged = {gpu.capability: coverage(code, gpu) for gpu in gpus}
    lists: dict[str, tuple[CoverageVerdict, ...]] = {
        "runs_on": _HAS_CODE,
        "no_code_for": (CoverageVerdict.NONE,),
        "jit_for": (CoverageVerdict.JIT,),
    }
    found: dict[str, Fact] = {
        f"{extension}.{name}": Known(
            tuple(cc for cc, each in judged.items() if each.verdict in verdicts), source
        )
        for name, verdicts in lists.items()
    }
    found[f"{extension}.jit_isa"] = _isa(judged, source)
    return found


def _isa(judged: dict[str, Coverage], source: str) -> Fact:
    """Return the ISA below which a driver compiles nothing of what must be compiled."""
    isas = {each.lowest_isa for each in judged.values() if each.verdict is CoverageVerdict.JIT} - {
        ""
    }
    if not isas:
        return Absent(f"{source}: nothing is compiled for the GPUs here")
    return Known(min(isas, key=lambda isa: [int(part) for part in isa.split(".")]), source)


def known_gpus(environment: Environment, matrix: Matrix) -> list[GpuRow]:
    """Return the kinds of GPUs here of which the matrix says what runs there."""
    subjects = environment.subjects("gpu")
    facts = (environment.fact(f"{subject.text}.compute_capability") for subject in subjects)
    capabilities = dict.fromkeys(str(fact.value) for fact in facts if isinstance(fact, Known))
    gpus = (_gpu(capability, matrix) for capability in capabilities)
    return [gpu for gpu in gpus if gpu is not None]


def _gpu(capability: str, matrix: Matrix) -> GpuRow | None:
    """Return what the matrix says of a GPU; of a Tegra, what only may run is kept apart."""
    row = matrix.find("architectures", {"cc": Known(capability, "gpu")})
    runs, own = row.cell("runs"), row.cell("own")
    if isinstance(runs, Known):
        return GpuRow(capability, _words(runs))
    if isinstance(own, Known):
        return GpuRow(capability, _words(own), _words(row.cell("since_cuda_13_2")))
    return None


def _words(fact: Fact) -> frozenset[str]:
    value = fact.value if isinstance(fact, Known) else ()
    return frozenset(value) if isinstance(value, tuple) else frozenset()
