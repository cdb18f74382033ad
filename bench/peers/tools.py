"""The tools: how each is installed, started, and understood. They are third-party programs.

Each runs without a network, in namespaces of its own, with a home that is thrown away.
"""

from __future__ import annotations

import json
import os
import re
import resource
import subprocess
import sys
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

import msgspec

if TYPE_CHECKING:
    from pathlib import Path

_DEADLINE_S = 120
_SHORT = 200
"""Characters of a complaint that are kept."""

_ALONE = ("unshare", "--map-root-user", "--net", "--mount", "sh", "-c")
_HIDDEN = 'mount -t tmpfs none /usr/local 2>/dev/null; exec "$@"'
"""No network, and none of the toolkits of the machine that compares."""


class Tool(msgspec.Struct, frozen=True):
    """A program that diagnoses."""

    name: str
    distribution: str
    """What is installed from the index, "" for what is here."""
    argv: tuple[str, ...]
    """Behind the interpreter: the one of the case, unless it runs from outside."""
    complaints: Callable[[str], Iterator[str]]
    outside: bool = False


class Said(msgspec.Struct, frozen=True):
    """What a tool said of a case."""

    complaints: tuple[str, ...]
    exit: int
    seconds: float
    """Of processor time, its children's too: others may use the machine."""


def _of_rigsolve(text: str) -> Iterator[str]:
    """[error] code: summary; [ok] for none."""
    for line in text.splitlines():
        if re.match(r"\[(?:error|warning|warn|fail)\w*\]|\{", line, re.IGNORECASE):
            yield line


def _of_env_doctor(text: str) -> Iterator[str]:
    """Take its text: the JSON leaves out what it says of torch's CUDA and the driver."""
    for line in text.splitlines():
        is_inventory = re.search(r"(?:tensorflow|jax) is NOT installed", line)
        if re.search("[\u274c\u26a0]", line) and not is_inventory:
            yield line


def _of_cuda_doctor(text: str) -> Iterator[str]:
    report = json.loads(text)
    for each in report.get("diagnoses", ()):
        yield f"{each.get('code', each.get('id'))} {each['title']}: {each.get('summary', '')}"
    for each in report["issues"]:
        if each["severity"] in ("WARNING", "ERROR"):
            yield f"{each['code']} {each['title']}: {each['description']}"


def _of_pip_check(text: str) -> Iterator[str]:
    for line in text.splitlines():
        if re.search(r" requires | has requirement |is not supported", line):
            yield line


def _of_fadoctor(text: str) -> Iterator[str]:
    for each in json.loads(text)["findings"]:
        if each["severity"] in ("error", "warning"):
            yield f"{each['rule_id']}: {each['title']}: {each['message']}"


TOOLS = (
    Tool("rigsolve", "rigsolve==1.0.0", ("-m", "rigsolve", "check"), _of_rigsolve),
    Tool("env-doctor", "env-doctor==0.3.5", ("-m", "env_doctor.cli", "check"),
         _of_env_doctor),
    Tool("cuda-doctor", "cuda-doctor==0.2.0",
         ("-m", "cuda_doctor", "diagnose", "--format", "json"), _of_cuda_doctor),
    Tool("pip check", "", ("-m", "pip", "--python", "{env}", "check"), _of_pip_check, outside=True),
    Tool("fadoctor", "", ("-m", "fadoctor", "check", "--no-smoke", "--format", "json"),
         _of_fadoctor, outside=True),
)  # fmt: skip


def install(tools: Path) -> None:
    """Install the tools that are not here, each into a folder of its own."""
    for tool in TOOLS:
        folder = tools / tool.name
        if tool.distribution and not folder.is_dir():
            subprocess.run(
                [sys.executable, "-m", "pip", "install", "--quiet", "--no-warn-conflicts",
                 "--target", str(folder), tool.distribution],
                check=True, timeout=600,
            )  # fmt: skip


def ask(tool: Tool, root: Path, environ: dict[str, str], tools: Path, times: int = 3) -> Said:
    """Run a tool on a case; the time is the least of several."""
    python = sys.executable if tool.outside else str(root / "env" / "bin" / "python")
    words = [word.replace("{env}", str(root / "env")) for word in tool.argv]
    env = {**environ, "PYTHONPATH": str(tools / tool.name)} if tool.distribution else environ
    seconds = []
    for _ in range(times):
        start = _used()
        done = subprocess.run(
            [*_ALONE, _HIDDEN, "sh", python, *words], env=env, cwd=root, text=True,
            capture_output=True, check=False, timeout=_DEADLINE_S, stdin=subprocess.DEVNULL,
        )  # fmt: skip
        seconds.append(_used() - start)
    try:
        complaints = tuple(dict.fromkeys(_short(each) for each in tool.complaints(done.stdout)))
    except (ValueError, KeyError) as error:
        raise RuntimeError(f"{tool.name}: {done.stdout[-500:]}{done.stderr[-1500:]}") from error
    return Said(complaints, done.returncode, min(seconds))


def _used() -> float:
    """Return the processor time of the children that have ended."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def _short(text: str) -> str:
    plain = " ".join(text.split())
    return plain if len(plain) <= _SHORT else f"{plain[: _SHORT - 3]}..."


def versions(tools: Path) -> dict[str, str]:
    """Return name -> version of everything that was compared."""
    from importlib.metadata import distributions, version  # noqa: PLC0415 -- a bench

    found = {"pip check": f"pip {version('pip')}", "fadoctor": version("fadoctor")}
    for tool in TOOLS:
        if tool.distribution:
            name = tool.distribution.partition("==")[0]
            [here] = [each for each in distributions(path=[os.fspath(tools / tool.name)])
                      if each.metadata["Name"].lower() == name]  # fmt: skip
            found[tool.name] = here.version
    return found
