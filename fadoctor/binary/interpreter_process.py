"""The process of an interpreter before it imports anything: its libraries and what is preloaded."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING

import msgspec

from fadoctor.binary.capability_folders import LOADER_LIMIT
from fadoctor.binary.check import version_problems
from fadoctor.binary.elf import Elf
from fadoctor.binary.errors import BadBinaryError
from fadoctor.binary.header import Header, read_header
from fadoctor.binary.loader import File, LoadedFiles, Process
from fadoctor.binary.processor import (
    CPUINFO,
    CPUINFO_LIMIT,
    Processor,
    possible_processors,
    read_processor,
)
from fadoctor.binary.reason import Reason, ReasonKind
from fadoctor.binary.search import FoundBy, Search, SearchPath, SearchSurroundings

if TYPE_CHECKING:
    from fadoctor.binary.files import Tree

LD_SO_PRELOAD = "/etc/ld.so.preload"
_PRELOAD_LIMIT = 64 << 10
_MAX_PRELOADS = 100


class LoaderTarget(msgspec.Struct, frozen=True):
    """The interpreter whose loader is modelled. Paths are as a process below `root` sees them."""

    executable: str
    """The interpreter, links allowed; empty where it is not known."""
    torch: str = ""
    """The folder of the package torch; empty where there is none."""
    sys_path: tuple[str, ...] = ()
    """Folders that are imported from, in that order."""
    environ: Mapping[str, str] = {}
    """Only LD_LIBRARY_PATH and LD_PRELOAD are looked at."""
    root: str = "/"
    """Where the file system of the target is."""
    extension_suffix: str = ""
    """``.cpython-311-x86_64-linux-gnu.so``: which ``torch/_C`` is taken where there are several."""
    working_folder: str = ""
    """Relative folders of search paths are left out where it is not known."""
    processor: Processor | None = None
    """Taken instead of what /proc/cpuinfo below the root says."""


class Started(msgspec.Struct, frozen=True):
    """A process, and what ends it before Python runs."""

    process: Process
    problem: Reason | None
    is_processor_known: bool = True


def start_process(tree: Tree, target: LoaderTarget) -> Started | Reason:
    """Return the process of an interpreter, or why there can be no model of it."""
    if not target.executable:
        return Reason(ReasonKind.INTERPRETER_UNKNOWN, "", detail="no interpreter was named")
    try:
        path = tree.resolve(target.executable)
        reader = tree.open(path)
        header = read_header(reader)
        if not isinstance(header, Header):
            return _not_understood(path, header.kind, header.detail)
        elf = Elf(reader, header)
    except (OSError, ValueError, BadBinaryError) as error:
        return Reason(ReasonKind.INTERPRETER_UNKNOWN, target.executable, detail=str(error))
    if "ld-musl" in elf.interpreter:
        return Reason(ReasonKind.MUSL, path, elf.interpreter)
    if not elf.interpreter:
        return Reason(ReasonKind.INTERPRETER_UNKNOWN, path, detail="it is linked statically")
    return _start(tree, target, File(elf), path)


def _not_understood(path: str, kind: ReasonKind, detail: str) -> Reason:
    if kind is ReasonKind.FOREIGN_MACHINE:
        words = "only 64-bit little-endian x86-64 and aarch64 are known"
        return Reason(ReasonKind.MACHINE_UNKNOWN, path, detail=words)
    return Reason(ReasonKind.INTERPRETER_UNKNOWN, path, detail=detail)


def _start(tree: Tree, target: LoaderTarget, file: File, path: str) -> Started:
    machine = file.elf.machine
    known = target.processor or read_processor(tree.read(CPUINFO, CPUINFO_LIMIT), machine)
    around = SearchSurroundings(
        machine=machine,
        executable_folder=path.rpartition("/")[0] or "/",
        library_path=target.environ.get("LD_LIBRARY_PATH", ""),
        working_folder=target.working_folder,
        processor=known or possible_processors(machine)[0],
        loader=tree.read(file.elf.interpreter, LOADER_LIMIT),
    )
    process = Process(LoadedFiles(tree, around.machine), Search(tree, around))
    main = process.add(file, SearchPath(path, FoundBy.EXECUTABLE), None)
    loader = process.files.open(file.elf.interpreter)
    if isinstance(loader, File):
        process.add(loader, SearchPath(file.elf.interpreter, FoundBy.INTERPRETER), None)
    roots = [main]
    for name in _preloads(tree, target):
        roots += process.preload(name)
    closure, problems = process.close(roots)
    process.make_global(closure)
    process.at_start = len(process.objects)
    problems += version_problems(process, closure)
    return Started(process, problems[0] if problems else None, known is not None)


def _preloads(tree: Tree, target: LoaderTarget) -> list[str]:
    """Return the names in LD_PRELOAD and /etc/ld.so.preload."""
    text = tree.read(LD_SO_PRELOAD, _PRELOAD_LIMIT).decode("utf-8", "surrogateescape")
    text = re.sub(r"#[^\n]*", "", text)
    names = re.split(r"[ :]+", target.environ.get("LD_PRELOAD", "")) + re.split(r"[\s:]+", text)
    return [name for name in names if name][:_MAX_PRELOADS]
