"""Let the installer of the person fetch a release of rules: its index, its proxies, its keys.

pip and uv only unpack or download wheels here: `--only-binary` keeps them from running anything.
"""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from fadoctor.knowledge.updates import DISTRIBUTION, FORMAT, NotFetchedError
from fadoctor.knowledge.updates.archive import read_folder, read_wheel
from fadoctor.model.fact import printable
from fadoctor.model.files import read_file
from fadoctor.processes.command import Command, child_environment
from fadoctor.processes.run import NO_TRACES
from fadoctor.syntax.secrets import hide_secrets

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from fadoctor.knowledge.updates.archive import Release
    from fadoctor.processes.command import Result

TIMEOUT_S = 120.0
_WANTED = f"{DISTRIBUTION}=={FORMAT}.*"
_CONFIG_LIMIT = 1 << 16
_LINES = 3
"""How many of the installer's last lines are shown."""


def fetch(
    folder: Path, environ: Mapping[str, str], run: Callable[[Command], Result]
) -> tuple[Release, str]:
    """Return the newest release that this fadoctor can read, and who fetched it.

    NotFetchedError where nothing came; ReleaseError where what came is no release.
    """
    name, argv = command(folder, environ)
    env = child_environment(environ, **NO_TRACES, PIP_NO_INPUT="1")
    # Our own folder stays the current one: a relative PIP_FIND_LINKS counts as it does for pip.
    result = run(Command(argv, TIMEOUT_S, env=env))
    if not result.ok:
        words = f"{result.stderr}\n{result.stdout}".strip().splitlines()[-_LINES:]
        told = hide_secrets(" / ".join(line.strip() for line in words)) or result.describe()
        raise NotFetchedError(
            f"{name} fetched no {_WANTED} from the index it is set to: {printable(told, 600)}"
        )
    wheels = sorted(folder.glob("*.whl"))
    if len(wheels) == 1:
        return read_wheel(wheels[0]), name
    if wheels or name == "pip":
        raise NotFetchedError(f"{name} ended without a message and downloaded {len(wheels)} wheels")
    return read_folder(folder), name


def command(folder: Path, environ: Mapping[str, str]) -> tuple[str, tuple[str, ...]]:
    """Return whose command fetches into a folder, and the command: of who made this environment."""
    pip, uv = _pip(environ), shutil.which("uv", path=environ.get("PATH"))
    only = ("--no-deps", "--only-binary", ":all:")
    if uv and (pip is None or _is_of_uv(Path(sys.prefix))):
        put = ("--python", sys.executable, "--target", str(folder))
        return "uv", (uv, "pip", "install", "--quiet", *only, *put, _WANTED)
    if pip:
        told = ("--quiet", "--disable-pip-version-check", "--dest", str(folder))
        return "pip", (pip, "download", *only, *told, _WANTED)
    raise NotFetchedError("neither pip nor uv is here to fetch rules: --from FILE takes a wheel")


def _pip(environ: Mapping[str, str]) -> str | None:
    """Return pip as a program: `-m pip` would import what lies in the current folder."""
    own = os.path.dirname(sys.executable)  # noqa: PTH120 -- as it is, links and all
    for place in (own, environ.get("PATH")):
        for name in ("pip", "pip3"):
            if found := shutil.which(name, path=place):
                return found
    return None


def _is_of_uv(prefix: Path) -> bool:
    text = read_file(prefix / "pyvenv.cfg", _CONFIG_LIMIT) or ""
    return any(line.partition("=")[0].strip() == "uv" for line in text.splitlines())
