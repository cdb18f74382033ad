"""Find the environment that is examined: the one that is named, else the one that is meant."""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from fadoctor.model.environment import Target
from fadoctor.model.errors import TargetError
from fadoctor.model.fact import printable
from fadoctor.processes.run import run as run_command
from fadoctor.sources.probes.interpreter import (
    InterpreterAnswer,
    Run,
    TooOld,
    ask_interpreter,
    refuse_old,
)
from fadoctor.sources.probes.interpreter_files import is_folder
from fadoctor.sources.targets.default_environment import (
    ChosenEnvironment,
    Own,
    Scene,
    absolute,
    choose_unnamed,
    program,
)
from fadoctor.sources.targets.layout import (
    find_python,
    is_environment,
    prefix_of_python,
    require_present,
    require_readable,
    same_folder,
    site_folders,
    stated_version,
    unique_folders,
)
from fadoctor.sources.targets.programs import environments_below, programs_below
from fadoctor.sources.targets.shims import explain_shim, is_shim

if TYPE_CHECKING:
    from collections.abc import Mapping


_VARIABLE = "FADOCTOR_PYTHON"
"""By which a user names a target once and for all."""

_ENTRIES = 200
"""Folders of PYTHONPATH that are looked at."""

_PROGRAMS_TOLD = 5


class TargetRequest(msgspec.Struct, frozen=True):
    """What the command line says about the target; empty where it says nothing."""

    python: str = ""
    site_packages: str = ""
    reason: str = "--python"
    """Who named `python`."""
    meant: str = ""
    """What a project's settings name, where nobody names another."""
    meant_reason: str = ""
    reads_only: bool = False
    """Whether no interpreter of an environment is run, also of one that is named or active."""


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
    scene = Scene(environ, cwd, own, run, request.reads_only)
    if request.python and request.site_packages:
        raise TargetError("--python and --site-packages exclude each other: name one target")
    if request.site_packages:
        return _package_tree(scene, request.site_packages)
    if request.python:
        return _named(scene, request.python, request.reason)
    if environ.get(_VARIABLE):
        return _named(scene, environ[_VARIABLE], _VARIABLE)
    if request.meant:
        return _asked(scene, _meant(scene, request.meant, request.meant_reason))
    return _asked(scene, choose_unnamed(scene))


def _package_tree(scene: Scene, text: str) -> Target:
    folder, name = absolute(scene, text), f"--site-packages {text}"
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


def _named(scene: Scene, text: str, reason: str) -> Target:
    """Examine what was named, or say what is wrong with it: never another environment."""
    path, name = _place(scene, text), f"{reason} {text}"
    require_present(path, name)
    if is_folder(path):
        return _asked(scene, _named_folder(path, name, reason))
    if not os.access(path, os.X_OK):
        raise TargetError(printable(f"{name}: not an interpreter: it is not executable"))
    prefix = prefix_of_python(path)
    if prefix is not None:
        return _asked(scene, ChosenEnvironment(prefix, path, reason, str(path)))
    return _named_program(scene, path, name, reason)


def _named_folder(path: Path, name: str, reason: str) -> ChosenEnvironment:
    require_readable(path, name)
    if not is_environment(path):
        return _of_program(path, name, reason)
    python = find_python(path)
    if python is None:
        raise TargetError(
            printable(
                f"{name}: its interpreter cannot be reached "
                "(bin/python is missing, a broken link, or not yours to read)"
            )
        )
    return ChosenEnvironment(path, python, reason, str(path))


def _of_program(path: Path, name: str, reason: str) -> ChosenEnvironment:
    """Return the environment in a program's folder; read only, for the folder may be a clone."""
    found = environments_below(path)
    if not found:
        programs = ", ".join(map(str, programs_below(path)[:_PROGRAMS_TOLD]))
        hint = f"; it holds programs with one each, name one: {programs}" if programs else ""
        text = f"{name}: not an environment: no pyvenv.cfg, no conda-meta{hint}"
        raise TargetError(printable(text, 500))
    first, *others = found
    notes = [f"{path} is a program's folder: its Python in {first} was read, and not run"]
    notes += [f"{other} is another Python in it: name it to examine it" for other in others]
    told = tuple(printable(note, 500) for note in notes)
    return ChosenEnvironment(first, find_python(first), reason, str(first), False, told)


