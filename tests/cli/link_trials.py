"""Fix and undo environments with every kind of link and mount: each is refused, or restored.

    python -m tests.cli.link_trials [NAME]...

Each trial makes an environment, moves a part of it away and puts a link or a mount in its place,
says `fix --yes`, and then `fix --undo` if it was carried out. "Refused" counts if a sentence says
what to do and nothing has changed, neither there nor where the links lead; "restored" if every file
is as before. Mounts are made in a mount namespace of the trial's own, which needs the right to.
"""

from __future__ import annotations

import atexit
import os
import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from tests.cli.fake_pip import broken_environment
from tests.cli.kill_trials import fadoctor
from tests.unit.repair.apply.trees import manifest

if TYPE_CHECKING:
    from collections.abc import Callable

_OTHER_DISK = Path("/dev/shm")
"""A file system of its own, wherever it is there."""
_REFUSED = 2


class Scene(msgspec.Struct, frozen=True):
    """One environment, and where parts of it are put."""

    env: Path
    site: Path
    away: Path
    """On the same file system."""
    other: Path
    """On another one, where there is one."""

    @property
    def lib(self) -> Path:
        """The folder above site-packages."""
        return self.site.parent

    def lead(self, path: Path, to: Path, text: str = "") -> Path:
        """Move something, and put a link to it in its place."""
        to.mkdir(parents=True, exist_ok=True)
        shutil.move(path, to / path.name)
        path.symlink_to(text or to / path.name)
        return self.env

    def files(self, to: Path, put: Callable[[Path, Path], object]) -> Path:
        """Put every file of a package elsewhere, and in its place what `put` makes."""
        for path in sorted((self.site / "xformers").iterdir()):
            place = to / path.name
            place.parent.mkdir(parents=True, exist_ok=True)
            shutil.move(path, place)
            put(path, place)
        return self.env

    def mount(self, path: Path, *options: str) -> Path:
        """Mount something over a folder or file that then holds the same."""
        kept = self.away / "under" / path.name
        kept.parent.mkdir(parents=True, exist_ok=True)
        if path.is_dir():
            shutil.copytree(path, kept, symlinks=True)
        else:
            shutil.copy2(path, kept)
        source = [str(kept)] if "--bind" in options else ["none"]
        subprocess.run(["mount", *options, *source, str(path)], check=True)
        if "--bind" not in options:
            shutil.copytree(kept, path, symlinks=True, dirs_exist_ok=True)
        return self.env


def _chain(scene: Scene) -> Path:
    scene.lead(scene.site, scene.away)
    scene.lead(scene.away / "site-packages", scene.away / "further", "further/site-packages")
    return scene.env


def _renamed(path: Path, name: str, env: Path) -> Path:
    path.rename(path.with_name(name))
    path.symlink_to(name)
    return env


def _whole(scene: Scene, *, relative: bool) -> Path:
    link = scene.away / "link"
    link.symlink_to(os.path.relpath(scene.env, scene.away) if relative else scene.env)
    return link


def _above(scene: Scene) -> Path:
    scene.lead(scene.env.parent / "env", scene.away / "real")
    above = scene.away / "above"
    above.symlink_to(scene.away / "real")
    return above / "env"


def _link(scene: Scene, place: str, target: str) -> Path:
    (scene.site / place).symlink_to(target)
    return scene.env


def _made(scene: Scene, place: Path) -> Path:
    (scene.away / "data").mkdir()
    (scene.away / "data" / "mine.bin").write_text("precious")
    place.symlink_to(scene.away / "data")
    return scene.env


def _state(scene: Scene, part: str) -> Path:
    (scene.away / "snapshot").mkdir()
    (scene.away / "snapshot" / "x").write_text("precious")
    (scene.away / "y").write_text("precious")
    place = scene.env / ".fadoctor" / part
    place.parent.mkdir(exist_ok=True)
    place.symlink_to(scene.away)
    return scene.env


def _subfolder(scene: Scene, to: Path) -> Path:
    folder = scene.site / "xformers" / "ops"
    folder.mkdir()
    (folder / "one.py").write_text("one = 1\n")
    [info] = scene.site.glob("xformers-*.dist-info")
    with (info / "RECORD").open("a") as file:
        file.write("xformers/ops/one.py,,\n")
    return scene.lead(folder, to)


