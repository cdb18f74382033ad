"""Build tools: every CUDA toolkit, the host compilers, ninja, and the ptxas that Triton uses.

Versions are read from files where these tell them. The remaining programs are started side by
side, each with a time limit, and never out of the environment that is examined.
"""

from __future__ import annotations

import re
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from fadoctor.processes.beside import beside
from fadoctor.processes.command import Command, Result
from fadoctor.sources.probes.toolkit_files import (
    Tool,
    find_nvccs,
    find_on_path,
    find_ptxas,
    find_target_ninja,
    is_foreign,
    nvcc_of_build,
    nvcc_version,
    real_name,
    version_from_packages,
    version_in_conda,
)
from fadoctor.sources.probes.windows_host import msvc_facts
from fadoctor.sources.probes.world import absent, known, unknown

if TYPE_CHECKING:
    from collections.abc import Mapping

    from fadoctor.model.fact import Fact
    from fadoctor.sources.probes.world import Facts, World

TIMEOUT_S = 5.0

_OUTPUT_LIMIT = 65_536
_LAUNCHERS = {"ccache", "sccache", "distcc", "icecc"}

# Cuda compilation tools, release 12.4, V12.4.131
_NVCC_LINE = re.compile(r"^Cuda compilation tools, release (\d{1,3}\.\d{1,3}),", re.MULTILINE)
# 12.2.0
_GCC_LINE = re.compile(r"^(\d{1,3}(?:\.\d{1,3}){0,2})\s*$", re.MULTILINE)
# 1.11.1, 1.11.1.git.kitware.jobserver-1
_NINJA_LINE = re.compile(r"^(\d{1,3}(?:\.\d{1,3}){1,2})", re.MULTILINE)


class _Question(msgspec.Struct, frozen=True):
    """A version that only running the program can tell."""

    path: str
    arguments: tuple[str, ...]
    pattern: re.Pattern[str]


_Answerable = dict[str, "Fact | _Question"]


def probe(world: World, facts: Mapping[str, Fact], timeout_s: float = TIMEOUT_S) -> Facts:
    """Return every ``toolkit.*`` fact. Needs the facts of the packages probe."""
    found: _Answerable = {}
    found |= _toolkits(world, facts)
    found |= _compiler(world, "gcc", "CC", "gcc")
    found |= _compiler(world, "gxx", "CXX", "g++")
    found |= _ninja(world, facts)
    found |= _ptxas(world)
    found |= msvc_facts(world)
    answers = _run_all(world, found, timeout_s)
    return {
        name: _version_of(world, what, answers) if isinstance(what, _Question) else what
        for name, what in found.items()
    }


def _toolkits(world: World, facts: Mapping[str, Fact]) -> _Answerable:
    nvccs = find_nvccs(world)
    found: _Answerable = {
        "toolkit.count": known(len(nvccs), "CUDA_HOME, PATH, /usr/local/cuda*, conda, wheels")
    }
    versions: dict[str, Fact | _Question] = {}
    for index, nvcc in enumerate(nvccs):
        versions[nvcc.path] = _nvcc_version(world, nvcc, facts)
        found[f"toolkit[{index}].version"] = versions[nvcc.path]
        found[f"toolkit[{index}].nvcc"] = known(world.name(nvcc.path), nvcc.origin)
        found[f"toolkit[{index}].origin"] = known(nvcc.origin, world.name(nvcc.path))
    build = nvcc_of_build(world)
    if build.path:
        version = versions.get(build.path) or _nvcc_version(world, build, facts)
        path: Fact = known(world.name(build.path), build.origin)
    else:
        version = path = absent(build.origin)
    return found | {"toolkit.nvcc.path": path, "toolkit.nvcc.version": version}


def _nvcc_version(world: World, nvcc: Tool, facts: Mapping[str, Fact]) -> Fact | _Question:
    stated = nvcc_version(world, nvcc, facts)
    return stated or _Question(nvcc.path, ("--version",), _NVCC_LINE)


