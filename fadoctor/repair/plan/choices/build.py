"""Compile flash-attn on the target: whether that can work, and what it needs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fadoctor.knowledge.matrix.kernels import computing_gpus
from fadoctor.knowledge.matrix.versions import is_in, version_key, version_part
from fadoctor.knowledge.matrix.wheel_label import STEM, wheel_facts
from fadoctor.model.fact import Fact, Known
from fadoctor.model.packages import ALWAYS, FLASH_ATTN, TORCH
from fadoctor.repair.plan.choices.choice import Choice, ChoiceKind
from fadoctor.repair.plan.choices.released import is_in_specifier, released
from fadoctor.repair.plan.choices.wheel_facts import known

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from fadoctor.knowledge.matrix.query import Matrix
    from fadoctor.model.environment import Environment
    from fadoctor.model.rule import Table
    from fadoctor.repair.plan.choices.candidates import Candidates

MEMORY_PER_JOB = 9 << 30
"""Bytes of memory that flash-attn's own setup.py takes into account for each compiler."""

RELEASES_TRIED = 4
"""Newest releases that are considered: each is a build of the same code for the same GPU."""


def build_choices(
    environment: Environment, matrix: Matrix, candidates: Candidates, *, with_tools: bool
) -> list[Choice]:
    """Return the releases of flash-attn that can be compiled here, newest first.

    `with_tools`: as if compiler and toolkit were there.
    """
    found: list[Choice] = []
    for age, (version, python) in enumerate(_releases(environment, candidates)):
        if len(found) == RELEASES_TRIED:
            break
        supported = is_in_specifier(_minor(environment), known(python or None))
        if not supported or hindrance(environment, matrix, version):
            continue
        if with_tools or not missing_tools(environment, matrix, version):
            found.append(_choice(environment, version, age))
    return found


def published_sources(tables: Mapping[str, Table]) -> Iterator[tuple[str, str]]:
    """Yield the releases of flash-attn whose sources PyPI has, and the Python that each requires.

    The oldest first; none that was withdrawn.
    """
    for row in tables["flash-attn-releases"].rows:
        if row.get("on_pypi") is True and row.get("yanked") is not True:
            yield str(row["version"]), str(row.get("python") or "")


def _releases(environment: Environment, candidates: Candidates) -> Iterator[tuple[str, str]]:
    names = published_sources(candidates.tables)
    good = [each for each in names if candidates.files.is_good(each[0], environment)]
    yield from sorted(good, key=lambda each: version_key(each[0]), reverse=True)


def hindrance(environment: Environment, matrix: Matrix, version: str) -> str:
    """Return why no toolkit helps to build a version here, "" where one would."""
    torch = environment.fact("torch.version")
    if not isinstance(torch, Known) or not isinstance(environment.fact("torch.cuda"), Known):
        return "a torch with CUDA is needed first"
    row = matrix.find("flash-attn-build", {"version": Known(version, "asked")})
    below = row.cell("torch_below")
    if isinstance(below, Known) and is_in(str(torch.value), f">={below.value}") is True:
        return f"torch {below.value} and newer need a newer C++ than its sources are compiled with"
    return ""


def missing_tools(environment: Environment, matrix: Matrix, version: str) -> tuple[str, ...]:
    """Return what has to be installed before a version can be built here, in words."""
    row = matrix.find("flash-attn-build", {"version": Known(version, "asked")})
    nvcc, cuda = environment.fact("toolkit.nvcc.version"), environment.fact("torch.cuda")
    least = row.cell("nvcc")
    major = version_part(str(cuda.value), "major") if isinstance(cuda, Known) else ""
    lacking = []
    if not isinstance(nvcc, Known):
        lacking.append(f"nvcc of CUDA {major} (the toolkit, not only its libraries)")
    elif version_part(str(nvcc.value), "major") != major:
        lacking.append(f"nvcc of CUDA {major}; the one here is {nvcc.value}")
    elif isinstance(least, Known) and is_in(str(nvcc.value), f">={least.value}") is False:
        lacking.append(f"nvcc {least.value} or newer; the one here is {nvcc.value}")
    if not isinstance(environment.fact("toolkit.gxx.version"), Known):
        lacking.append("g++")
    return tuple(lacking)


def missing_modules(environment: Environment, matrix: Matrix, version: str) -> tuple[str, ...]:
    """Return the packages that setup.py imports, and that are not installed; torch is apart."""
    row = matrix.find("flash-attn-build", {"version": Known(version, "asked")})
    imports, installed = row.cell("imports"), environment.fact("packages.installed")
    names = imports.value if isinstance(imports, Known) and isinstance(imports.value, tuple) else ()
    there = installed.value if isinstance(installed, Known) else {}
    return tuple(n for n in names if n != TORCH and isinstance(there, dict) and n not in there)


def _choice(environment: Environment, version: str, age: int) -> Choice:
    suffix = environment.fact("python.ext_suffix")
    ending = str(suffix.value) if isinstance(suffix, Known) else ".so"
    facts = released(FLASH_ATTN, version, interface=True)
    facts["flash_attn.namespace_only"] = known(False)
    facts["flash_attn.extension"] = known(STEM + ending)
    facts["flash_attn.requires"] = known({**ALWAYS[FLASH_ATTN]})
    facts |= wheel_facts(Known(version, "built"), facts["flash_attn.extension"], facts)
    cuda = environment.fact("torch.cuda")
    inside: dict[str, Fact] = {
        "flash_attn.binary.code": known({" ".join(architectures(environment)): "1"}),
        "flash_attn.binary.cxx11_abi": environment.fact("torch.cxx11_abi"),
        "flash_attn.binary.cuda_major": known(
            version_part(str(cuda.value), "major") if isinstance(cuda, Known) else None
        ),
        "flash_attn.binary.glibc": environment.fact("host.glibc"),
    }
    return Choice(
        FLASH_ATTN, ChoiceKind.BUILD, f"build {version}", version, f"flash-attn=={version}",
        facts={**facts, **inside}, age=age, env=build_variables(environment),
    )  # fmt: skip


def architectures(environment: Environment) -> tuple[str, ...]:
    """Return the compute capabilities to compile for: one for each class of GPU that is there.

    Code of sm_80 runs on 8.6 and 8.9 too; flash-attn's setup.py knows no finer one.
    """
    majors = set()
    for gpu in computing_gpus(environment):
        if isinstance(gpu.capability, Known):
            majors.add(f"{version_part(str(gpu.capability.value), 'major')}.0")
    return tuple(sorted(majors, key=float))


def build_variables(environment: Environment) -> dict[str, str]:
    """Return the variables of a build: architectures, and jobs by memory and processors."""
    found = {"FLASH_ATTENTION_FORCE_BUILD": "TRUE", "MAX_JOBS": str(jobs(environment))}
    archs = [cc.replace(".", "") for cc in architectures(environment)]
    if archs:
        found["FLASH_ATTN_CUDA_ARCHS"] = ";".join(archs)
    return found


def jobs(environment: Environment) -> int:
    """Return how many compilers fit: half the processors, and one for each 9 GiB of memory."""
    cores, memory = environment.fact("host.cores"), environment.fact("host.memory_bytes")
    limits = [1]
    if isinstance(cores, Known) and isinstance(cores.value, int):
        limits = [max(1, cores.value // 2)]
    if isinstance(memory, Known) and isinstance(memory.value, int):
        limits.append(max(1, memory.value // MEMORY_PER_JOB))
    return min(limits)


def _minor(environment: Environment) -> str:
    version = environment.fact("python.version")
    return (version_part(str(version.value), "minor") or "") if isinstance(version, Known) else ""
