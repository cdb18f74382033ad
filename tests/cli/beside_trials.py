"""Somebody else runs a real pip in an environment while a fix, and its undo, work in it.

    python -m tests.cli.beside_trials

Each way stops the other pip while some files of its package are written and others are not, lets
the fix come to its end, and takes it back before or after the other pip goes on. In the end the
other package must be whole, by the digests of its RECORD, and what the fix had changed as before.
"""

from __future__ import annotations

import base64
import csv
import hashlib
import os
import shutil
import signal
import subprocess
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING

from tests.cli.half_written import OLD, Ground, prepare, stopped
from tests.cli.kill_trials import fadoctor
from tests.unit.repair.apply.trees import manifest
from tests.unit.repair.apply.wheels import make_wheel
from tests.work import in_memory

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

NAME = "beside"
FILES = 600
_TOP = 3
"""Slashes in the path of a folder that both installers write to, and whose times nobody owns."""

WAYS = {
    "new, whole before undo": ("", 0, False),
    "new, half-way at undo": ("", FILES // 2, False),
    "new, goes on before undo": ("", FILES // 2, True),
    "upgrade, whole before undo": ("1", 0, False),
    "upgrade, half-way at undo": ("1", FILES // 2, False),
    "upgrade, goes on before undo": ("1", FILES // 2, True),
}
"""What the other pip does -> the release that is there, after how many new files it stops (0: it
does not), and whether it goes on before the undo."""


def add_wheels(ground: Ground) -> None:
    """Make two releases of the other package."""
    for version in ("1", "2"):
        files = {f"{NAME}/part{n}_{version}.py": f"n = {n}\n" * n for n in range(FILES)}
        shared = {f"{NAME}/__init__.py": f"version = {version}\ndef main(): pass\n"}
        make_wheel(ground.wheels, NAME, version, shared | files)


def trial(ground: Ground, way: str) -> list[str]:
    """Return what is wrong in the end."""
    there, stop_after, first = WAYS[way]
    folder = ground.folder / "env"
    shutil.copytree(ground.template, folder, symlinks=True)
    try:
        env = ground.environ("pip", 0)
        pip = [str(folder / "bin" / "python"), "-m", "pip", "install", "--quiet"]
        if there:
            subprocess.run([*pip, f"{NAME}=={there}"], check=True, env=env)
        return _trial(folder, [*pip, f"{NAME}==2"], env, stop_after, first=first)
    finally:
        shutil.rmtree(folder)


def _trial(
    folder: Path, pip: list[str], env: dict[str, str], stop_after: int, *, first: bool
) -> list[str]:
    before = manifest(folder)
    target = ("--python", str(folder))
    argv = fadoctor("fix", "--yes", "--no-smoke", "--installer", "pip", *target)
    with subprocess.Popen(
        argv, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=env
    ) as fix:
        step = stopped(folder, fix, 100)
        if not step:
            return ["missed: the step had ended"]
        with subprocess.Popen(pip, env=env) as other:
            _stop_at(folder, other, stop_after)
            os.kill(step, signal.SIGCONT)
            code = fix.wait(120)
            if first:
                _go_on(other)
            argv = fadoctor("fix", "--undo", *target)
            undo = subprocess.run(argv, check=False, capture_output=True, text=True)
            _go_on(other)
    faults = [] if code == 0 else [f"the fix ended with {code}"]
    faults += [f"the other pip ended with {other.returncode}"] if other.returncode else []
    return [*faults, *_wrong(folder, before, undo)]


def _stop_at(folder: Path, other: subprocess.Popen[bytes], count: int) -> None:
    """Stop a pip where so many of its files are there; wait for its end where none are named."""
    [site] = folder.glob("lib/python*/site-packages")
    if not count:
        other.wait(120)
    while other.poll() is None:
        if len(list((site / NAME).glob("*_2.py"))) >= count:
            os.kill(other.pid, signal.SIGSTOP)
            return
        time.sleep(0.001)


def _go_on(other: subprocess.Popen[bytes]) -> None:
    if other.poll() is None:
        os.kill(other.pid, signal.SIGCONT)
        other.wait(120)


def _wrong(
    folder: Path, before: Mapping[str, object], undo: subprocess.CompletedProcess[str]
) -> list[str]:
    [site] = folder.glob("lib/python*/site-packages")
    faults = _not_whole(site)
    after = manifest(folder)
    theirs = (NAME, "bin/" + NAME)
    for path in sorted(before.keys() | after.keys()):
        inside = path.partition("site-packages/")[2] or path
        is_theirs = inside.startswith(theirs) or path.count("/") <= _TOP
        if before.get(path) != after.get(path) and not is_theirs:
            faults.append(f"{path} is not as before")
    if not list(site.glob(f"xformers-{OLD}.dist-info")):
        faults.append("the fix was not taken back")
    if f"fadoctor: {folder} is as it was before" in undo.stderr:
        faults.append("it says that all is as before")
    if undo.returncode == 0 and "others have changed since" not in undo.stderr:
        faults.append("it does not say that others changed something")
    return [*faults, *([undo.stderr] if faults else [])]


def _not_whole(site: Path) -> list[str]:
    """Return what the other package lacks, by its RECORD."""
    found = [path.name for path in site.glob(f"{NAME}-*.dist-info")]
    if found != [f"{NAME}-2.dist-info"]:
        return [f"{NAME} is there as {found}"]
    faults = []
    with (site / found[0] / "RECORD").open(newline="") as record:
        for path, digest, _ in csv.reader(record):
            file = site / path
            if not file.is_file():
                faults.append(f"{path} is gone")
            elif digest and digest.partition("=")[2] != _digest(file):
                faults.append(f"{path} is another file")
    stale = [path.name for path in (site / NAME).glob("*_1.py")]
    stashed = [path.name for path in site.glob("~*")]
    return faults[:5] + [f"of another release: {len(stale)}"] * bool(stale) + stashed


def _digest(file: Path) -> str:
    raw = hashlib.sha256(file.read_bytes()).digest()
    return base64.urlsafe_b64encode(raw).rstrip(b"=").decode()


def all_trials(ways: Iterable[str] = tuple(WAYS)) -> dict[str, list[str]]:
    """Return what is wrong after each way."""
    with tempfile.TemporaryDirectory(dir=in_memory()) as name:
        ground = prepare(Path(name).resolve())
        add_wheels(ground)
        return {way: trial(ground, way) for way in ways}


if __name__ == "__main__":
    for each, wrong in all_trials().items():
        print(f"{each}: {wrong or 'nothing lost'}", flush=True)