def _meant(scene: Scene, text: str, reason: str) -> ChosenEnvironment:
    """Return what settings name: read as if it had been found, and run only where it is active.

    They may come with a cloned repository, and bring a hostile environment with them.
    """
    path, name = absolute(scene, text), f"{reason}: {text}"
    require_present(path, name)
    prefix = path if is_folder(path) else prefix_of_python(path)
    if prefix is None:
        raise TargetError(printable(f"{name}: not an environment's folder or interpreter"))
    choice = _named_folder(prefix, name, reason)
    active = scene.environ.get("VIRTUAL_ENV") or scene.environ.get("CONDA_PREFIX") or ""
    is_active = bool(active) and same_folder(prefix, absolute(scene, active))
    ours = same_folder(prefix, Path(scene.own.prefix))
    notes: tuple[str, ...] = ()
    if active and not is_active:
        note = f"{active} is active, but the settings name another: --no-config-file ignores them"
        notes = (printable(note, 500),)
    return msgspec.structs.replace(choice, may_run=is_active or ours, notes=notes)


def _named_program(scene: Scene, path: Path, name: str, reason: str) -> Target:
    """Examine the installation of an interpreter outside of an environment: only it knows where."""
    if scene.reads_only and reason != _VARIABLE:
        what = "not in an environment, so that only running it would tell where its packages are"
        raise TargetError(printable(f"{name}: {what}: name an environment's folder", 400))
    answer = ask_interpreter(str(path), scene.run, scene.environ)
    if isinstance(answer, TooOld):
        raise TargetError(printable(f"{name}: {answer.reason}"))
    if not isinstance(answer, InterpreterAnswer):
        what = f"not a Python interpreter that works: {answer.reason}"
        raise TargetError(
            printable(f"{name}: {explain_shim(path) if is_shim(path) else what}", 400)
        )
    return _target(scene, program(path, reason, answer), answer)


def _asked(scene: Scene, choice: ChosenEnvironment) -> Target:
    """Return the target with the folders that its interpreter states, else those of its files."""
    if scene.reads_only and is_environment(choice.prefix):
        choice = msgspec.structs.replace(choice, may_run=False)
    if choice.python is None or not choice.may_run:
        _refuse_old(choice, refuse_old(stated_version(choice.prefix)))
        return _target(scene, choice, None)
    answer = ask_interpreter(str(choice.python), scene.run, scene.environ)
    _refuse_old(choice, answer)
    if isinstance(answer, InterpreterAnswer):
        return _target(scene, choice, answer)
    note = printable(f"the interpreter {answer.reason}: its folders were read from files", 500)
    return _target(scene, msgspec.structs.replace(choice, notes=(*choice.notes, note)), None)


def _refuse_old(choice: ChosenEnvironment, problem: object) -> None:
    if isinstance(problem, TooOld):
        raise TargetError(printable(f"{choice.label} ({choice.reason}): {problem.reason}", 500))


def _target(scene: Scene, choice: ChosenEnvironment, answer: InterpreterAnswer | None) -> Target:
    notes = list(choice.notes)
    stated = answer.package_folders() if answer else ()
    site = tuple(f for f in stated if is_folder(f)) or _unasked_site(scene, choice)
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


def _unasked_site(scene: Scene, choice: ChosenEnvironment) -> tuple[str, ...]:
    """Return the folders of an environment by its files, after those of PYTHONPATH.

    An interpreter that did not answer may be another machine's: what is set here is not for it.
    """
    own = site_folders(choice.prefix, scene.home)
    if not own or choice.may_run:
        return own
    # A relative entry is another folder wherever the program is started.
    entries = scene.environ.get("PYTHONPATH", "").split(os.pathsep)[:_ENTRIES]
    first = [Path(entry) for entry in entries if os.path.isabs(entry)]  # noqa: PTH117 -- text
    return unique_folders([*first, *map(Path, own)])


def _roots(scene: Scene, prefix: Path | None, site: tuple[str, ...]) -> dict[str, str]:
    """Return the named roots; ``/`` is none: every path would lie below it."""
    # PYTHONPATH and the user site come first on sys.path, but are not the environment's own.
    named = [f for f in site if Path(f).name in {"site-packages", "dist-packages"}]
    inside = [f for f in named if prefix is not None and Path(f).is_relative_to(prefix)]
    first = next(iter((*inside, *named, *site)), "")
    roots = {"prefix": str(prefix) if prefix else "", "site": first, "home": scene.home}
    return {name: folder for name, folder in roots.items() if len(folder) > 1}


def _place(scene: Scene, text: str) -> Path:
    """Return where a named target is: a path, else a program of that name on PATH."""
    path = absolute(scene, text)
    if os.path.basename(text) != text or os.path.lexists(path):  # noqa: PTH119 -- text, no path yet
        return path
    found = shutil.which(text, path=scene.environ.get("PATH", ""))
    return absolute(scene, found) if found else path
