"""Programs that start another one on the same machine: ``sudo``, ``env``, ``time``, ``srun``."""

from __future__ import annotations

import posixpath
import re
from typing import TYPE_CHECKING

import msgspec

if TYPE_CHECKING:
    from collections.abc import Sequence

_ASSIGNMENT = re.compile(r"[A-Za-z_]\w{0,100}\+?=")


class _Prefix(msgspec.Struct, frozen=True):
    """How the words of such a program are told from those of what it starts."""

    valued: frozenset[str] = frozenset()
    """Options whose value is a word of its own."""
    flags: frozenset[str] | None = None
    """Where most long options have one: those that have none."""
    leading: int = 0
    """Words that come first: the time of ``timeout``."""


_NONE = _Prefix()
_SLURM = _Prefix(
    frozenset(f"-{letter}" for letter in "ABCcDdeGiJkLmMNnopqtTwWx"),
    frozenset((
        "--pty", "--exclusive", "--label", "--unbuffered", "--overlap", "--overcommit", "--quiet",
        "--verbose", "--no-kill", "--kill-on-bad-exit", "--contiguous", "--exact", "--hold",
        "--disable-status", "--container-writable", "--container-mount-home",
        "--container-remap-root", "--no-container-mount-home", "--no-container-remap-root",
        "--no-container-entrypoint",
    )),
)  # fmt: skip
_CONDA = _Prefix(frozenset(("-n", "--name", "-p", "--prefix", "--cwd")), leading=1)
_PREFIXES = {
    "sudo": _Prefix(frozenset((
        "-u", "-g", "-h", "-p", "-C", "-T", "-r", "-t", "-U", "-R", "-D", "--user", "--group",
    ))),
    "doas": _Prefix(frozenset(("-u", "-C"))),
    "env": _Prefix(frozenset(("-u", "--unset", "-C", "--chdir"))),
    "time": _Prefix(frozenset(("-f", "-o", "--format", "--output"))),
    "nice": _Prefix(frozenset(("-n", "--adjustment"))),
    "ionice": _Prefix(frozenset(("-c", "-n", "-p"))),
    "timeout": _Prefix(frozenset(("-k", "-s", "--kill-after", "--signal")), leading=1),
    "stdbuf": _Prefix(frozenset(("-i", "-o", "-e"))),
    "taskset": _Prefix(leading=1),
    "exec": _Prefix(frozenset(("-a",))),
    "nohup": _NONE, "command": _NONE, "builtin": _NONE, "setsid": _NONE, "unbuffer": _NONE,
    "srun": _SLURM,
    "conda": _CONDA, "mamba": _CONDA, "micromamba": _CONDA,
}  # fmt: skip
_LIMIT = 16


def program_index(words: Sequence[str]) -> int:
    """Return the index of the program that a command comes to; all words where it starts none."""
    at = 0
    for _ in range(_LIMIT):
        name = posixpath.basename(words[at]) if at < len(words) else ""
        prefix = _PREFIXES.get(name)
        following = words[at + 1] if at + 1 < len(words) else ""
        is_query = name == "command" and following in {"-v", "-V"}
        if prefix is None or is_query or (prefix is _CONDA and following != "run"):
            return at
        at = _after(words, at + 1, prefix)
    return at


def _after(words: Sequence[str], at: int, prefix: _Prefix) -> int:
    """Return the index of the first word after the options of a program."""
    leading = prefix.leading
    while at < len(words):
        word = words[at]
        if word.startswith("-") and len(word) > 1:
            at += 1
            if word == "--":
                break
            is_long = word.startswith("--") and "=" not in word
            if word in prefix.valued or (
                prefix.flags is not None and is_long and word not in prefix.flags
            ):
                at += 1
        elif _ASSIGNMENT.match(word):
            at += 1
        elif leading:
            leading -= 1
            at += 1
        else:
            break
    return min(at, len(words))
