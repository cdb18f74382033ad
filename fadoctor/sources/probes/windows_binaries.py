"""What Windows would say of the compiled extensions, read from their files. Nothing is run.

What only Windows itself can prove stays unknown: that a library is in no folder that it searches is
the fact ``unfound``, beside an unknown ``failure``.
"""

from __future__ import annotations

import os
import re
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from fadoctor.binary.errors import BadBinaryError
from fadoctor.binary.pe.described import describe_pe
from fadoctor.binary.pe.families import DllFamily, family_of_dll
from fadoctor.binary.pe.process import DllPrediction, DllPredictor, WindowsProcess
from fadoctor.binary.pe.search import DllFolders
from fadoctor.binary.pe.trouble import UNDECIDED_TROUBLE, DllTrouble, TroubleKind, windows_says
from fadoctor.model.fact import Fact, Known, printable
from fadoctor.model.packages import LOADS_ALONE, TORCH
from fadoctor.sources.probes.binary_facts import SYMBOL_LIMIT, SYMBOLS_SHOWN
from fadoctor.sources.probes.interpreter_files import is_folder
from fadoctor.sources.probes.windows_python import program_folder
from fadoctor.sources.probes.world import World, absent, known, read_text, unknown

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from fadoctor.sources.probes.extensions import Extension
    from fadoctor.sources.probes.world import Facts

SYSTEM32 = "C:/Windows/System32"
_PROGRAM_FILES = "C:/Program Files"
_TOOLKIT = f"{_PROGRAM_FILES}/NVIDIA GPU Computing Toolkit/CUDA/v%s/bin"
_NVTX = f"{_PROGRAM_FILES}/NVIDIA Corporation/NvToolsExt/bin/x64"
_ADDS = "add_dll_directory"
_MACHINES = {"win_amd64": "amd64", "win_arm64": "arm64", "win32": "x86"}
_MAX_FILES = 60
_MAX_FOLDERS = 200
_SOURCE_LIMIT = 64 << 10

_FAILURES = {
    TroubleKind.MISSING_PROCEDURE: "undefined-symbol",
    TroubleKind.OTHER_MACHINE: "other-machine",
    TroubleKind.OTHER_PYTHON: "other-python",
    TroubleKind.TRUNCATED: "truncated",
    TroubleKind.NOT_PE: "not-elf",
}
_CAUSES = {
    DllFamily.TORCH: "torch-function",
    DllFamily.PYTHON: "python",
    DllFamily.CUDA_RUNTIME: "cuda-runtime",
    DllFamily.CUDA_LIBRARY: "cuda-library",
    DllFamily.CUDNN: "cuda-library",
}
_STABLE = re.compile(r"(?:aoti_torch|torch_)\w{1,200}")
_FAILURE = ("failure", "missing", "cause", "wanted_by", "provider", "found_by", "says", "hint")
_OF_LINUX = ("glibc", "glibcxx", "cxx11_abi")


class WindowsNaming(msgspec.Struct, frozen=True):
    """The world and the loader of the target."""

    world: World
    predictor: DllPredictor


def windows_process(world: World, facts: Mapping[str, Fact], torch: str) -> WindowsProcess:
    """Return the process that opens extensions; `torch` is the file of torch._C, or empty."""
    platform = _text(facts, "python.platform_tag") or _text(facts, "host.platform")
    package = str(Path(torch).parent) if torch else ""
    return WindowsProcess(
        machine=_MACHINES.get(platform, ""),
        python=_text(facts, "python.abi_tag") or _text(facts, "python.tag"),
        folders=DllFolders(
            program=program_folder(world),
            added=tuple(_added(world, facts, package)),
            system=str(world.path(SYSTEM32)),
            path=tuple(_on_path(world)),
        ),
        torch=package,
        may_search_more=_may_add_folders(world),
    )


def _may_add_folders(world: World) -> bool:
    """Whether the environment is conda's, or a ``.pth`` file of it adds folders."""
    prefix = world.target.roots.get("prefix", "")
    if prefix and is_folder(Path(prefix, "conda-meta")):
        return True
    files = (path for site in world.target.site for path in _files(site, ".pth"))
    return any(_ADDS in (read_text(path, _SOURCE_LIMIT) or "") for path in files)


def adds_folders(extension: Extension) -> bool:
    """Whether the package of an extension adds folders by itself."""
    folder = Path(extension.path).parent
    return any(_ADDS in (read_text(path, _SOURCE_LIMIT) or "") for path in _files(folder, ".py"))


def predict_on_windows(extension: Extension, naming: WindowsNaming) -> DllPrediction:
    """Return what opening an extension would do."""
    is_own = extension.key != TORCH and Path(extension.path).parent.name != "site-packages"
    return naming.predictor.predict(
        extension.path,
        after_torch=extension.key not in LOADS_ALONE,
        adds_folders=is_own and adds_folders(extension),
    )


def windows_facts(extension: Extension, prediction: DllPrediction, naming: WindowsNaming) -> Facts:
    """Return the facts of one extension by the end of their names."""
    source = naming.world.name(extension.path)
    missing = [t for t in prediction.troubles if t.kind is TroubleKind.MISSING_PROCEDURE]
    names = tuple(printable(t.name, SYMBOL_LIMIT) for t in missing[:SYMBOLS_SHOWN])
    unfound = prediction.unfound if not prediction.needs_torch or extension.key == TORCH else ()
    nothing = absent(f"{source}: all are found, or it is not known where Windows looks")
    facts: Facts = {
        "file": known(source, source),
        "needed": known(prediction.needed[:SYMBOLS_SHOWN], source),
        "cuda_major": _cuda_major(extension, source),
        "undefined": known(names, source),
        "unfound": known(unfound[:SYMBOLS_SHOWN], source) if unfound else nothing,
        "unfound_kind": known(_kind(unfound), source) if unfound else nothing,
        **{name: absent("Windows has none") for name in _OF_LINUX},
    }
    return facts | _failure(extension, prediction, naming)


