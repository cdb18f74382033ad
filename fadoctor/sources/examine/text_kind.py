"""What a pasted text is: which file it would be, by its content alone.

A text has no name. Each shape names the file that a text of this form would be; readers of
manifests and configurations have the last word, and what none of them reads is a log.
"""

from __future__ import annotations

import re
from enum import Enum
from typing import TYPE_CHECKING, NamedTuple

from fadoctor.model.packages import PACKAGES
from fadoctor.sources.probes.metadata import normalise_name

if TYPE_CHECKING:
    from collections.abc import Iterator

HEAD = 1 << 16
"""Characters that decide."""


class TextKind(Enum):
    """What a text is."""

    ERROR = "error"
    """A log, a traceback, one line of either."""
    ISSUE = "issue"
    """A text for people with an error or versions in it."""
    REPORT = "report"
    """What a tool printed about an environment: collect_env, pip list, nvidia-smi."""
    FACTS = "facts"
    """What ``fadoctor facts`` or ``fadoctor check`` printed as JSON."""
    REQUIREMENTS = "requirements"
    """A requirements file, a lock, another manifest."""
    CONFIGURATION = "configuration"
    """A configuration, a script or a command that trains or serves."""
    GPU = "gpu"
    """No text: a GPU alone was named."""


class Guess(NamedTuple):
    """A file that a text may be."""

    name: str
    asks_for_packages: bool
    configures: bool


_FLAGS = re.MULTILINE
_LOG = re.compile(
    r"^Traceback \(most recent call last\)|^\s{0,40}File \"[^\"\n]{1,400}\", line \d|"
    r"^(?:[\w.]{1,80}(?:Error|Exception)|ERROR|WARNING|CRITICAL)\b[^\n]{0,20}[: ]|^CMake Error",
    _FLAGS,
)
_MARKDOWN = re.compile(r"^(?:#{1,4} \S|```|~~~|\*\*[^\n]{1,80}\*\*|<details>|- \[[ xX]\])", _FLAGS)

_MANIFESTS = tuple(
    (name, tuple(re.compile(each, _FLAGS) for each in patterns))
    for name, *patterns in (
        ("uv.lock", r"^\[\[package\]\]", r"^source = \{"),
        ("poetry.lock", r"^\[\[package\]\]", r"^content-hash = "),
        ("pdm.lock", r"^\[\[package\]\]", r"^content_hash = "),
        ("pylock.toml", r"^lock-version = ", r"^\[\[packages\]\]"),
        ("pyproject.toml", r"^\[(?:project|build-system|dependency-groups|tool\.[\w-]+)[.\w-]*\]"),
        ("pixi.toml", r"^\[(?:workspace|project)\]", r"^\[(?:pypi-)?dependencies\]"),
        ("Pipfile", r"^\[packages\]"),
        ("setup.cfg", r"^\[options\]", r"^install_requires"),
        ("pixi.lock", r"^environments:", r"^packages:"),
        ("conda-lock.yml", r"^metadata:", r"^package:"),
        ("environment.yml", r"^dependencies:", r"^\s{0,20}- "),
    )
)
"""Names of files, and what a text of each has: all of it. The first one counts."""

_DOCKERFILE = re.compile(
    r"\A(?:[ \t]*(?:#[^\n]{0,1000}|ARG[ \t][^\n]{1,1000})?\n){0,200}"
    r"[ \t]*FROM[ \t]+(?:--platform=\S{1,100}[ \t]+)?\S{1,300}(?:[ \t]+AS[ \t]+\S{1,100})?[ \t]*$",
    re.IGNORECASE | re.MULTILINE,
)
_MAKEFILE = re.compile(r"^[\w.%/-]{1,100}[ \t]{0,9}:(?!=)[^\n]{0,300}\n\t\S", _FLAGS)
_OPTION = (
    r"-(?:[recif]|-(?:requirement|constraint|editable|index-url|extra-index-url|find-links|"
    r"no-binary|only-binary|pre|prefer-binary|no-index|trusted-host|no-build-isolation))\b.*"
)
_VERSIONED = (
    r"(?:\[[^\]\n]{1,200}\])?\s{0,9}"
    r"(?:(?:===?|[<>~!]=?)\s{0,9}[\w.*+!, <>=~-]{1,300}|@\s{0,9}\S{1,2000})"
)
_NAME = r"[A-Za-z0-9](?:[A-Za-z0-9._-]{0,98}[A-Za-z0-9])?"
_ADDRESS = r"(?:git\+|https?://|file:)\S{1,2000}"
_TAIL = r"(?:\s{0,9};[^\n]{1,1000})?(?:\s{1,9}(?:#|--hash|\\)[^\n]{0,4000})?"
_REQUIREMENT = re.compile(
    rf"(?:{_NAME}(?:{_VERSIONED}|\[[^\]\n]{{1,200}}\])?|{_ADDRESS}|{_OPTION}|--hash=\S+(?:\s{{0,9}}\\)?){_TAIL}"
)
_TELLING = re.compile(rf"{_NAME}{_VERSIONED}{_TAIL}|{_ADDRESS}|{_OPTION}")
_INCLUDE = re.compile(r"^(-[rc]\b|--requirement\b|--constraint\b)", _FLAGS)

