"""The target's interpreter: ask it where it may be run, else read its files.

Starts one process, and only for a target that was named or is active.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import msgspec

from fadoctor.model.fact import printable
from fadoctor.model.typed import convert
from fadoctor.processes.command import Command, Result, child_environment, last_json_object
from fadoctor.processes.own_interpreter import path_of_start
from fadoctor.sources.probes.child import _fadoctor_interpreter
from fadoctor.sources.probes.interpreter_files import facts_of_files, is_folder, read_pyvenv
from fadoctor.sources.probes.windows_python import windows_python_facts
from fadoctor.sources.probes.world import absent, known, unknown

if TYPE_CHECKING:
    from collections.abc import Mapping

    from fadoctor.model.fact import Fact
    from fadoctor.sources.probes.world import Facts, World

TIMEOUT_S = 10.0
SCRIPT = Path(_fadoctor_interpreter.__file__)

OLDEST = (3, 8)
"""The oldest Python that the scripts that run inside an environment are written for."""

# Any Python from 2.4 on can run this; it says its version where SCRIPT is a syntax error.
_VERSION_CODE = "import sys; sys.stdout.write('\\nPython %d.%d.%d\\n' % sys.version_info[:3])"
_VERSION_LINE = r"(?m)^Python (\d{1,3}\.\d{1,3}\.\d{1,3})$"

Run = Callable[[Command], Result]

_MAX_FOLDERS = 200

_NAMES = (
    "version",
    "implementation",
    "tag",
    "abi_tag",
    "ext_suffix",
    "platform_tag",
    "free_threaded",
    "headers",
    "externally_managed",
)


class InterpreterAnswer(msgspec.Struct, frozen=True):
    """What an interpreter says about itself. Paths are absolute."""

    version: Annotated[str, msgspec.Meta(pattern=r"^\d{1,3}\.\d{1,3}\.\d{1,3}")]
    implementation: str
    tag: str
    abi_tag: str
    ext_suffix: str
    platform_tag: str
    free_threaded: bool
    executable: str
    prefix: str
    base_prefix: str
    headers: str
    """Path of Python.h; empty where it is not installed."""
    externally_managed: bool
    stdlib: str
    sys_path: tuple[str, ...]
    """Folders it imports from, in that order, those of the standard library among them."""

    def package_folders(self) -> tuple[str, ...]:
        """Return the folders of sys.path that are not the standard library's."""
        own = {self.stdlib, str(Path(self.stdlib) / "lib-dynload"), f"{self.base_prefix}\\DLLs"}
        folders = (f for f in self.sys_path if f not in own and Path(f).name != "lib-dynload")
        return tuple(f for f in folders if Path(f).is_absolute() and "\0" not in f)[:_MAX_FOLDERS]


class InterpreterProblem(msgspec.Struct, frozen=True):
    """Why an interpreter gave no usable answer, as one line without its name."""

    reason: str


class TooOld(InterpreterProblem, frozen=True):
    """An interpreter that works, and is older than what fadoctor examines."""


def refuse_old(version: str) -> TooOld | None:
    """Return the problem with a version, ``3.6.15``; None where it is new enough, or unclear."""
    numbers = tuple(int(number) for number in re.findall(r"\d{1,3}", version)[:2])
    if len(numbers) < len(OLDEST) or numbers >= OLDEST:
        return None
    oldest = ".".join(str(number) for number in OLDEST)
    return TooOld(printable(f"Python {version}; fadoctor examines Python {oldest} and newer", 120))


def ask_interpreter(
    python: str, run: Run, environ: Mapping[str, str], timeout_s: float = TIMEOUT_S
) -> InterpreterAnswer | InterpreterProblem:
    """Return what an interpreter says about itself: it is run once, where it is not our own."""
    path = path_of_start(python, environ)
    if path is not None:
        return _understood(_fadoctor_interpreter.answer(list(path)))
    # -B: looking at an environment leaves no compiled files in it. Not -I: PYTHONPATH and the user
    # site belong to it. macOS hands __PYVENV_LAUNCHER__ down, which would make it another Python.
    env = child_environment(environ, __PYVENV_LAUNCHER__=None)
    result = run(Command((python, "-B", str(SCRIPT)), timeout_s, env))
    if not result.ok:
        old = _old_version(python, run, env, timeout_s) if result.code else None
        return old or InterpreterProblem(printable(result.describe()))
    answer = last_json_object(result.stdout)
    if answer is None:
        return InterpreterProblem("printed no answer" + _excerpt(result))
    return _understood(answer)


