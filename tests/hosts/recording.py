"""Read a recorded machine and make the world that probes see of it.

A recording is a folder: ``tree.txt`` holds every file that probes read, ``commands.json`` what
children answered, ``environ.json`` the environment variables, ``target.json`` what is examined,
``binaries.json`` what reading its extensions gave, where that matters, ``registry.json`` keys of
the registry of Windows, and ``expected.json`` what a
careful expert says about it. The tree is one text and not a tree of files
because executable bits, links, empty folders, ignored names and NUL bytes survive that way.
"""

from __future__ import annotations

import fnmatch
import json
import re
import shutil
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from fadoctor.model.environment import Target
from fadoctor.processes.command import Ending, Result
from fadoctor.sources.probes import PROBES
from fadoctor.sources.probes.collect import collect
from fadoctor.sources.probes.registry import recorded_registry
from fadoctor.sources.probes.world import World
from tests.hosts import binaries
from tests.hosts.binaries import RECORDED

if TYPE_CHECKING:
    from collections.abc import Iterator

    from fadoctor.model.environment import Environment
    from fadoctor.processes.command import Command

_, _NEEDS = PROBES["binaries"]
HOSTS = Path(__file__).parent

# == /usr/bin/nvcc executable
# == /usr/lib/libcuda.so.1 -> libcuda.so.550.54.15
# == /dev/kfd refused:993
# == /C:/Program%20Files/x: a space in a path
_HEADER = re.compile(
    r"^== (/\S+)(?: -> (\S+)|((?: executable| escaped)*)(?: refused:(?P<group>\d{1,6}))?)\n",
    re.MULTILINE,
)


class Answer(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What a child answered: the first whose pattern fits the words of the command counts."""

    argv: str
    """Shell-style pattern over the words, joined by spaces."""
    exit: int = 0
    ending: Ending = Ending.EXITED
    stdout: str | list[str] = ""
    """Text, or its lines."""
    stderr: str | list[str] = ""
    json: dict[str, Any] | None = None
    """The object that a script of ours prints on its last line."""

    def result(self) -> Result:
        """Return it as the runner of children would."""
        line = "" if self.json is None else "\n" + json.dumps(self.json) + "\n"
        elapsed_s = 10.0 if self.ending is Ending.TIMED_OUT else 0.1
        code = self.exit
        return Result(self.ending, code, _text(self.stdout) + line, _text(self.stderr), elapsed_s)


class RecordedTarget(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What was examined. Paths are those of the machine."""

    label: str
    reason: str
    python: str
    prefix: str
    site: list[str]
    may_run: bool
    os: str = "linux"


class Expected(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What an expert says."""

    findings: list[str]
    """``severity rule subject``, then `` > consequence, consequence`` where there are any."""
    facts: dict[str, Any] = {}
    """Name -> value; ``{"absent": true}``; ``{"unknown": part of the reason}``."""
    fixes: dict[str, str] = {}
    """Rule -> id of the fix that must be offered first."""
    unknown: list[str] | None = None
    """Ids of all undecided rules; None where it does not matter which."""
    verdicts: dict[str, str] = {}
    """``gpu[0] fa2 bf16`` -> works, fails or unknown."""
    recommendation: str | None = None
    """``bf16 fa2``; None where nothing can be recommended."""
    settings: dict[str, dict[str, str]] = {}
    """Framework -> settings of the recommendation."""
    faults: dict[str, str] = {}
    """What is known to come out otherwise: part of this page -> why."""


def read(name: str, root: Path) -> Environment:
    """Return the facts that the probes read on a recorded machine."""
    return collect(world(name, root), PROBES | {"binaries": (binaries.__name__, _NEEDS)})


def names() -> list[str]:
    """Return the names of all recordings."""
    return sorted(path.parent.name for path in HOSTS.glob("*/tree.txt"))


def expected(name: str) -> Expected:
    """Return what an expert says about a recorded machine."""
    return msgspec.json.decode((HOSTS / name / "expected.json").read_bytes(), type=Expected)


def world(name: str, root: Path) -> World:
    """Lay a recording's files out below an empty folder and return the world that it is."""
    folder = HOSTS / name
    tree = (folder / "tree.txt").read_text(encoding="utf-8")
    unpack(tree, root)
    if (folder / "binaries.json").is_file():
        shutil.copy(folder / "binaries.json", root / RECORDED.lstrip("/"))
    environ = msgspec.json.decode((folder / "environ.json").read_bytes(), type=dict[str, str])
    target = msgspec.json.decode((folder / "target.json").read_bytes(), type=RecordedTarget)
    answers = msgspec.json.decode((folder / "commands.json").read_bytes(), type=list[Answer])

    def run(command: Command) -> Result:
        return _answer(answers, command)

    refused = {each[1]: int(each["group"]) for each in _HEADER.finditer(tree) if each["group"]}
    written = folder / "registry.json"
    registry = recorded_registry(written.read_text("utf-8")) if written.is_file() else None
    place = _target(target, environ, root)
    return World(place, environ, run, target.os, root, refused, registry=registry)


def unpack(text: str, root: Path) -> None:
    """Write the files, links and folders of a tree below a folder."""
    for path, link, flags, content in _entries(text):
        place = root / path.lstrip("/").replace("%20", " ")
        if path.endswith("/"):
            place.mkdir(parents=True)
            continue
        place.parent.mkdir(parents=True, exist_ok=True)
        if link:
            place.symlink_to(link)
            continue
        place.write_bytes(_unescaped(content) if "escaped" in flags else content.encode())
        if "executable" in flags:
            place.chmod(0o755)


def _entries(text: str) -> Iterator[tuple[str, str, str, str]]:
    headers = list(_HEADER.finditer(text))
    ends = [header.start() for header in headers[1:]] + [len(text)]
    for header, end in zip(headers, ends, strict=True):
        yield header[1], header[2] or "", header[3] or "", text[header.end() : end]


def _unescaped(content: str) -> bytes:
    return content.removesuffix("\n").encode("ascii").decode("unicode_escape").encode("latin-1")


def _answer(answers: list[Answer], command: Command) -> Result:
    words = " ".join(command.argv)
    found = next((each for each in answers if fnmatch.fnmatchcase(words, each.argv)), None)
    if found is None:
        raise AssertionError(f"nobody recorded what this answers: {words}")
    return found.result()


def _target(recorded: RecordedTarget, environ: dict[str, str], root: Path) -> Target:
    def below(path: str) -> str:
        return str(root) + path

    site = tuple(below(path) for path in recorded.site)
    own = next(path for path in recorded.site if "/.local/" not in path)
    roots = {"prefix": below(recorded.prefix), "site": below(own), "home": below(environ["HOME"])}
    python = below(recorded.python)
    return Target(
        "environment", recorded.label, recorded.reason, python, site, roots, recorded.may_run
    )


def _text(text: str | list[str]) -> str:
    return "\n".join(text) if isinstance(text, list) else text
