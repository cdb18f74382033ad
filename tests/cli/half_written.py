"""Stop pip and uv in the middle of their writing, and see that all can always be undone.

    python -m tests.cli.half_written [TRIALS] [pip|uv]

Each trial makes an environment with a package of many files, starts `fix --yes` with a real
installer and wheels of a folder, waits until a chosen number of new files is there, and stops the
installer within the same millisecond. What lies there then is compared with both ends: only a tree
that equals neither, with some of the new files and not all, counts as half written. Then one of the
WAYS ends what runs, `fix --undo` follows where the fix did not go back by itself, and every file,
its time and its rights are compared with what was there before. The seed is fixed.
"""

from __future__ import annotations

import json
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path
from typing import NamedTuple

from tests.cli.environments import add_flash_attn, add_torch
from tests.cli.fake_pip import add_record
from tests.cli.kill_trials import fadoctor
from tests.unit.repair.apply.trees import manifest
from tests.unit.repair.apply.wheels import make_wheel
from tests.work import in_memory

SEED = 20_26
FILES = 1_200
BIG = 32 << 20
"""Bytes of one file among them, in which every third trial of pip stops."""

OLD = "0.0.28"

WAYS = ("doctor", "installer", "both", "doctor and guard", "SIGTERM", "SIGQUIT")
"""Who is killed by SIGKILL while the installer is stopped, or the signal that the doctor gets."""

_IN_A_FILE = 1 / 3
_MODES = ("copy", "hardlink", "symlink")


class Ground(NamedTuple):
    """What all trials start from."""

    folder: Path
    """Holds everything."""
    template: Path
    wheels: Path
    version: str
    """Of the package that the plan installs."""

    def environ(self, installer: str, number: int) -> dict[str, str]:
        """Return variables by which an installer takes the wheels, and nothing of a network."""
        env = {
            name: value
            for name, value in os.environ.items()
            if not name.startswith(("PIP_", "UV_", "FADOCTOR_"))
        }
        wheels = str(self.wheels)
        if installer == "pip":
            return env | {"PIP_NO_INDEX": "1", "PIP_FIND_LINKS": wheels}
        cache = str(self.folder / "uv-cache")
        mode = _MODES[number % len(_MODES)]
        return env | {"UV_NO_INDEX": "1", "UV_OFFLINE": "1", "UV_FIND_LINKS": wheels,
                      "UV_CACHE_DIR": cache, "UV_LINK_MODE": mode}  # fmt: skip


_LOCK_OF_UV = ".lock"
"""An empty file at the top of an environment: uv holds it while it runs, and leaves it there."""


