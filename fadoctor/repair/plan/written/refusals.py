"""What works instead where no package for attention can be installed, and who else builds one."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fadoctor.knowledge.matrix.kernels import computing_gpus
from fadoctor.knowledge.matrix.query import cell_words
from fadoctor.knowledge.matrix.ready_made_files import InstalledWhere
from fadoctor.knowledge.matrix.versions import version_key, version_part
from fadoctor.knowledge.matrix.wheels import COMMUNITY, OFFICIAL, WheelRequest
from fadoctor.model.fact import Unknown, fact_text
from fadoctor.model.packages import ATTENTION, FLASH_ATTN, PACKAGES, PLANNED, SGLANG, TORCH, VLLM
from fadoctor.model.verdict import Backend
from fadoctor.repair.plan.choices.build import published_sources
from fadoctor.repair.plan.choices.candidates import WINDOWS
from fadoctor.repair.plan.choices.far_back import driver_notes
from fadoctor.repair.plan.choices.indexes import CPU
from fadoctor.repair.plan.choices.released import accepts
from fadoctor.repair.plan.choices.releases import python_of
from fadoctor.repair.plan.choices.rocm_flash_attn import switch, works_by_triton

if TYPE_CHECKING:
    from collections.abc import Iterator

    from fadoctor.knowledge.matrix.query import Row
    from fadoctor.model.plan import Proof
    from fadoctor.repair.plan.search.problem import Problem

_COMMUNITY = "flash-attn-wheels-community"
_URLS = "flash-attn-wheel-urls"

_SERVERS = (VLLM, SGLANG)
"""Frameworks whose tables say on which GPUs they start: such as ``vllm-minimum``."""

_ON_A_MAC = (
    "torch's own attention works on macOS, on Apple's GPU (device mps), too: "
    'transformers takes attn_implementation="sdpa"'
)
ON_A_MAC = ("packages for FlashAttention need CUDA, which macOS does not have", _ON_A_MAC)
"""Why no package for attention is there, and what works instead."""

_WITHOUT_PACKAGE = (
    "torch's own attention works without another package: in transformers set "
    'attn_implementation="sdpa"'
)

_IN_WSL = "linux_x86_64"
"""The platform whose files Windows runs in its subsystem for Linux."""


def instead_notes(problem: Problem, proof: Proof) -> Iterator[str]:
    """Yield what works where a package for attention was asked for and cannot be planned."""
    is_missed = any(each.startswith(f"{Backend.FA2.value} ") for each in proof.missed)
    if problem.has_amd and (is_missed or FLASH_ATTN in problem.wishes.asked):
        yield from _on_amd(problem)
    if not proof.missed:
        return
    platform = problem.platform
    yield from _unknown_releases(problem)
    yield from _by_string_abi(problem)
    without_files = tuple(_no_files(problem))
    yield from without_files
    yield from driver_notes(problem)
    yield from _no_torch(problem, proof)
    yield from _older_gpu(problem)
    if {*ATTENTION}.isdisjoint(problem.wishes.asked):
        yield from () if without_files else _without_gpu(problem)
        if platform.startswith("macosx") and not {*_SERVERS}.isdisjoint(problem.wishes.asked):
            yield _ON_A_MAC
        return
    if platform.startswith("macosx"):
        yield from ON_A_MAC
    elif problem.is_without_gpu:
        yield (
            "packages for FlashAttention run on GPUs only; torch's own attention works on a "
            'CPU: transformers takes attn_implementation="sdpa"'
        )
    elif platform.startswith("win"):
        yield (
            "torch's own attention works on Windows without another package: in transformers set "
            'attn_implementation="sdpa"'
        )
        if FLASH_ATTN in problem.wishes.asked and not problem.wishes.hopeless:
            yield from _of_others(problem, platform)
    elif (
        platform.startswith("linux")
        and (problem.gpus or problem.is_left_to_jetpack)
        and not problem.wishes.hopeless
    ):
        yield from () if problem.has_amd else (_WITHOUT_PACKAGE,)


def _no_torch(problem: Problem, proof: Proof) -> Iterator[str]:
    """Yield that no torch computes on a GPU that is here, where one is needed and none is here."""
    is_missing = any(each.startswith(f"{TORCH} ") for each in proof.missed)
    if not problem.is_from_nothing or problem.has_amd or not (problem.gpus and is_missing):
        return
    if problem.platform.startswith("musllinux"):
        return  # nor one that computes on the CPU
    subject = problem.gpus[0].subject
    gpu = fact_text(problem.environment.fact(f"{subject}.name"), "") or subject
    index = problem.session.candidates.indexes.of(CPU)
    yield (
        f"no known torch for {problem.platform} fits {gpu}, its driver and what was asked "
        f"for; one that computes on the CPU alone is at {index}"
    )


def _by_string_abi(problem: Problem) -> Iterator[str]:
    """Yield what tells which file of flash-attn fits an own build of torch, such as conda's."""
    facts = problem.environment.fact
    own, abi = fact_text(facts("torch.build"), ""), facts("torch.cxx11_abi")
    if FLASH_ATTN not in problem.wishes.asked or own != "other" or not isinstance(abi, Unknown):
        return
    names = ("torch.version", "torch.cuda", "python.abi_tag")
    torch, cuda, python = (fact_text(facts(name), "") for name in names)
    minor, wheels = version_part(torch, "minor"), problem.session.candidates.files.wheels
    if not (minor and cuda and python):
        return
    requests = {
        is_new: WheelRequest(minor, cuda, python, problem.platform, cxx11_abi=is_new)
        for is_new in (False, True)
    }
    found = {
        is_new: file.url
        for is_new, request in requests.items()
        for file in reversed(wheels.fitting(request))
        if file.source == OFFICIAL
    }
    if found:
        command = "python -c 'import torch; print(torch._C._GLIBCXX_USE_CXX11_ABI)'"
        yield f"the C++ ABI of this torch was not read; this prints it: {command}"
    yield from (
        f"if that prints {is_new}, {url} is for this torch" for is_new, url in found.items()
    )