def _twice(scene: Scene) -> Path:
    os.link(scene.site / "xformers" / "old0.py", scene.site / "xformers" / "same.py")
    return scene.env


def _moved_whole(scene: Scene) -> Path:
    shutil.move(scene.env, scene.other / "env")
    return scene.other / "env"


def _overlay(scene: Scene) -> Path:
    layers = Path(tempfile.mkdtemp(dir=scene.other.parent))  # holds what the kernel alone reads
    atexit.register(shutil.rmtree, layers, ignore_errors=True)
    for name in ("up", "work"):
        (layers / name).mkdir()
    parts = f"lowerdir={scene.env},upperdir={layers}/up,workdir={layers}/work"
    subprocess.run(["mount", "-t", "overlay", "-o", parts, "none", scene.env], check=True)
    return scene.env


def _info(scene: Scene, name: str) -> Path:
    [info] = scene.site.glob("xformers-*.dist-info")
    return info / name if name else info


def _linked(path: Path, place: Path) -> None:
    path.symlink_to(place)


def _hard(path: Path, place: Path) -> None:
    os.link(place, path)


LINKS: dict[str, Callable[[Scene], Path]] = {
    "none": lambda s: s.env,
    "lib64 to lib": lambda s: _link(s, "../../../lib64", "lib"),
    "lib": lambda s: s.lead(s.env / "lib", s.away),
    "lib, other disk": lambda s: s.lead(s.env / "lib", s.other),
    "lib to lib64": lambda s: _renamed(s.env / "lib", "lib64", s.env),
    "lib to a folder inside": lambda s: _renamed(s.env / "lib", "libraries", s.env),
    "python": lambda s: s.lead(s.lib, s.away),
    "python, other disk": lambda s: s.lead(s.lib, s.other),
    "python to a sibling": lambda s: _renamed(s.lib, "python3", s.env),
    "site": lambda s: s.lead(s.site, s.away),
    "site, other disk": lambda s: s.lead(s.site, s.other),
    "site, relative": lambda s: s.lead(
        s.site, s.away, os.path.relpath(s.away / s.site.name, s.lib)
    ),
    "site, chain": _chain,
    "site to dist-packages": lambda s: _renamed(s.site, "dist-packages", s.env),
    "site to a folder inside": lambda s: s.lead(s.site, s.env / "packages"),
    "package that changes": lambda s: s.lead(s.site / "xformers", s.away),
    "package that changes, other disk": lambda s: s.lead(s.site / "xformers", s.other),
    "package that goes": lambda s: s.lead(s.site / "flash_attn", s.away),
    "package that stays": lambda s: s.lead(s.site / "torch", s.away),
    "folder of a package": lambda s: _subfolder(s, s.away),
    "folder of a package, inside": lambda s: _subfolder(s, s.site / "shared"),
    "dist-info": lambda s: s.lead(_info(s, ""), s.away),
    "RECORD": lambda s: s.lead(_info(s, "RECORD"), s.away),
    "METADATA": lambda s: s.lead(_info(s, "METADATA"), s.away),
    "bin": lambda s: s.lead(s.env / "bin", s.away),
    "bin to a folder inside": lambda s: _renamed(s.env / "bin", "scripts", s.env),
    "share": lambda s: _made(s, s.env / "share"),
    "include": lambda s: _made(s, s.env / "include"),
    "data of the project": lambda s: _made(s, s.env / "data"),
    "package under development": lambda s: _made(s, s.site / "mine"),
    "every file a link": lambda s: s.files(s.away / "cache", _linked),
    "every file a link, other disk": lambda s: s.files(s.other / "cache", _linked),
    "every file a hard link": lambda s: s.files(s.away / "cache", _hard),
    "two names of one file": _twice,
    "a .pth file": lambda s: s.lead(s.site / "paths.pth", s.away),
    "pyvenv.cfg": lambda s: s.lead(s.env / "pyvenv.cfg", s.away),
    "link to nothing": lambda s: _link(s, "gone.py", "/nowhere/gone.py"),
    "loop": lambda s: _link(s, "loop", "loop"),
    "link to what is above": lambda s: _link(s, "up", "../../.."),
    "whole environment": lambda s: _whole(s, relative=False),
    "whole environment, relative": lambda s: _whole(s, relative=True),
    "folder above the environment": _above,
    "environment on the other disk": _moved_whole,
    ".fadoctor": lambda s: _state(s, ""),
    ".fadoctor/snapshot": lambda s: _state(s, "snapshot"),
    ".fadoctor/kept": lambda s: _state(s, "kept"),
    ".fadoctor/lock": lambda s: _state(s, "lock"),
}

