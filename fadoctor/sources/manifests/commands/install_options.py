"""Options of commands that install: which of them take a value, and which say something."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import msgspec

from fadoctor.syntax.shell_filled_words import FilledWord

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

INDEX = ("-i", "--index-url", "--pypi-url", "--default-index")
MORE_INDEXES = ("--extra-index-url", "--index")
FILES = ("-r", "--requirement", "--requirements")
BOUNDS = ("-c", "--constraint", "--constraints", "--override", "--overrides", "-b")
PAGES = ("-f", "--find-links")
ELSEWHERE = ("-t", "--target", "--prefix", "--root")
ALONE = frozenset(("--no-deps", "--no-dependencies"))
UPGRADE = frozenset(("-U", "--upgrade", "--force-reinstall", "--reinstall"))
CHANNELS = ("-c", "--channel")

_INSTALLER = re.compile(
    r"(?:\b(?:pip[\d.]*|uv|conda|mamba|micromamba|poetry|pdm|pipenv|pixi)\b|\$\{?\w{0,60}(?:PIP|UV|CONDA|MAMBA|POETRY|PDM)\w{0,20})"
    r"[^\n]{0,200}\b(?:install|sync|add|create|update)\b"
)
_PIP_VALUES = frozenset((
    *INDEX, *MORE_INDEXES, *FILES, *BOUNDS, *ELSEWHERE, "-e", "--editable", "-f",
    "--find-links", "--no-binary", "--only-binary", "--platform", "--python-version",
    "--implementation", "--abi", "--cache-dir", "--timeout", "--default-timeout", "--retries",
    "--trusted-host", "--proxy", "--cert", "--client-cert", "--src", "--upgrade-strategy",
    "--progress-bar", "--root-user-action", "--report", "--config-settings", "--config-setting",
    "-C", "--global-option", "--log", "--install-option", "--build-option", "--use-feature",
    "--use-deprecated", "--exists-action", "--keyring-provider", "-p", "--python",
    "--torch-backend", "--index-strategy", "--extra", "--hash", "--group", "--no-group",
    "--only-group", "--exclude-newer", "--link-mode", "--prerelease", "--resolution",
    "--python-platform", "--allow-insecure-host", "--no-build-package", "--color",
    "--no-binary-package", "--no-build-isolation-package", "--refresh-package", "--project",
    "-P", "--directory", "--upgrade-package", "--reinstall-package", "--only-binary-package",
    "--tag", "--rev", "--branch", "--optional", "--package", "--no-install-package",
    "--config-file", "--retry", "--marker", "-m", "--bounds", "--with", "--without", "--only",
    "-E", "-G", "--extras",
))  # fmt: skip
_CONDA_VALUES = frozenset((
    *CHANNELS, "-n", "--name", "-p", "--prefix", "--file", "-f", "--solver", "--platform",
    "--subdir", "-r", "--root-prefix", "--repodata-fn", "--experimental-solver", "--rc-file",
    "--category", "-e",
))  # fmt: skip


# export PIP_EXTRA_INDEX_URL=..., pip config set global.extra-index-url ...
_MORE_ELSEWHERE = re.compile(
    r"\b(?:PIP|UV)_(?:EXTRA_INDEX_URL|FIND_LINKS|INDEX|INDEX_STRATEGY)\b"
    r"|\bconfig set [^\n]{0,60}(?:extra[-_]index|find[-_]links)"
)
# -qU, -qqq
_FLAGS = re.compile(r"-[qvUIyu]{2,9}")


def is_installer(text: str) -> bool:
    """Say whether a command seems to install something."""
    return _INSTALLER.search(text) is not None


def of_module(words: list[FilledWord]) -> list[FilledWord]:
    """Return the words after ``python -m``, the module first; none where Python runs another thing.

    py -3.11 -m pip, python.exe -s -m pip, python -mpip
    """
    at = 1
    while at < len(words):
        text = words[at].text
        if text == "-m":
            return words[at + 1 :]
        if text.startswith("-m"):
            return [msgspec.structs.replace(words[at], text=text[2:]), *words[at + 1 :]]
        if text in _PYTHON_VALUES:
            at += 1
        elif _PYTHON_FLAGS.fullmatch(text) is None:
            break
        at += 1
    return []


_PYTHON_VALUES = ("-X", "-W")
# -s, -uI, -Xutf8, py -3.11-64, py -V:3.12
_PYTHON_FLAGS = re.compile(
    r"-[bBdEhiIOPqsSuvx]{1,9}|-[XW].{1,60}|-\d(?:\.\d{1,2})?(?:-\d{2})?|-V:.{1,40}"
)


def with_options(words: tuple[FilledWord, ...]) -> tuple[FilledWord, ...]:
    """Return what ``uv run`` installs before it runs a program: ``--with torch==2.6.0``."""
    found: list[FilledWord] = []
    for at, word in enumerate(words):
        name, is_joined, value = word.text.partition("=")
        if name == "--with" and is_joined:
            found += [msgspec.structs.replace(word, text=each) for each in value.split(",") if each]
        elif word.text == "--with":
            found += words[at + 1 : at + 2]
        elif not word.text.startswith("-") and words[at - 1].text[:1] != "-":
            break  # the program, with its own options
    return tuple(found)


_BOUNDS_OF = {True: "UV_CONSTRAINT", False: "PIP_CONSTRAINT"}
"""Whether it is uv -> the variable that names its files of constraints, with blanks between."""


class InstallArguments(msgspec.Struct, frozen=True):
    """The words after a command, sorted."""

    plain: tuple[FilledWord, ...]
    options: tuple[tuple[str, FilledWord], ...]
    """Options that have a value, with it."""
    flags: frozenset[str]

    def values(self, names: tuple[str, ...]) -> list[FilledWord]:
        """Return the values of an option by all of its names, in order."""
        return [word for name, word in self.options if name in names]


def bounds_of(
    given: InstallArguments,
    variables: Mapping[str, str | None],
    words: Sequence[FilledWord],
    *,
    is_uv: bool,
) -> list[FilledWord]:
    """Return the files of constraints that a command heeds: its options', and its variable's."""
    said = (variables.get(_BOUNDS_OF[is_uv]) or "").split() if words else ()
    own = given.values(BOUNDS)
    return [*own, *(FilledWord(each, words[0].at) for each in said)]


def asks_one_index(given: InstallArguments, text: str, *, is_uv: bool) -> bool:
    """Return whether a command asks no other index than the one that it names.

    pip asks all that are named at once; uv takes the first one that has the package.
    `text`: the whole file, which may name more by variables.
    """
    more = ("-f", "--find-links", "--index-strategy", *(() if is_uv else MORE_INDEXES))
    return not given.values(more) and _MORE_ELSEWHERE.search(text) is None


def sort_arguments(words: tuple[FilledWord, ...], *, is_conda: bool = False) -> InstallArguments:
    """Return plain words, options with values and flags."""
    with_value = _CONDA_VALUES if is_conda else _PIP_VALUES
    plain: list[FilledWord] = []
    options: list[tuple[str, FilledWord]] = []
    flags: set[str] = set()
    at = 0
    while at < len(words):
        word = words[at]
        at += 1
        if not word.text.startswith("-") or word.text == "-":
            plain.append(word)
            continue
        name, equals, value = word.text.partition("=")
        if equals:
            options.append((name, msgspec.structs.replace(word, text=value)))
        elif name in with_value and at < len(words):
            options.append((name, words[at]))
            at += 1
        elif len(name) > 2 and name[:2] in with_value and name[1] != "-":  # -rrequirements.txt
            options.append((name[:2], msgspec.structs.replace(word, text=name[2:])))
        elif _FLAGS.fullmatch(name):
            flags |= {f"-{letter}" for letter in name[1:]}
        else:
            flags.add(name)
    return InstallArguments(tuple(plain), tuple(options), frozenset(flags))
