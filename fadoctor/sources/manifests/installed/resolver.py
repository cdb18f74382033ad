"""Ask uv, else pip, which releases come: metadata is fetched, nothing is built or installed."""

from __future__ import annotations

import re
import shutil
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from fadoctor.model.fact import printable
from fadoctor.processes.command import Command, Ending, child_environment
from fadoctor.sources.manifests.installed.question import lines, name_in
from fadoctor.sources.probes.metadata import normalise_name

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from fadoctor.processes.command import Result
    from fadoctor.sources.manifests.installed.question import ResolverQuestion

    Run = Callable[[Command], Result]

TIMEOUT_S = 120.0
"""Of one question; fewer than `_TRIES` are asked."""
_TRIES = 4
_OUTPUT_LIMIT = 32 << 20
_WORDS = 400
_GLIBC = (17, 28, *range(31, 41))
"""glibc 2.x for which uv has a name."""
_OTHERS = {"win_amd64": "x86_64-pc-windows-msvc", "macosx_arm64": "aarch64-apple-darwin"}
_OWN = {"linux": "linux_", "win32": "win_", "darwin": "macosx_"}

# torch==2.8.0
_PIN = re.compile(r"([A-Za-z0-9][A-Za-z0-9._-]{0,99})==([\w.!+]{1,60})")
# hint: Wheels are required for `flash-attn` because building from source is disabled
_ONLY_SOURCES = re.compile(r"Wheels are required for `([\w.-]{1,100})` because building from")
# ERROR: ... requirement flash-attn==2.8.3 (from versions: none)
_NOT_LISTED = re.compile(r"requirement ([\w.-]{1,100})[^\n]{0,200}\(from versions: none\)")
# pip 24.0 from /usr/lib/python3/dist-packages/pip (python 3.12)
_OF_PIP = re.compile(r"pip (\S{1,30}) from .{1,500} \(python (\d{1,2}\.\d{1,3})\)")
_UNPROVED = re.compile(
    r"wheels|source|not found in|no versions? of|network|offline|connection|timed? ?out"
    r"|certificate",
    re.IGNORECASE,
)
"""Words with which a refusal may have another reason than what packages require of each other."""


class ResolverAnswer(msgspec.Struct, frozen=True):
    """What a resolver says."""

    by: str
    """Who was asked, with its version; "" where neither uv nor pip is there."""
    pins: dict[str, str] = {}
    """Package -> the release that comes; empty where nothing is known."""
    left_out: tuple[str, ...] = ()
    """Packages of which there are only sources, so that they were not asked about."""
    refusal: str = ""
    """Why no releases meet all that is asked for, in its words; "" where that is not proved."""
    failure: str = ""
    """Why there is no answer."""


def ask(question: ResolverQuestion, run: Run, environ: Mapping[str, str]) -> ResolverAnswer:
    """Return what the resolver at hand says, within a few minutes at most."""
    path = environ.get("PATH")
    program = shutil.which("uv", path=path) or shutil.which("pip", path=path)
    if program is None:
        return ResolverAnswer("", failure="neither uv nor pip is on PATH")
    with tempfile.TemporaryDirectory(prefix="fadoctor-") as folder:
        asked = _Asked(program, Path(folder), run, child_environment(environ, NO_COLOR="1"))
        by, failure = asked.name(question)
        return ResolverAnswer(by, failure=failure) if failure else asked.answer(question, by)