MOUNTS: dict[str, Callable[[Scene], Path]] = {
    "mount: tmpfs as site": lambda s: s.mount(s.site, "-t", "tmpfs"),
    "mount: site bound": lambda s: s.mount(s.site, "--bind"),
    "mount: lib bound": lambda s: s.mount(s.env / "lib", "--bind"),
    "mount: tmpfs as bin": lambda s: s.mount(s.env / "bin", "-t", "tmpfs"),
    "mount: package bound": lambda s: s.mount(s.site / "xformers", "--bind"),
    "mount: file bound": lambda s: s.mount(s.site / "xformers" / "old1.py", "--bind"),
    "mount: site read-only": lambda s: s.mount(s.site, "--bind", "-o", "ro"),
    "mount: tmpfs as environment": lambda s: s.mount(s.env, "-t", "tmpfs"),
    "mount: overlay": _overlay,
}


def trial(name: str) -> str:
    """Try one kind; return refused, restored, or a fault in capitals."""
    kind = LINKS.get(name) or MOUNTS[name]
    disk = _OTHER_DISK if _OTHER_DISK.is_dir() else None
    with tempfile.TemporaryDirectory() as one, tempfile.TemporaryDirectory(dir=disk) as two:
        folder, other = Path(one).resolve(), Path(two).resolve()
        (folder / "away").mkdir()
        site = broken_environment(folder / "env")
        scene = Scene(folder / "env", site, folder / "away", other)
        env = kind(scene)
        try:
            return _tried(env, (folder, other))
        finally:
            for path in (site, *site.parents) if name in MOUNTS else ():
                subprocess.run(["umount", "-l", path], check=False, capture_output=True)


def _tried(env: Path, places: tuple[Path, Path]) -> str:
    before = _state_of(places, env)
    target = ("--python", str(env))
    fix = subprocess.run(
        fadoctor("fix", "--yes", "--no-smoke", *target), check=False, capture_output=True, text=True
    )
    if fix.returncode == 0:
        if _state_of(places, env) == before:
            return f"NOTHING WAS DONE: {fix.stderr}"
        undo = subprocess.run(
            fadoctor("fix", "--undo", *target), check=False, capture_output=True, text=True
        )
        if undo.returncode or "is as it was before" not in undo.stderr:
            return f"NOT UNDONE: {undo.stderr}"
    after = _state_of(places, env)
    for was, now in zip(before, after, strict=True):
        other = sorted(p for p in was.keys() | now if was.get(p) != now.get(p))
        if other:
            return f"NOT AS BEFORE: {len(other)} differ: {other[:5]} {fix.stderr}"
    if fix.returncode == 0:
        return "restored"
    if "is as it was before" in fix.stderr:
        return "restored after a step that failed"
    said = fix.returncode == _REFUSED or "nothing was changed" in fix.stderr
    return "refused" if said else f"NO SENTENCE: {fix.stderr}"


def _state_of(places: tuple[Path, Path], env: Path) -> list[dict[str, object]]:
    """Return everything, but for the time of the environment's folder: a lock was in it."""
    found = [manifest(place) for place in places]
    for place, state in zip(places, found, strict=True):
        state.pop(os.path.relpath(env.resolve(), place), None)
    return found


def _in_a_namespace(name: str) -> str:
    argv = ["unshare", "-m", sys.executable, "-m", "tests.cli.link_trials", name]
    done = subprocess.run(argv, check=False, capture_output=True, text=True)
    answer = done.stdout.partition("\n")[0].partition(": ")[2]
    return answer.strip() or f"not tried: {done.stderr.strip().splitlines()[-1:]}"


def main() -> int:
    """Try the kinds that are named, or all."""
    named = sys.argv[1:]
    found: Counter[str] = Counter()
    for name in named or [*LINKS, *MOUNTS]:
        inside = not named and name in MOUNTS
        answer = _in_a_namespace(name) if inside else trial(name)
        print(f"{name.replace(':', ' of')}: {answer}", flush=True)
        found[answer if answer.islower() else "FAULT"] += 1
    print(dict(found))
    return int("FAULT" in found)


if __name__ == "__main__":
    raise SystemExit(main())
