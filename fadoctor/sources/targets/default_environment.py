"""Choose the environment that is meant where none is named, and say why that one.

Order: the active virtual environment, the active conda environment unless it is base, the nearest
``.venv`` upwards, the ``python`` on PATH, the interpreter that runs fadoctor where it holds a
package of the stack. Environments of isolated tools (uv tool, uvx, pipx) are passed over: nobody
wants to know about fadoctor's own. One that was only found by walking upwards is never run: a
cloned repository may bring a hostile one.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from itertools import islice
from pathlib import Path

import msgspec

from fadoctor.model.errors import TargetError
from fadoctor.model.fact import printable
from fadoctor.sources.probes.interpreter import InterpreterAnswer, Run, ask_interpreter
from fadoctor.sources.probes.interpreter_files import is_file, is_folder
from fadoctor.sources.targets.layout import (
    find_python,
    is_conda_base,
    is_environment,
    is_tool_environment,
    prefix_of_python,
    same_folder,
    site_folders,
)
from fadoctor.sources.targets.on_path import pythons_on_path
from fadoctor.sources.targets.shims import is_shim
from fadoctor.sources.targets.stack import holds_stack

HINT = "name an environment with --python PATH (an interpreter or an environment's folder)"

_MAX_ASKED = 8
"""Interpreters on PATH that are looked at, at most."""


class Own(msgspec.Struct, frozen=True):
    """The interpreter that runs fadoctor."""

    executable: str
    prefix: str
    base_prefix: str
    version: str
    path: tuple[str, ...] = ()
    """Folders that it imports from."""


class Scene(msgspec.Struct, frozen=True):
    """What discovery looks at."""

    environ: Mapping[str, str]
    cwd: Path
    own: Own
    run: Run
    reads_only: bool = False
    """Whether no interpreter of an environment is run."""

    @property
    def home(self) -> str:
        """The user's home, "" where nothing says."""
        return self.environ.get("HOME") or self.environ.get("USERPROFILE") or ""


class ChosenEnvironment(msgspec.Struct, frozen=True):
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
    path = tuple(folder for folder in sys.path if folder)
    return Own(sys.executable or "", sys.prefix, sys.base_prefix, version, path)


def choose_unnamed(scene: Scene) -> ChosenEnvironment:
    """Return the environment that is meant; TargetError with what was passed over if none is."""
    notes: list[str] = []
    chosen = _active(scene, "VIRTUAL_ENV", notes)
    nearest = _nearest(scene)
    if chosen and nearest and not same_folder(chosen.prefix, nearest.prefix):
        notes.append(
            f"$VIRTUAL_ENV is {chosen.prefix}, but the nearest .venv is {nearest.prefix}: "
            "the first is examined; name the other with --python"
        )
    chosen = chosen or _active(scene, "CONDA_PREFIX", notes) or nearest
    chosen = chosen or _on_path(scene, notes) or _own(scene)
    if chosen is None:
        raise TargetError(_nothing_left(scene, notes))
    told = (*notes, *chosen.notes)
    return msgspec.structs.replace(chosen, notes=tuple(printable(note, 500) for note in told))


def _active(scene: Scene, variable: str, notes: list[str]) -> ChosenEnvironment | None:
    """Return the environment that a variable names; a stale one is noted and passed over."""
    text = scene.environ.get(variable)
    if not text:
        return None
    prefix = absolute(scene, text)
    if is_tool_environment(prefix) or (variable == "CONDA_PREFIX" and is_conda_base(prefix)):
        return None
    if not is_environment(prefix):
        what = "is not an environment" if is_folder(prefix) else "does not exist"
        notes.append(f"${variable} names {prefix}, which {what}: it was skipped")
        return None
    python = find_python(prefix)
    if python is None:
        notes.append(f"the interpreter of {prefix} is gone: only its files were read")
    return ChosenEnvironment(prefix, python, f"${variable}", str(prefix), python is not None)


def _nearest(scene: Scene) -> ChosenEnvironment | None:
    for folder in (scene.cwd, *scene.cwd.parents):
        prefix = folder / ".venv"
        if is_file(prefix / "pyvenv.cfg") and not is_tool_environment(prefix):
            # What runs fadoctor has run already: asking it again is no new risk.
            ours = same_folder(prefix, Path(scene.own.prefix))
            python, reason = find_python(prefix), f".venv found in {folder}"
            return ChosenEnvironment(prefix, python, printable(reason), str(prefix), ours)
    return None


def _on_path(scene: Scene, notes: list[str]) -> ChosenEnvironment | None:
    """Return what typing ``python`` would run; fadoctor's own only where it holds the stack."""
    for python in islice(pythons_on_path(scene.environ), _MAX_ASKED):
        reason = f"{python.name} on PATH"
        prefix = prefix_of_python(python)
        choice = ChosenEnvironment(prefix, python, reason, str(python)) if prefix else None
        if choice is None:
            answer = ask_interpreter(str(python), scene.run, scene.environ)
            if not isinstance(answer, InterpreterAnswer):
                notes.append(f"{python} on PATH was skipped: {answer.reason}")
                continue
            choice = program(python, reason, answer)
        if same_folder(choice.prefix, Path(scene.own.prefix)):
            own = _own(scene)
            if own is not None:
                return own
        elif not is_tool_environment(choice.prefix):
            return choice
    return None


def _own(scene: Scene) -> ChosenEnvironment | None:
    own = scene.own
    if is_tool_environment(own.prefix) or not _holds_stack(scene):
        return None
    python = Path(own.executable) if own.executable else None
    label = own.executable if own.prefix == own.base_prefix and own.executable else own.prefix
    reason = "the interpreter that runs fadoctor"
    return ChosenEnvironment(Path(own.prefix), python, reason, label, python is not None)


def _holds_stack(scene: Scene) -> bool:
    """Return whether fadoctor's own environment, or what it sees of the system's, has the stack."""
    return holds_stack((*site_folders(Path(scene.own.prefix), scene.home), *scene.own.path))


def _nothing_left(scene: Scene, notes: list[str]) -> str:
    why = [
        "no environment to examine: none is active",
        f"no .venv was found upwards from {scene.cwd}",
        "there is no other python on PATH",
        "fadoctor's own environment has no package of the stack",
        *notes,
    ]
    return printable(f"{'; '.join(why)}. Activate one, or {HINT}", 800)


def program(path: Path, reason: str, answer: InterpreterAnswer) -> ChosenEnvironment:
    """Return an interpreter outside of an environment; of a shim what it stands for."""
    choice = ChosenEnvironment(Path(answer.prefix), path, reason, str(path))
    if is_shim(path) and is_file(answer.executable):
        # Another folder, or another variable, and it would stand for another one.
        real = Path(answer.executable)
        note = printable(f"{path} is a pyenv shim; the real interpreter is {real}", 500)
        choice = ChosenEnvironment(choice.prefix, real, reason, str(real), notes=(note,))
    return choice


def absolute(scene: Scene, text: str) -> Path:
    """Return a path as seen from the working folder, links as they were named."""
    return Path(os.path.abspath(scene.cwd / text))  # noqa: PTH100 -- it follows none