def prepare(folder: Path) -> Ground:
    """Make wheels, and an environment with a package that does not fit its torch."""
    template, wheels = folder / "template", folder / "wheels"
    wheels.mkdir()
    subprocess.run([sys.executable, "-m", "venv", str(template)], check=True)
    site = next(template.glob("lib/python*/site-packages"))
    add_torch(site, "2.13.0+cpu", None)
    add_flash_attn(site, "2.8.3", extension=False)
    for name in ("torch", "flash_attn", "einops"):
        add_record(site, name)
    old = {f"xformers/old/part{n}.py": f"old = {n}\n" for n in range(FILES // 4)}
    make_wheel(wheels, "xformers", OLD, {"xformers/__init__.py": "old = 1\n", **old})
    python = str(template / "bin" / "python")
    pip = [python, "-m", "pip", "install", "--quiet", "--no-index", "--find-links", str(wheels)]
    subprocess.run([*pip, f"xformers=={OLD}"], check=True)
    version = _planned(template)
    new = {f"xformers/new/part{n}.py": f"new = {n}\n" + "#" * (n * 7) for n in range(FILES)}
    first, second = dict(list(new.items())[: FILES // 3]), dict(list(new.items())[FILES // 3 :])
    files = {"xformers/__init__.py": "new = 1\n", **first, "xformers/new/big.bin": "b" * BIG}
    make_wheel(wheels, "xformers", version, files | second)
    return Ground(folder, template, wheels, version)


def _planned(environment: Path) -> str:
    """Return the release that the plan takes: data say which, and may say another tomorrow."""
    options = ("fix", "--dry-run", "--format", "json", "--python", str(environment))
    plan = json.loads(subprocess.run(fadoctor(*options), check=False, capture_output=True).stdout)
    [after] = [one["after"] for one in plan["changes"] if one["distribution"] == "xformers"]
    return str(after)


def trial(ground: Ground, installer: str, number: int, chance: random.Random) -> str:
    """Stop one installer half-way; return how that ended, or a fault in capitals."""
    folder = ground.folder / f"env{number}"
    shutil.copytree(ground.template, folder, symlinks=True)
    try:
        return _trial(ground, folder, installer, number, chance)
    finally:
        shutil.rmtree(folder)


def _trial(ground: Ground, folder: Path, installer: str, number: int, chance: random.Random) -> str:
    before = manifest(folder)
    env = ground.environ(installer, number)
    target = ("--python", str(folder))
    argv = fadoctor("fix", "--yes", "--no-smoke", "--installer", installer, *target)
    wanted, way = chance.randrange(1, FILES), WAYS[number % len(WAYS)]
    if installer == "pip" and chance.random() < _IN_A_FILE:
        wanted = 0
    with tempfile.TemporaryFile() as said, subprocess.Popen(
        argv, stdout=said, stderr=said, start_new_session=True, env=env
    ) as fix:  # fmt: skip
        pid = stopped(folder, fix, wanted)
        count, between, is_cut = _new_files(folder), manifest(folder), _is_cut(folder)
        if not pid or not 0 < count < FILES or between == before:
            _let_go(fix, pid)
            return "missed: it had ended"
        _end(fix, pid, way)
        fix.wait(60)
        said.seek(0)
        words = said.read().decode()
    where = f"{installer} at {count} of {FILES}, {way}"
    went_back = "is as it was before" in words
    if way == "installer" and not went_back:
        return f"NOT TAKEN BACK BY ITSELF {where}: {words}"
    if not went_back:
        undo = subprocess.run(
            fadoctor("fix", "--undo", *target), check=False, capture_output=True, text=True
        )
        if undo.returncode or "is as it was before" not in undo.stderr:
            return f"UNDO FAILED {where}: {undo.stderr}"
    after = manifest(folder)
    other = sorted(p for p in before.keys() | after if before.get(p) != after.get(p))
    if other not in ([], [_LOCK_OF_UV]):
        return f"NOT AS BEFORE {where}: {len(other)} differ: {other[:5]}"
    if (folder / ".fadoctor").exists() or _runs(folder):
        return f"LEFT TRACES {where}"
    half = "a file half written" if is_cut else "half written"
    return f"{installer}, {way}: {half}, then as before"


def stopped(folder: Path, fix: subprocess.Popen[bytes], wanted: int) -> int:
    """Wait until so many new files are there, and stop who writes; return its id, 0 if too late.

    None are wanted: until a part of the large one is there.
    """
    pid, [site] = 0, folder.glob("lib/python*/site-packages")
    new, journal = site / "xformers" / "new", folder / ".fadoctor" / "journal.json"
    while fix.poll() is None:
        if not new.is_dir():
            time.sleep(0.0005)
            continue
        try:
            pid = pid or json.loads(journal.read_bytes())["process"]["pid"]
            if len(os.listdir(new)) >= wanted if wanted else _is_cut(folder):  # noqa: PTH208
                os.kill(pid, signal.SIGSTOP)
                return int(pid)
        except (OSError, KeyError):
            return 0
    return 0


def _new_files(folder: Path) -> int:
    return len(list(folder.glob("lib/python*/site-packages/xformers/new/*.py")))


def _is_cut(folder: Path) -> bool:
    """Return whether the large file is there in part."""
    sizes = [path.stat().st_size for path in folder.glob("lib/*/site-packages/xformers/new/big.*")]
    return bool(sizes) and 0 < sizes[0] < BIG


def _let_go(fix: subprocess.Popen[bytes], pid: int) -> None:
    if pid:
        os.kill(pid, signal.SIGCONT)
    fix.wait(120)


def _end(fix: subprocess.Popen[bytes], pid: int, way: str) -> None:
    """End what runs; the installer is stopped, and gets no further."""
    if way == "doctor and guard":  # then only undo can end the installer
        for guard in _children(fix.pid):
            if guard != pid:
                os.kill(guard, signal.SIGKILL)
    if way in ("installer", "both"):
        if way == "both":
            os.kill(fix.pid, signal.SIGKILL)
        os.kill(pid, signal.SIGKILL)
    elif way.startswith("SIG"):
        os.kill(fix.pid, getattr(signal, way))
    else:
        os.kill(fix.pid, signal.SIGKILL)


def _children(parent: int) -> list[int]:
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdecimal():
            try:
                text = (entry / "stat").read_text().rpartition(")")[2]
            except OSError:
                continue
            if int(text.split()[1]) == parent:
                found.append(int(entry.name))
    return found


def _runs(folder: Path) -> list[int]:
    """Return the processes that still know the environment by their command line."""
    found = []
    for entry in Path("/proc").iterdir():
        try:
            is_there = (
                entry.name.isdecimal() and os.fsencode(folder) in (entry / "cmdline").read_bytes()
            )
        except OSError:
            continue
        if is_there and int(entry.name) != os.getpid():
            found.append(int(entry.name))
    return found


def trials(count: int, installer: str) -> Counter[str]:
    """Return how many trials ended how; those that came too late are made again, up to a bound."""
    chance = random.Random(SEED)  # noqa: S311 -- not for secrets
    found: Counter[str] = Counter()
    with tempfile.TemporaryDirectory(dir=in_memory()) as name:
        ground = prepare(Path(name).resolve())
        for number in range(3 * count):
            found[trial(ground, installer, number, chance)] += 1
            if sum(found.values()) - found["missed: it had ended"] >= count:
                break
    return found


def faults(found: Counter[str]) -> list[str]:
    """Return what must not be."""
    return [answer for answer in found if answer[:4].isupper()]


if __name__ == "__main__":
    number = int(sys.argv[1]) if len(sys.argv) > 1 else 30
    for tool in sys.argv[2:] or ["pip", "uv"]:
        results = trials(number, tool)
        for line, times in sorted(results.items()):
            print(f"{times:4} {line}", flush=True)
        if faults(results):
            raise SystemExit(1)