def windows_loads(predictions: Mapping[Extension, DllPrediction], naming: WindowsNaming) -> Fact:
    """Return whether all extensions of a package load; Absent where it has none."""
    if not predictions:
        return absent("its compiled extensions were not found")
    source = ", ".join(naming.world.name(each.path) for each in predictions)
    verdicts = [each.loads for each in predictions.values()]
    if False in verdicts:
        return known(value=False, source=source)
    undecided = next((each for each in predictions.values() if each.loads is None), None)
    if undecided is not None:
        return unknown(_undecided(undecided.troubles), source)
    return known(value=True, source=source)


def _failure(extension: Extension, prediction: DllPrediction, naming: WindowsNaming) -> Facts:
    source = naming.world.name(extension.path)
    if prediction.loads:
        return dict.fromkeys(_FAILURE, absent(f"{source}: everything that it needs is there"))
    first = prediction.troubles[0]
    certain = [t for t in prediction.troubles if t.kind in _FAILURES]
    if not certain:
        return dict.fromkeys(_FAILURE, unknown(_undecided(prediction.troubles), source))
    first = certain[0]
    if prediction.needs_torch and extension.key != TORCH:
        nothing = absent(f"{source}: torch does not load")
        return {**dict.fromkeys(_FAILURE, nothing), "failure": known("torch", source)}
    nothing = absent(f"{source}: none was found")
    name = naming.world.name
    return {
        "failure": known(_FAILURES[first.kind], source),
        "missing": known(printable(first.name or name(first.path), SYMBOL_LIMIT), source),
        "cause": known(_cause(first), source),
        "wanted_by": known(name(first.path), source),
        "provider": known(name(first.provider), source) if first.provider else nothing,
        "found_by": nothing,
        "says": known(printable(windows_says(first), SYMBOL_LIMIT), source),
        "hint": nothing,
    }


def _cause(trouble: DllTrouble) -> str:
    if trouble.kind is not TroubleKind.MISSING_PROCEDURE:
        return "python" if trouble.kind is TroubleKind.OTHER_PYTHON else "other"
    cause = _CAUSES.get(family_of_dll(os.path.basename(trouble.provider)), "other")  # noqa: PTH119 -- text
    is_stable = cause == "torch-function" and _STABLE.fullmatch(trouble.name)
    return "stable-abi" if is_stable else cause


def _undecided(troubles: tuple[DllTrouble, ...]) -> str:
    first = next((t for t in troubles if t.kind in UNDECIDED_TROUBLE), troubles[0])
    if first.kind is TroubleKind.UNFOUND:
        return printable(f"the place where Windows finds {first.name} is unknown")
    return printable(first.detail or f"{first.kind.value}: {first.name or first.path}")


def _kind(unfound: tuple[str, ...]) -> str:
    """Return whose library the first one is; all others may follow from it."""
    return family_of_dll(unfound[0]).value


def _cuda_major(extension: Extension, source: str) -> Fact:
    try:
        major = describe_pe(extension.path).cuda_major
    except BadBinaryError as error:
        return unknown(printable(str(error)), source)
    return known(major, source) if major else absent(f"{source}: no cudart64")


def _added(world: World, facts: Mapping[str, Fact], torch: str) -> Iterator[str]:
    """Yield the folders that torch/__init__.py adds, those that are there."""
    if not torch:
        return
    prefix, base = world.target.roots.get("prefix", ""), program_folder(world)
    homes = [home for home in dict.fromkeys((prefix, base)) if home]
    first = [f"{torch}/lib", *(f"{home}/Library/bin" for home in homes), f"{prefix}/bin"]
    there = [folder for folder in first if is_folder(folder)]
    yield from there
    if is_folder(world.path(_NVTX)):
        yield str(world.path(_NVTX))
    cuda = _text(facts, "torch.cuda")
    toolkit = world.path(_TOOLKIT % cuda)
    has_own = any(n.lower().startswith("cudart64") for f in there for n in _names(f))
    if cuda and not has_own and is_folder(toolkit):
        yield str(toolkit)


def _on_path(world: World) -> Iterator[str]:
    for entry in world.environ.get("PATH", "").split(";")[:_MAX_FOLDERS]:
        folder = entry.strip().strip('"').replace("\\", "/")
        if re.match(r"/?[A-Za-z]:/", folder):
            yield str(world.path(folder))


def _files(folder: str | Path, ending: str) -> Iterator[Path]:
    names = (name for name in _names(folder) if name.endswith(ending))
    return (Path(folder, name) for name in islice(names, _MAX_FILES))


def _names(folder: str | Path) -> list[str]:
    try:
        with os.scandir(folder) as entries:
            return sorted(entry.name for entry in islice(entries, 5_000))
    except (OSError, ValueError):
        return []


def _text(facts: Mapping[str, Fact], name: str) -> str:
    fact = facts.get(name)
    return str(fact.value) if isinstance(fact, Known) else ""