def _compiler(world: World, name: str, variable: str, program: str) -> _Answerable:
    """Return version and path of a compiler: the one a variable names, else the first on PATH."""
    stated = world.environ.get(variable, "").split()
    words = [word for word in stated if Path(word).name not in _LAUNCHERS] or [program]
    origin = f"${variable}" if stated else "PATH"
    path = find_on_path(world, words[0])
    if not path:
        missing = absent(f"{words[0]} ({origin}) is not there")
        return {f"toolkit.{name}.path": missing, f"toolkit.{name}.version": missing}
    return {
        f"toolkit.{name}.path": known(world.name(path), origin),
        f"toolkit.{name}.version": _own_version(world, name, path)
        or _compiler_version(world, path),
    }


def _own_version(world: World, name: str, path: str) -> Fact | None:
    """Return the version of a compiler that conda put into the target."""
    return version_in_conda(world, name) if is_foreign(world, path) else None


def _compiler_version(world: World, path: str) -> Fact | _Question:
    if world.os == "macos" and path.startswith("/usr/bin/"):
        return unknown("on macOS it is Apple's clang, or only asks to install it", path)
    real = real_name(world, path)
    names = (Path(path).name, real)
    other = next((n for n in names if re.search(r"clang|nvc|icx|icpx|icpc|zig|hipcc", n)), "")
    if other:
        return unknown(f"it is {other}, not gcc", world.name(path))
    # x86_64-linux-gnu-gcc-12: the major version, which is what decides
    match = re.fullmatch(r"(?:.*-)?(?:gcc|g\+\+)-(\d{1,3}(?:\.\d{1,3}){0,2})", real)
    if match:
        return known(match[1], f"{world.name(path)} leads to {real}")
    return _Question(path, ("-dumpfullversion", "-dumpversion"), _GCC_LINE)


def _ninja(world: World, facts: Mapping[str, Fact]) -> _Answerable:
    """Return ninja's version: the target's own first, as its activation puts it first on PATH."""
    path = find_target_ninja(world)
    stated = version_from_packages(facts, "packages.installed", "ninja") if path else None
    stated = stated or (version_in_conda(world, "ninja") if path else None)
    path = path or find_on_path(world, "ninja")
    if not path:
        return {"toolkit.ninja.version": absent("ninja is neither in the target nor on PATH")}
    question = _Question(path, ("--version",), _NINJA_LINE)
    return {"toolkit.ninja.version": stated or question}


def _ptxas(world: World) -> _Answerable:
    ptxas = find_ptxas(world)
    if not ptxas.path:
        missing = absent(ptxas.origin)
        return {"toolkit.ptxas.path": missing, "toolkit.ptxas.version": missing}
    reason = "ptxas was not run, and no file beside it tells its version"
    version = nvcc_version(world, ptxas, {}) or unknown(reason, world.name(ptxas.path))
    path = known(world.name(ptxas.path), ptxas.origin)
    return {"toolkit.ptxas.path": path, "toolkit.ptxas.version": version}


def _run_all(world: World, found: _Answerable, timeout_s: float) -> dict[_Question, Result]:
    """Ask every program once, all at the same time."""
    questions = {what for what in found.values() if isinstance(what, _Question)}
    answers: dict[_Question, Result] = {}

    def ask(question: _Question) -> None:
        argv = (question.path, *question.arguments)
        env = dict(world.environ)
        answers[question] = world.run(Command(argv, timeout_s, env, output_limit=_OUTPUT_LIMIT))

    allowed = [question for question in questions if not is_foreign(world, question.path)]
    for wait in [beside(partial(ask, question)) for question in allowed]:
        wait()
    return answers


def _version_of(world: World, question: _Question, answers: Mapping[_Question, Result]) -> Fact:
    name = world.name(question.path)
    result = answers.get(question)
    if result is None:
        reason = "it was not run: it is in the examined environment"
        return unknown(reason, name)
    source = f"{name} {' '.join(question.arguments)}"
    if not result.ok:
        return unknown(f"it {result.describe()}", source)
    match = question.pattern.search(result.stdout)
    if match is None:
        return unknown("its output names no version", source)
    return known(match[1], f"{source}: {match[0].strip()}")
