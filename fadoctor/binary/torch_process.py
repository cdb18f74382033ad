"""What ``import torch`` loads, as far as it matters to an extension that is loaded after it.

The function ``_load_global_deps`` in ``torch/__init__.py`` opens ``libtorch_global_deps.so`` for
everybody (RTLD_GLOBAL), then libraries of the nvidia-* packages in an order of its own, which
differs between releases; ``torch/_C`` is opened for itself. Read in torch 2.6.0, 2.7.0, 2.13.0 and
2.14.0. The libraries are taken from that file's text, so no table of releases is needed.
"""

from __future__ import annotations

import fnmatch
import re
from typing import TYPE_CHECKING

import msgspec

from fadoctor.binary.check import level_problems, version_problems
from fadoctor.binary.loader import Opened, Process
from fadoctor.binary.reason import Reason, ReasonKind
from fadoctor.binary.symbol_families import is_driver

if TYPE_CHECKING:
    from collections.abc import Iterator

    from fadoctor.binary.files import Tree
    from fadoctor.binary.interpreter_process import LoaderTarget

_SOURCE_LIMIT = 512 << 10
_LIBRARY = r'"(\w{1,40})"(%s)"(lib[\w.*\[\]-]{1,60})"'
# ("cublas", "libcublasLt.so.*[0-9]"), and _preload_cuda_deps("nvjitlink", "libnvJitLink.so.*[0-9]")
_PAIR = re.compile(r"\(" + _LIBRARY % ", ?")
# "cublas": "libcublas.so.*[0-9]", only tried where libtorch_global_deps.so does not load
_ITEM = re.compile(_LIBRARY % ": ?")
# if "nvidia/cuda_runtime/lib/libcudart.so" not in _maps:
_MARKER = re.compile(r'if "([\w./]{1,80})" not in _maps')
_BEST_EFFORT = "_preload_cuda_deps(required=False)"
_MAX_LIBRARIES = 60
_MAX_PATHS = 200


class Preloads(msgspec.Struct, frozen=True):
    """What one release of torch opens by itself: (folder, pattern of the file name)."""

    always: tuple[tuple[str, str], ...] = ()
    after_failure: tuple[tuple[str, str], ...] = ()
    marker: str = ""
    """Part of a path that must have been loaded, or nothing is opened."""
    best_effort: bool = False
    """A library that is not there does not end the list."""


class TorchImported(msgspec.Struct, frozen=True):
    """A process after ``import torch``."""

    process: Process
    problem: Reason | None
    """Why ``import torch`` fails; symbols are not looked at for it."""
    extension: Opened | None
    """``torch/_C`` and its closure."""
    driver: Reason | None = None
    """A library of the driver that torch needs and that is not there; the rest goes on without."""


def read_preloads(source: str) -> Preloads:
    """Return what the text of ``torch/__init__.py`` opens; nothing where it says nothing."""
    marker = _MARKER.search(source)
    pairs = tuple((m[1], m[3]) for m in _PAIR.finditer(source))[:_MAX_LIBRARIES]
    items = tuple((m[1], m[3]) for m in _ITEM.finditer(source))[:_MAX_LIBRARIES]
    return Preloads(
        always=pairs if marker else (),
        after_failure=items or pairs,
        marker=marker[1] if marker else "",
        best_effort=_BEST_EFFORT in source,
    )


def import_torch(tree: Tree, target: LoaderTarget, started: Process) -> TorchImported:
    """Return the process after ``import torch``."""
    source = tree.read(f"{target.torch}/__init__.py", _SOURCE_LIMIT).decode("utf-8", "replace")
    preloads = read_preloads(source)
    process = started.copy()
    path = f"{target.torch}/lib/libtorch_global_deps.so"
    trial, opened = _try(process, path)
    if isinstance(opened, Reason) and opened.kind is ReasonKind.MISSING_SONAME:
        process = _preload(process, _paths(tree, target, process, preloads.after_failure))
        trial, opened = _try(process, path)
    elif isinstance(opened, Opened) and _is_marked(tree, trial, preloads.marker):
        trial.make_global(opened.closure)
        paths = _paths(tree, target, trial, preloads.always)
        trial = _preload(trial, paths, best_effort=preloads.best_effort)
    if isinstance(opened, Reason):
        return TorchImported(process, opened, None)
    trial.make_global(opened.closure)
    return _open_extension(tree, target, trial)


def _open_extension(tree: Tree, target: LoaderTarget, process: Process) -> TorchImported:
    path = _extension_path(tree, target)
    if not path:
        reason = Reason(ReasonKind.MISSING_FILE, f"{target.torch}/_C.so")
        return TorchImported(process, reason, None)
    trial, opened = _try(process, path)
    if isinstance(opened, Reason):
        return TorchImported(process, opened, None)
    return TorchImported(trial, None, opened, next(filter(is_driver, opened.problems), None))


def _try(process: Process, path: str) -> tuple[Process, Opened | Reason]:
    """Open a path in a copy of a process; return the copy and the first problem, if any."""
    trial = process.copy()
    opened = trial.open_path(path)
    if isinstance(opened, Reason):
        return trial, opened
    levels = level_problems(trial, opened.closure, opened.added)
    problems = [*opened.problems, *version_problems(trial, opened.added), *levels]
    return trial, next((problem for problem in problems if not is_driver(problem)), opened)


def _preload(
    process: Process,
    paths: Iterator[str],
    *,
    best_effort: bool = False,
) -> Process:
    """Open libraries one after the other; one that fails ends the list, as in torch."""
    for path in paths:
        if not path and best_effort:
            continue
        if not path:
            break
        trial, opened = _try(process, path)
        if isinstance(opened, Reason):
            break
        process = trial
    return process


def _paths(
    tree: Tree, target: LoaderTarget, process: Process, libraries: tuple[tuple[str, str], ...]
) -> Iterator[str]:
    """Yield the file of each library, "" where there is none."""
    major = next((m[1] for one in process.objects if (m := re.search(_CUDART, one.path))), "")
    for folder, pattern in libraries:
        yield next(_matches(tree, target, (folder, f"cu{major}"), pattern), "")


# .../nvidia/cu13/lib/libcudart.so.13
_CUDART = r"/libcudart\.so\.(\d{1,3})"


def _matches(
    tree: Tree, target: LoaderTarget, folders: tuple[str, str], pattern: str
) -> Iterator[str]:
    for path in target.sys_path[:_MAX_PATHS]:
        component, toolkit = folders
        below = (f"nvidia/{component}/lib", f"nvidia/{toolkit}/lib", f"{component}/lib")
        for folder in (f"{path.rstrip('/')}/{one}" for one in below):
            names = tree.names(folder)
            yield from (f"{folder}/{n}" for n in names if fnmatch.fnmatchcase(n, pattern))


def _is_marked(tree: Tree, process: Process, marker: str) -> bool:
    if not marker:
        return False
    paths = [one.path for one in process.objects]
    return any(marker in path for path in paths) or any(marker in tree.real(p) for p in paths)


def _extension_path(tree: Tree, target: LoaderTarget) -> str:
    names = [n for n in tree.names(target.torch) if re.fullmatch(r"_C\.(?:[\w-]+\.)?so", n)]
    wanted = f"_C{target.extension_suffix}"
    name = wanted if wanted in names else next(iter(names), "")
    return f"{target.torch}/{name}" if name else ""