def _without_gpu(problem: Problem) -> Iterator[str]:
    """Yield which frameworks that were asked for need a GPU, where there is none."""
    for package in problem.wishes.asked if problem.is_without_gpu else ():
        if problem.needs_gpu(package):
            name = PACKAGES[package][0]
            yield f"{name} needs a GPU: to plan for another machine, name its GPU with --gpu"


def _older_gpu(problem: Problem) -> Iterator[str]:
    """Yield which frameworks that were asked for start on no GPU that is here, and what does."""
    if problem.has_amd or not problem.gpus:
        return
    fact = problem.environment.fact
    here = {fact_text(fact(f"{gpu.subject}.compute_capability"), "") for gpu in problem.gpus}
    for package in problem.wishes.asked if "" not in here else ():
        floors = [least for _, least in _floors(problem, package)]
        if floors and max(map(version_key, here)) < min(map(version_key, floors)):
            least, found = min(floors, key=version_key), ", ".join(sorted(here))
            yield f"{package} needs compute capability {least} or newer; the GPU here has {found}"
            yield from (
                f"{other}{versions} supports compute capability {found}"
                for other in _SERVERS
                for versions, floor in _floors(problem, other)
                if version_key(floor) <= min(map(version_key, here))
            )
            yield (
                "torch's own attention needs no server: transformers takes "
                'attn_implementation="sdpa"'
            )


def _floors(problem: Problem, package: str) -> Iterator[tuple[str, str]]:
    """Yield the lowest compute capability on which releases of a server start."""
    if package in _SERVERS:
        for row in problem.session.matrix.tables[f"{package}-minimum"].rows:
            yield str(row["version"]), str(row["cc"])