def _understood(answer: Mapping[str, object]) -> InterpreterAnswer | InterpreterProblem:
    if not answer.get("ok"):
        return InterpreterProblem(printable(f"could not describe itself: {answer.get('error')}"))
    try:
        found = convert(answer, InterpreterAnswer)
    except msgspec.ValidationError as error:
        return InterpreterProblem(printable(f"gave an answer that cannot be understood: {error}"))
    return refuse_old(found.version) or found


def _old_version(python: str, run: Run, env: dict[str, str], timeout_s: float) -> TooOld | None:
    """Ask an interpreter that does not understand the script for its version alone."""
    result = run(Command((python, "-B", "-c", _VERSION_CODE), timeout_s, env))
    found = re.findall(_VERSION_LINE, result.stdout) if result.ok else []
    return refuse_old(found[-1]) if found else None


def _excerpt(result: Result) -> str:
    last = result.stdout.strip().splitlines()[-1:]
    return printable(f"; its output ends with: {last[0]}", 120) if last else ""


def probe(
    world: World,
    facts: Mapping[str, Fact],  # noqa: ARG001 -- every probe takes it
    timeout_s: float = TIMEOUT_S,
) -> Facts:
    """Return every ``python.*`` fact."""
    target = world.target
    found = {"python.installer": _installer(world)}
    if target.python and target.may_run:
        answer = ask_interpreter(target.python, world.run, world.environ, timeout_s)
        if isinstance(answer, InterpreterAnswer):
            return found | _facts_of(answer, world) | _on_windows(world)
        reason = f"the interpreter {answer.reason}"
    elif target.python:
        reason = "the interpreter was not run: it was found, not named; name it with --python"
    else:
        reason = "no interpreter was given; name one with --python"
    source = world.name(target.python or target.label)
    rest = {f"python.{name}": unknown(reason, source) for name in _NAMES}
    return rest | found | facts_of_files(world) | windows_python_facts(world)


def _on_windows(world: World) -> Facts:
    """Return what files tell beside the interpreter's answer, which knows where Python.h is."""
    facts = windows_python_facts(world)
    return {name: fact for name, fact in facts.items() if name != "python.headers"}


def _facts_of(answer: InterpreterAnswer, world: World) -> Facts:
    source = f"{world.name(world.target.python or answer.executable)}: sysconfig"
    texts = {
        "version": answer.version,
        "implementation": answer.implementation,
        "tag": answer.tag,
        "abi_tag": answer.abi_tag,
        "ext_suffix": answer.ext_suffix,
        "platform_tag": answer.platform_tag,
    }
    facts: Facts = {f"python.{name}": known(text, source) for name, text in texts.items()}
    facts["python.free_threaded"] = known(answer.free_threaded, source)
    facts["python.externally_managed"] = known(answer.externally_managed, source)
    facts["python.headers"] = (
        known(world.name(answer.headers), source)
        if answer.headers
        else absent(f"{source}: no Python.h in its include folder")
    )
    return facts


def _installer(world: World) -> Fact:
    """Return what made the environment, from its files."""
    prefix = world.target.roots.get("prefix")
    if not prefix:
        return unknown("the tree has no prefix", world.name(world.target.label))
    if is_folder(Path(prefix) / "conda-meta"):
        return known("conda", "$prefix/conda-meta")
    config = read_pyvenv(prefix)
    if config is not None:
        maker = next((name for name in ("uv", "virtualenv") if name in config), "venv")
        return known(maker, "$prefix/pyvenv.cfg")
    if world.target.python:
        return known("system", "no pyvenv.cfg and no conda-meta in $prefix")
    return unknown("neither pyvenv.cfg nor conda-meta is there", "$prefix")
