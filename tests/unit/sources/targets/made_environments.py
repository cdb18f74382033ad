"""Small environments on disk, and interpreters that answer as a test wants."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from fadoctor.processes.command import Command, Ending, Result
from fadoctor.sources.targets.default_environment import Own
from fadoctor.sources.targets.discover import TargetRequest, discover

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from fadoctor.model.environment import Target

SYSTEM = Own("/usr/bin/python3", "/nonexistent/usr", "/nonexistent/usr", "3.11.2")
SILENT = Result(Ending.EXITED, 3, "", "boom", 0.0)


def make_env(folder: Path, config: str = "version = 3.11.7\n") -> Path:
    site = folder / "lib" / "python3.11" / "site-packages"
    site.mkdir(parents=True)
    (folder / "bin").mkdir()
    python = folder / "bin" / "python"
    python.write_text("#!/bin/sh\nexit 3\n")
    python.chmod(0o755)
    (folder / "pyvenv.cfg").write_text(config)
    return folder


def make_conda(folder: Path, *more: str) -> Path:
    make_env(folder)
    (folder / "pyvenv.cfg").unlink()
    for name in ("conda-meta", *more):
        (folder / name).mkdir()
    (folder / "conda-meta" / "history").touch()
    return folder


def answer(prefix: Path, *sys_path: str) -> Result:
    told = {
        "schema": 1,
        "ok": True,
        "version": "3.11.7",
        "implementation": "cpython",
        "tag": "cp311",
        "abi_tag": "cp311",
        "ext_suffix": ".cpython-311-x86_64-linux-gnu.so",
        "platform_tag": "linux_x86_64",
        "free_threaded": False,
        "executable": "",
        "prefix": str(prefix),
        "base_prefix": "/usr",
        "headers": "",
        "externally_managed": False,
        "stdlib": "/usr/lib/python3.11",
        "sys_path": ["/usr/lib/python3.11", "/usr/lib/python3.11/lib-dynload", *sys_path],
    }
    return Result(Ending.EXITED, 0, json.dumps(told), "", 0.0)


def silent(command: Command) -> Result:
    return SILENT


def never(command: Command) -> Result:
    raise AssertionError(f"was run: {command.argv}")


def saying(result: Result) -> Callable[[Command], Result]:
    return lambda _: result


def find(
    cwd: Path,
    request: TargetRequest | None = None,
    own: Own = SYSTEM,
    run: Callable[[Command], Result] = silent,
    **environ: object,
) -> Target:
    texts = {name: str(value) for name, value in environ.items()}
    return discover(request or TargetRequest(), texts, cwd, own, run)