def _no_files(problem: Problem) -> Iterator[str]:
    """Yield what was asked for and has no ready-made file for the platform in any release."""
    listed, place = problem.session.candidates.listed, InstalledWhere(problem.platform)
    for package in problem.wishes.asked:
        name = PACKAGES[package][0]
        known = listed.every(package) if package in PLANNED else ()
        has_file = listed.published.has_file
        if known and not any(has_file(name, choice.version, place) for choice in known):
            told = f"no known release of {name} has a prebuilt wheel for {problem.platform}"
            linux = InstalledWhere(_IN_WSL)
            by_wsl = place.platform == WINDOWS and has_file(name, known[0].version, linux)
            yield f"{told}; those for {_IN_WSL} run in WSL 2" if by_wsl else told


def _on_amd(problem: Problem) -> Iterator[str]:
    """Yield how flash-attn comes to an AMD GPU, where it does: no ready-made file is for one."""
    gpus = computing_gpus(problem.environment)
    gfx = {fact_text(problem.environment.fact(f"{g.subject}.gfx"), "") for g in gpus}
    name, variable, which = PACKAGES[FLASH_ATTN][0], switch(problem), ", ".join(sorted(gfx))
    if not gfx or "" in gfx:
        yield (
            f"{name} has no files for ROCm, and which GPU of AMD is here is not known: "
            "`rocminfo | grep gfx` prints its gfx"
        )
        return
    releases = published_sources(problem.session.matrix.tables)
    if any(works_by_triton(problem, version) for version, _ in releases):
        yield (
            f"for ROCm {name} is published as sources; its Triton backend needs {variable}, also "
            "whenever a program runs"
        )
        if gfx <= _compiled_for(problem):
            yield f"without {variable} its sources compile for {which} with hipcc of ROCm"
    else:
        why = f"no source says that its Triton backend runs on {which}"
        yield f"{name} has no files for ROCm, and {why}"
    yield _WITHOUT_PACKAGE


def _compiled_for(problem: Problem) -> set[str]:
    rows = problem.session.matrix.tables["rocm-flash-attn"].rows
    return {word for row in rows if row["ck"] is True for word in cell_words(row["gfx"])}


def _unknown_releases(problem: Problem) -> Iterator[str]:
    """Yield what was asked for in a version of which no table knows which torch it requires."""
    for package, versions in problem.wishes.pinned.items():
        known = problem.session.candidates.listed.every(package) if package in PLANNED else ()
        if known and not any(accepts(versions, choice.version) for choice in known):
            name = PACKAGES[package][0]
            yield (
                f"the tables do not list the torch that {name}{versions} requires: "
                f"{name} from {known[-1].version} to {known[0].version} can be planned"
            )


def _of_others(problem: Problem, platform: str) -> Iterator[str]:
    """Yield where somebody else than the authors publishes flash-attn for a platform."""
    python = "cp" + python_of(problem.environment).replace(".", "")
    rows = [
        row
        for row in problem.session.matrix.tables[_COMMUNITY].rows
        if row["package"] == PACKAGES[FLASH_ATTN][0]
        and platform in cell_words(row["platform"])
        and python in cell_words(row["python"])
    ]
    here = version_part(fact_text(problem.environment.fact("torch.version"), ""), "minor")
    fitting = [row for row in rows if here in cell_words(row["torch"])]
    if rows:
        row = max(fitting or rows, key=_newest)
        version = max(cell_words(row["version"]), key=version_key)
        torch, cuda = (", ".join(cell_words(row[name])) for name in ("torch", "cuda"))
        page = _page(problem, str(row["tag"]))
        owner = page.split("/")[3]
        yield (
            f"{owner}, a third party, publishes flash-attn {version} for {platform} and {python}, "
            f"beside torch {torch} of {cuda}: {page}"
        )


def _page(problem: Problem, tag: str) -> str:
    """Return the page of a release of the third party."""
    rows = problem.session.matrix.tables[_URLS].rows
    found = next(row for row in rows if row["source"] == COMMUNITY)
    page = str(found["page"]).replace("{release}", tag)
    return page.replace("/releases/download/", "/releases/tag/").rstrip("/")


def _newest(row: Row) -> tuple[object, object]:
    versions = max(version_key(version) for version in cell_words(row["version"]))
    return versions, version_key(str(row["tag"]).removeprefix("v"))
