"""Completion by the shells themselves, where they are here, and the values that it proposes."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
from typing import TYPE_CHECKING

import pytest

from fadoctor.interfaces.cli import app, proposals
from fadoctor.knowledge.matrix.load import load_knowledge
from fadoctor.repair.plan.search.wished_names import package_of
from fadoctor.sources.targets.gpu_name import find_gpu
from tests.cli.conftest import COMMAND

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

SHELLS = {
    "bash": 'eval "$(_FADOCTOR_COMPLETE=source_bash fadoctor)"; COMP_WORDS=({words}); '
    "COMP_CWORD={last}; _fadoctor_completion fadoctor; printf '%s\\n' \"${{COMPREPLY[@]}}\"",
    "fish": '_FADOCTOR_COMPLETE=source_fish fadoctor | source; complete -C "{line}"',
    # what `_arguments` would show, without a terminal
    "zsh": "compdef() {{ : }}; _arguments() {{ print -l -- $@ }}; "
    'eval "$(_FADOCTOR_COMPLETE=source_zsh fadoctor)"; words=({quoted}); CURRENT={count}; '
    "_fadoctor_completion",
}

PROPOSED: dict[str, Callable[[str], list[proposals.Proposal]]] = {
    "gpus": proposals.gpus, "rule_ids": proposals.rule_ids, "areas": proposals.areas,
    "backends": proposals.backends, "devices": proposals.devices, "platforms": proposals.platforms,
    "config_kinds": proposals.config_kinds, "packages": proposals.packages,
    "wishes": proposals.wishes,
}  # fmt: skip


@pytest.fixture
def path(tmp_path: Path) -> str:
    """Return a PATH on which the program is called as people call it."""
    program = tmp_path / "bin" / "fadoctor"
    program.parent.mkdir()
    program.write_text(f'#!/bin/sh\nexec {shlex.join(COMMAND)} "$@"\n')
    program.chmod(0o755)
    return f"{program.parent}{os.pathsep}{os.environ['PATH']}"


def proposed(shell: str, line: str, path: str, home: Path) -> str:
    words = line.split(" ")
    quoted = " ".join(shlex.quote(word) for word in words)
    script = SHELLS[shell].format(
        words=quoted, quoted=quoted, line=line, last=len(words) - 1, count=len(words)
    )
    plain = {"bash": ["--norc"], "zsh": ["-f"], "fish": ["--no-config"]}[shell]
    done = subprocess.run(
        [shell, *plain, "-c", script],
        env={"PATH": path, "HOME": str(home), "LC_ALL": "C.UTF-8"},
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    assert done.stderr == ""
    return done.stdout


@pytest.mark.long
@pytest.mark.parametrize("shell", SHELLS)
@pytest.mark.parametrize(
    ("line", "wanted", "other"),
    [
        ("fadoctor exp", "explain", "check"),
        ("fadoctor check --gpu RTX-509", "RTX-5090", "RTX-4090"),
        ("fadoctor rules show gpu-too", "gpu-too-old-fa2", "driver-too-old"),
        ("fadoctor smoke --dtype bf", "bf16", "fp16"),
    ],
)
def test_a_shell_completes(  # noqa: PLR0917 -- two fixtures
    shell: str, line: str, wanted: str, other: str, path: str, tmp_path: Path
) -> None:
    if shutil.which(shell) is None:
        pytest.skip(f"{shell} is not here")
    found = proposed(shell, line, path, tmp_path)
    assert wanted in found
    assert other not in found


@pytest.mark.parametrize("name", PROPOSED)
def test_what_is_proposed_is_one_word_and_begins_as_it_was_typed(name: str) -> None:
    found = PROPOSED[name]("")
    assert len({value for value, _ in found}) == len(found) > 2
    words = [value.removesuffix(":0") for value, _ in found]
    assert [word for word in words if not re.fullmatch(r"[\w.+-]+", word, re.ASCII)] == []
    first = found[0][0]
    assert first in [value for value, _ in PROPOSED[name](first.upper())]
    assert PROPOSED[name]("no such thing") == []


def test_every_gpu_that_is_proposed_is_found_by_that_name() -> None:
    tables = load_knowledge().tables
    for value, kind in proposals.gpus(""):
        if value != "none":
            gpu = find_gpu(value, tables)
            assert (gpu.compute_capability or gpu.gfx) == kind


def test_every_package_that_is_proposed_is_one_to_plan_for() -> None:
    assert all(package_of(value, "--keep") for value, _ in proposals.packages(""))


def test_a_start_that_completes_nothing_pays_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.argv", ["fadoctor", "facts"])
    assert app._asked()._add_completion is False
    monkeypatch.setenv("_FADOCTOR_COMPLETE", "complete_bash")
    monkeypatch.setenv("COMP_WORDS", "fadoctor facts --py")
    asked = app._asked()
    assert asked._add_completion is True
    assert [each.callback.__name__ for each in asked.registered_commands if each.callback] == [
        "facts"
    ]