_COMMAND = re.compile(
    r"(?:[A-Z_][A-Z0-9_]{1,80}=\S{0,400}\s{1,9}){0,20}(?:export|set|source|cd|pip3?|uv|conda|mamba|micromamba|"
    r"apt|apt-get|sudo|python[\d.]*|accelerate|torchrun|deepspeed|vllm|sglang|docker|podman|srun|sbatch|"
    r"llamafactory-cli|axolotl|swift|tune|trl|ray|huggingface-cli|hf|git|mkdir|echo|CUDA_VISIBLE_DEVICES)\b"
)
_INSTALLS = re.compile(
    r"\b(?:pip3?|uv|conda|mamba|micromamba|poetry|pixi)\s[^\n]{0,200}\b(?:install|add|create|sync)\b"
)
_SHEBANG = re.compile(r"#!\s{0,4}\S{0,100}\b(?:bash|zsh|dash|ksh|sh)\b")
_PYTHON = re.compile(
    r"^(?:from [\w.]{1,200} import \S|import [\w.]{1,200}(?: as \w{1,80})?\s{0,9}(?:#.*)?$)", _FLAGS
)
_NO_PYTHON = re.compile(r"^(?:>>> |\$ |```|In \[\d)", _FLAGS)
_YAML_KEY = re.compile(r"^[\"']?[\w./-]{1,100}[\"']?:(?:\s|$)", _FLAGS)


def is_issue(text: str) -> bool:
    """Return whether a text was written for people, with Markdown in it."""
    return _MARKDOWN.search(text, 0, HEAD) is not None


def guesses_of(text: str) -> tuple[Guess, ...]:
    """Return the files that a text may be, the likeliest first; none for a log."""
    head = text[:HEAD].replace("\r\n", "\n").strip("\n")
    if not head.strip():
        return ()
    first = head.lstrip()[:1]
    if first == "{":
        return (_notebook() if '"nbformat"' in text else Guess("config.json", False, True),)
    if _LOG.search(head):
        return ()
    for name, patterns in _MANIFESTS:
        if all(pattern.search(head) for pattern in patterns):
            return (Guess(name, True, False),)
    return tuple(_others(head))


def without_includes(text: str) -> tuple[str, bool]:
    """Return requirements without the files that they include, which nobody pasted; and whether."""
    found = _INCLUDE.search(text) is not None
    return _INCLUDE.sub(r"# \1", text), found


def _others(head: str) -> Iterator[Guess]:
    """Yield at most one guess: each form is asked only where no earlier one fits."""
    lines = [line.strip() for line in head.split("\n")]
    lines = [line for line in lines if line and not line.startswith("#")]
    installs = _INSTALLS.search(head) is not None
    is_python = _PYTHON.search(head) is not None and not _NO_PYTHON.search(head)
    if _DOCKERFILE.match(head):
        yield Guess("Dockerfile", asks_for_packages=True, configures=True)
    elif _are_requirements(lines):
        yield Guess("requirements.txt", asks_for_packages=True, configures=False)
    elif _SHEBANG.match(head) or _are_commands(head):
        yield Guess("run.sh", asks_for_packages=installs, configures=True)
    elif _MAKEFILE.search(head):
        yield Guess("Makefile", asks_for_packages=False, configures=True)
    elif is_python:
        yield Guess("train.py", asks_for_packages="# /// script" in head, configures=True)
    elif _YAML_KEY.search(head):
        yield Guess("config.yaml", asks_for_packages=False, configures=True)


def _notebook() -> Guess:
    return Guess("notebook.ipynb", True, True)


def _are_requirements(lines: list[str]) -> bool:
    fits = all(_REQUIREMENT.fullmatch(line) for line in lines)
    return fits and (any(map(_TELLING.fullmatch, lines)) or _named_packages(lines) > 1)


def _named_packages(lines: list[str]) -> int:
    """Return how many lines begin with the name of a package of the stack: one may be a search."""
    named = {names for names in PACKAGES.values() for line in lines if _name_of(line) in names}
    return len(named)


def _name_of(line: str) -> str:
    found = re.match(_NAME, line)
    return normalise_name(found[0]) if found else ""


def _are_commands(head: str) -> bool:
    """Return whether each line that continues no other begins with a command."""
    joined = re.sub(r"\\\n", " ", head)
    lines = [line.strip() for line in joined.split("\n")]
    lines = [line for line in lines if line and not line.startswith("#")]
    return bool(lines) and all(_COMMAND.match(line) for line in lines)
