"""Choose the environment that is examined.

Order: the one that is named, the active virtual environment, the active conda environment unless it
is base, the nearest ``.venv`` upwards, the interpreter that runs fadoctor. Environments of isolated
tools (uv tool, uvx, pipx) are passed over: nobody wants to know about fadoctor's own. One that was
only found by walking upwards is never run: a cloned repository may bring a hostile one.
"""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Mapping
from pathlib import Path

import msgspec

from fadoctor.model.environment import Target
from fadoctor.model.errors import TargetError
from fadoctor.model.fact import printable
from fadoctor.probes.interpreter import (
    InterpreterAnswer,
    Run,
    TooOld,
    ask_interpreter,
    refuse_old,
)
from fadoctor.probes.interpreter_files import is_file, is_folder
from fadoctor.processes.run import run as run_command
from fadoctor.targets.layout import (
    find_python,
    is_conda_base,
    is_environment,
    is_tool_environment,
    prefix_of_python,
    require_present,
    require_readable,
    same_folder,
    site_folders,
    stated_version,
)
from fadoctor.targets.shims import explain_shim, is_shim

HINT = "name an environment with --python PATH (an interpreter or an environment's folder)"


class TargetRequest(msgspec.Struct, frozen=True):
    """What the command line says about the target; empty where it says nothing."""

    python: str = ""
    site_packages: str = ""


class Own(msgspec.Struct, frozen=True):
    """The interpreter that runs fadoctor."""

    executable: str
    prefix: str
    base_prefix: str
    version: str


class _Scene(msgspec.Struct, frozen=True):
    """What discovery looks at."""

    environ: Mapping[str, str]
    cwd: Path
    own: Own
    run: Run

    @property
    def home(self) -> str:
        return self.environ.get("HOME") or self.environ.get("USERPROFILE") or ""


class _Choice(msgspec.Struct, frozen=True):
    """An environment that was chosen, before its interpreter is asked."""

    prefix: Path
    python: Path | None
    reason: str
    label: str
    may_run: bool = True
    notes: tuple[str, ...] = ()


def own_interpreter() -> Own:
    """Return the interpreter that runs this program."""
    version = ".".join(str(part) for part in sys.version_info[:3])
    return Own(sys.executable or "", sys.prefix, sys.base_prefix, version)


def discover(
    request: TargetRequest,
    environ: Mapping[str, str],
    cwd: Path,
    own: Own,
    run: Run = run_command,
) -> Target:
    """Return the target; TargetError where what was named cannot be examined or nothing is left.

    Asks the chosen interpreter where its packages are, unless it was only found. Hand in
    `run.remember(run)`, and the same to the probes, and it is asked once.
    """
    scene = _Scene(environ, cwd, own, run)
    if request.python and request.site_packages:
        raise TargetError("--python and --site-packages exclude each other: name one target")
    if request.site_packages:
        return _package_tree(scene, request.site_packages)
    if request.python:
        return _named(scene, request.python, "--python")
    if environ.get("FADOCTOR_PYTHON"):
        return _named(scene, environ["FADOCTOR_PYTHON"], "FADOCTOR_PYTHON")
    return _asked(scene, _unnamed(scene))


def _package_tree(scene: _Scene, text: str) -> Target:
    folder, name = _absolute(scene, text), f"--site-packages {text}"
    require_present(folder, name)
    if not is_folder(folder):
        raise TargetError(printable(f"{name}: not a folder"))
    require_readable(folder, name)
    if is_environment(folder):
        raise TargetError(printable(f"{name}: an environment, not its packages; use --python"))
    parts = folder.parts[-3:]
    # lib/python3.11/site-packages (or dist-packages, or python3): the prefix is above lib
    inside = len(parts) == 3 and parts[0] in {"lib", "lib64"} and parts[1].startswith("py")
    prefix = folder.parents[2] if inside else None
    roots = _roots(scene, prefix, (str(folder),))
    return Target("site-packages", str(folder), "--site-packages", None, (str(folder),), roots)


def _named(scene: _Scene, text: str, reason: str) -> Target:
    """Examine what was named, or say what is wrong with it: never another environment."""
    path, name = _place(scene, text), f"{reason} {text}"
    require_present(path, name)
    if is_folder(path):
        return _asked(scene, _named_folder(path, name, reason))
    if not os.access(path, os.X_OK):
        raise TargetError(printable(f"{name}: not an interpreter: it is not executable"))
    prefix = prefix_of_python(path)
    if prefix is not None:
        return _asked(scene, _Choice(prefix, path, reason, str(path)))
    return _named_program(scene, path, name, reason)


def _named_folder(path: Path, name: str, reason: str) -> _Choice:
    require_readable(path, name)
    if not is_environment(path):
        raise TargetError(printable(f"{name}: not an environment: no pyvenv.cfg, no conda-meta"))
    python = find_python(path)
    if python is None:
        raise TargetError(
            printable(f"{name}: its interpreter is gone (bin/python is missing or a broken link)")
        )
    return _Choice(path, python, reason, str(path))


def _named_program(scene: _Scene, path: Path, name: str, reason: str) -> Target:
    """Examine the installation of an interpreter outside of an environment: only it knows where."""
    answer = ask_interpreter(str(path), scene.run, scene.environ)
    if isinstance(answer, TooOld):
        raise TargetError(printable(f"{name}: {answer.reason}"))
    if not isinstance(answer, InterpreterAnswer):
        what = f"not a Python interpreter that works: {answer.reason}"
        raise TargetError(
            printable(f"{name}: {explain_shim(path) if is_shim(path) else what}", 400)
        )
    choice = _Choice(Path(answer.prefix), path, reason, str(path))
    if is_shim(path) and is_file(answer.executable):
        # Another folder, or another variable, and it would stand for another one.
        real = Path(answer.executable)
        note = printable(f"{path} is a shim of pyenv: it stands for {real}", 500)
        choice = _Choice(choice.prefix, real, reason, str(real), notes=(note,))
    return _target(scene, choice, answer)