class _Asked:
    """One resolver, and the folder in which it reads the question."""

    def __init__(self, program: str, folder: Path, run: Run, environ: dict[str, str]) -> None:
        self.program, self.folder, self.run, self.environ = program, folder, run, environ
        self.is_uv = Path(program).stem.lower() == "uv"

    def name(self, question: ResolverQuestion) -> tuple[str, str]:
        """Return name and version, and why it cannot answer this question, "" where it can."""
        result = self._run((self.program, "--version"), 20.0)
        if not result.ok:
            return "uv" if self.is_uv else "pip", printable(result.describe(), 200)
        if self.is_uv:
            return printable(" ".join(result.stdout.split()[:2]), 40), ""
        found = _OF_PIP.search(result.stdout)
        minor = ".".join(question.python.split(".")[:2])
        own = _OWN.get(sys.platform, "?")
        if found is None or found[2] != minor or not question.platform.startswith(own):
            return "pip", "it resolves for its own Python and system alone; uv for any"
        return f"pip {found[1]}", ""

    def answer(self, question: ResolverQuestion, by: str) -> ResolverAnswer:
        left_out: tuple[str, ...] = ()
        for _ in range(_TRIES):
            result = self._resolve(question)
            if result.ok:
                return _read(result, by, left_out, is_uv=self.is_uv)
            listed = {normalise_name(name_in(text)) for text in question.requirements}
            text = f"{result.stdout}\n{result.stderr}"
            pattern = _ONLY_SOURCES if self.is_uv else _NOT_LISTED
            without = {normalise_name(name) for name in pattern.findall(text)} & listed
            if not without or without == listed:
                break
            left_out = (*left_out, *sorted(without))
            names = (name_in(text) for text in question.requirements)
            question = question.without(
                frozenset(name for name in names if normalise_name(name) in without)
            )
        return _refused(result, by, left_out)

    def _resolve(self, question: ResolverQuestion) -> Result:
        wanted, bounds = self.folder / "requirements.in", self.folder / "constraints.txt"
        wanted.write_text("".join(lines(question.requirements)), "utf-8")
        bounds.write_text("".join(lines(question.constraints)), "utf-8")
        options = _of_uv(question) if self.is_uv else _OF_PIP_OPTIONS
        indexes = [f"--index-url={question.only_index}"] if question.only_index else []
        indexes += [f"--extra-index-url={each}" for each in question.indexes]
        files = (str(wanted),) if self.is_uv else ("--requirement", str(wanted))
        argv = (self.program, *options, *indexes, "--constraint", str(bounds), *files)
        return self._run(argv, TIMEOUT_S)

    def _run(self, argv: tuple[str, ...], seconds: float) -> Result:
        """Run where no project's settings are: only those of the user count."""
        return self.run(
            Command(argv, seconds, self.environ, output_limit=_OUTPUT_LIMIT, cwd=str(self.folder))
        )


_OF_PIP_OPTIONS = (
    "install", "--dry-run", "--ignore-installed", "--quiet", "--no-input", "--report", "-",
    "--disable-pip-version-check", "--only-binary", ":all:",
)  # fmt: skip


def _of_uv(question: ResolverQuestion) -> tuple[str, ...]:
    return (
        "pip", "compile", "--quiet", "--no-header", "--no-annotate", "--no-build",
        "--no-python-downloads", "--color=never",
        f"--python-version={question.python}", f"--python-platform={_platform(question)}",
    )  # fmt: skip


def _platform(question: ResolverQuestion) -> str:
    """Return the platform as uv names it; of a glibc the newest that is no newer."""
    if question.platform in _OTHERS:
        return _OTHERS[question.platform]
    machine = "aarch64" if question.platform.endswith("aarch64") else "x86_64"
    _, _, minor = question.glibc.partition(".")
    has = int(minor) if minor.isdecimal() else _GLIBC[1]
    fitting = [each for each in _GLIBC if each <= has]
    return f"{machine}-manylinux_2_{max(fitting, default=_GLIBC[0])}"


def _read(result: Result, by: str, left_out: tuple[str, ...], *, is_uv: bool) -> ResolverAnswer:
    pins = _uv_pins(result.stdout) if is_uv else _pip_pins(result.stdout)
    if result.truncated or not pins:
        return ResolverAnswer(by, left_out=left_out, failure="its answer could not be read")
    return ResolverAnswer(by, pins, left_out)


def _uv_pins(text: str) -> dict[str, str]:
    found = (_PIN.fullmatch(line.partition(";")[0].strip()) for line in text.splitlines())
    return {normalise_name(match[1]): match[2] for match in found if match}


class _Metadata(msgspec.Struct, frozen=True):
    name: str
    version: str


class _Item(msgspec.Struct, frozen=True):
    metadata: _Metadata


class _Report(msgspec.Struct, frozen=True):
    install: list[_Item]


def _pip_pins(text: str) -> dict[str, str]:
    try:
        report = msgspec.json.decode(text, type=_Report)
    except (msgspec.DecodeError, RecursionError):
        return {}
    told = (f"{each.metadata.name}=={each.metadata.version}" for each in report.install)
    return _uv_pins("\n".join(told))


def _refused(result: Result, by: str, left_out: tuple[str, ...]) -> ResolverAnswer:
    words = " ".join(result.stderr.split()).removeprefix("error: ")
    is_refused = result.ending is Ending.EXITED and (
        "No solution found" in words or "ResolutionImpossible" in words
    )
    told = printable(words, _WORDS) if words else result.describe()
    if is_refused and not left_out and not _UNPROVED.search(words):
        return ResolverAnswer(by, refusal=told)
    if result.ending is not Ending.EXITED:
        told = printable(result.describe(), 200)
    return ResolverAnswer(by, left_out=left_out, failure=told)
