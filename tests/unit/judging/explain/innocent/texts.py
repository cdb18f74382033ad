"""Texts that report no failure: what people write beside an environment in which all fits."""

from __future__ import annotations

import textwrap
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING

from tests.plain_yaml import read_plain
from tests.unit.judging.explain.innocent.environments import (
    FORMS,
    MACHINES,
    SETS,
    collect_env,
    pip_list,
)

if TYPE_CHECKING:
    from collections.abc import Callable

MESSAGES: dict[str, list[str]] = read_plain(Path(__file__).with_name("messages.yaml"))
PACKAGES = MESSAGES.pop("packages")

WRAPPED_AT = 80
FEWEST_LINES = 6
"""A person who cuts an environment leaves at least so many lines."""


def _cut(draw: Random, pasted: str) -> str:
    lines = pasted.splitlines()
    first = draw.randrange(max(1, len(lines) // 3))
    last = draw.randrange(min(len(lines), first + FEWEST_LINES), len(lines) + 1)
    return "\n".join(lines[first:last])


def _wrapped(_: Random, pasted: str) -> str:
    return "\n".join(
        part for line in pasted.splitlines() for part in textwrap.wrap(line, WRAPPED_AT) or [""]
    )


def _fenced(_: Random, pasted: str) -> str:
    return f"```text\n{pasted}\n```"


def _quoted(_: Random, pasted: str) -> str:
    return "\n".join(f"> {line}" for line in pasted.splitlines())


def _indented(_: Random, pasted: str) -> str:
    return textwrap.indent(pasted, "    ")


def _folded(_: Random, pasted: str) -> str:
    return f"### Your environment\n\n{pasted}\n\n### Before you ask\n\n- [x] I read the docs."


def _whole(_: Random, pasted: str) -> str:
    return pasted


WAYS: tuple[Callable[[Random, str], str], ...] = (
    _whole, _fenced, _quoted, _indented, _folded, _wrapped, _cut,
)  # fmt: skip
BETWEEN = ("\n\n", "\n", "\n\n### Environment\n\n", " ")


def innocent_text(seed: int) -> str:
    """Return a text that is the same for a number: a message, and an environment beside it."""
    draw = Random(seed)  # noqa: S311
    language = draw.choice(["en", *MESSAGES])
    told = draw.choice(MESSAGES[language]).format(p=draw.choice(PACKAGES))
    if draw.random() < 0.3:
        told += " " + draw.choice(MESSAGES[language]).format(p=draw.choice(PACKAGES))
    machine = draw.choice(MACHINES)
    versions = SETS[draw.choice(machine.sets)]
    pasted = draw.choice(FORMS)(draw, machine, versions)
    pasted = draw.choice(WAYS)(draw, pasted)
    return f"{told}{draw.choice(BETWEEN)}{pasted}\n"


def healthy_states() -> list[tuple[str, str]]:
    """Return each set on each of its machines, in the words of both of torch and of pip."""
    return [
        (f"{name} on {machine.gpu or 'a Mac'}", "\n\n".join(
            form(Random(0), machine, SETS[name]) for form in (collect_env, pip_list)))  # noqa: S311
        for machine in MACHINES
        for name in machine.sets
    ]  # fmt: skip