def _unnamed(scene: _Scene) -> _Choice:
    notes: list[str] = []
    chosen = _active(scene, "VIRTUAL_ENV", notes)
    nearest = _nearest(scene)
    if chosen and nearest and not same_folder(chosen.prefix, nearest.prefix):
        notes.append(
            f"$VIRTUAL_ENV is {chosen.prefix}, but the nearest .venv is {nearest.prefix}: "
            "the first is examined; name the other with --python"
        )
    chosen = chosen or _active(scene, "CONDA_PREFIX", notes) or nearest or _own(scene)
    if chosen is None:
        raise TargetError(_nothing_left(scene, notes))
    return msgspec.structs.replace(chosen, notes=tuple(printable(note, 500) for note in notes))


def _active(scene: _Scene, variable: str, notes: list[str]) -> _Choice | None:
    """Return the environment that a variable names; a stale one is noted and passed over."""
    text = scene.environ.get(variable)
    if not text:
        return None
    prefix = _absolute(scene, text)
    if is_tool_environment(prefix) or (variable == "CONDA_PREFIX" and is_conda_base(prefix)):
        return None
    if not is_environment(prefix):
        what = "is not an environment" if is_folder(prefix) else "does not exist"
        notes.append(f"${variable} names {prefix}, which {what}: it was passed over")
        return None
    python = find_python(prefix)
    if python is None:
        notes.append(f"the interpreter of {prefix} is gone: only its files were read")
    return _Choice(prefix, python, f"${variable}", str(prefix), python is not None)


def _nearest(scene: _Scene) -> _Choice | None:
    for folder in (scene.cwd, *scene.cwd.parents):
        prefix = folder / ".venv"
        if is_file(prefix / "pyvenv.cfg") and not is_tool_environment(prefix):
            # What runs fadoctor has run already: asking it again is no new risk.
            ours = same_folder(prefix, Path(scene.own.prefix))
            python, reason = find_python(prefix), f".venv found in {folder}"
            return _Choice(prefix, python, printable(reason), str(prefix), ours)
    return None


def _own(scene: _Scene) -> _Choice | None:
    own = scene.own
    if is_tool_environment(own.prefix):
        return None
    python = Path(own.executable) if own.executable else None
    label = own.executable if own.prefix == own.base_prefix and own.executable else own.prefix
    reason = "the interpreter that runs fadoctor"
    return _Choice(Path(own.prefix), python, reason, label, python is not None)


def _nothing_left(scene: _Scene, notes: list[str]) -> str:
    why = [
        "no environment to examine: fadoctor itself runs in an isolated tool's environment",
        "none is active",
        f"no .venv was found upwards from {scene.cwd}",
        *notes,
    ]
    return printable(f"{'; '.join(why)}. Activate one, or {HINT}", 800)


def _asked(scene: _Scene, choice: _Choice) -> Target:
    """Return the target with the folders that its interpreter states, else those of its files."""
    if choice.python is None or not choice.may_run:
        _refuse_old(choice, refuse_old(stated_version(choice.prefix)))
        return _target(scene, choice, None)
    answer = ask_interpreter(str(choice.python), scene.run, scene.environ)
    _refuse_old(choice, answer)
    if isinstance(answer, InterpreterAnswer):
        return _target(scene, choice, answer)
    note = printable(f"the interpreter {answer.reason}: its folders were read from files", 500)
    return _target(scene, msgspec.structs.replace(choice, notes=(*choice.notes, note)), None)


def _refuse_old(choice: _Choice, problem: object) -> None:
    if isinstance(problem, TooOld):
        raise TargetError(printable(f"{choice.label} ({choice.reason}): {problem.reason}", 500))


def _target(scene: _Scene, choice: _Choice, answer: InterpreterAnswer | None) -> Target:
    notes = list(choice.notes)
    stated = answer.package_folders() if answer else ()
    site = tuple(f for f in stated if is_folder(f)) or site_folders(choice.prefix, scene.home)
    if answer and not same_folder(choice.prefix, Path(answer.prefix)):
        notes.append(printable(f"its interpreter belongs to another prefix, {answer.prefix}", 500))
    if not site:
        notes.append("no folder with packages was found in it")
    return Target(
        "environment",
        choice.label,
        choice.reason,
        str(choice.python) if choice.python else None,
        site,
        _roots(scene, choice.prefix, site),
        choice.may_run,
        tuple(notes),
    )


def _roots(scene: _Scene, prefix: Path | None, site: tuple[str, ...]) -> dict[str, str]:
    """Return the named roots; ``/`` is none: every path would lie below it."""
    # PYTHONPATH comes first on sys.path, but is not the environment's own folder.
    usual = (f for f in site if Path(f).name in {"site-packages", "dist-packages"})
    first = next(usual, site[0] if site else "")
    roots = {"prefix": str(prefix) if prefix else "", "site": first, "home": scene.home}
    return {name: folder for name, folder in roots.items() if len(folder) > 1}


def _place(scene: _Scene, text: str) -> Path:
    """Return where a named target is: a path, else a program of that name on PATH."""
    path = _absolute(scene, text)
    if os.path.basename(text) != text or os.path.lexists(path):  # noqa: PTH119 -- text, no path yet
        return path
    found = shutil.which(text, path=scene.environ.get("PATH", ""))
    return _absolute(scene, found) if found else path


def _absolute(scene: _Scene, text: str) -> Path:
    return Path(os.path.abspath(scene.cwd / text))  # noqa: PTH100 -- links stay as they were named
