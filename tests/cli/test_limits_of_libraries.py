"""What a library refuses or lays out by itself: our sentence, our width, our exit code.

Each release of a parser has another limit and other words. These run with the oldest and the newest
releases that we allow (docs/dependencies.md).
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest

from tests.unit.knowledge.updates.wheels import plain, write

if TYPE_CHECKING:
    from pathlib import Path

    from tests.cli.conftest import Run

DEEP = 3_000
ON_A_GPU = ("check", "--no-smoke", "--gpu", "A100")
TOO_DEEP = "nested too deeply or too large to be parsed"

NO_PYTHON = f"not Python that can be read: {TOO_DEEP}"

CONFIGURATIONS = {
    "a.json": ('{"a":' * DEEP + "1" + "}" * DEEP, "a.json:1 at `a.a.a.a`: more than 40 levels"),
    "number.json": ('{"a": ' + "9" * 10_000 + "}", "number.json:1 at `a`: not valid JSON: "),
    "a.yaml": ("a: " + "[" * DEEP + "]" * DEEP, "a.yaml:1 at `a[0][0][0]`: more than 40 levels"),
    "brackets.py": ("x = " + "(" * DEEP + "1" + ")" * DEEP, f"brackets.py:1: {NO_PYTHON}"),
    "signs.py": ("x = " + "-" * 20_000 + "1", NO_PYTHON),
    "blocks.py": ("".join(f"{' ' * n}if x:\n" for n in range(150)) + " " * 150 + "y", NO_PYTHON),
    "a.ipynb": ('{"cells": [], "x": ' + "[" * 100_000, "a.ipynb: is not a notebook: nested too"),
}  # fmt: skip
"""Name -> a configuration that is nested too deeply for some parser, and what is said."""

TOML = {
    "arrays": "a = " + "[" * DEEP + "]" * DEEP,
    "tables": "a = " + "{b = " * DEEP + "1" + "}" * DEEP,
    "dotted": "a" + ".b" * DEEP + " = 1\n",
    "header": "[a" + ".b" * DEEP + "]\n",
}


def refused(run: Run, *arguments: str) -> str:
    result = run(*arguments)
    assert (result.returncode, result.stdout) == (2, ""), result.stderr
    (line,) = result.stderr.strip().splitlines()
    assert line.startswith("fadoctor: ")
    assert "recursion" not in line
    assert "Error" not in line
    return line


@pytest.mark.parametrize("name", CONFIGURATIONS)
def test_a_configuration_is_refused_in_our_words(run: Run, tmp_path: Path, name: str) -> None:
    text, words = CONFIGURATIONS[name]
    (tmp_path / name).write_text(text)
    assert words in refused(run, *ON_A_GPU, "--config", str(tmp_path / name))


@pytest.mark.parametrize("name", TOML)
def test_a_manifest_is_refused_in_our_words(run: Run, tmp_path: Path, name: str) -> None:
    (tmp_path / "pyproject.toml").write_text(TOML[name])
    line = refused(run, *ON_A_GPU, "--requirements", str(tmp_path / "pyproject.toml"))
    assert "pyproject.toml:1: no TOML: nested more than 64 deep" in line


@pytest.mark.parametrize(
    ("text", "words"),
    [("x = " + "9" * 10_000, "a number has too many digits"), ("x = a" + ".b" * 20_000, TOO_DEEP)],
    ids=["digits", "names"],
)
def test_a_script_that_some_pythons_read(run: Run, tmp_path: Path, text: str, words: str) -> None:
    """Those that refuse the digits say how their limit is moved, which helps nobody here.

    The names are few enough for a slow machine: the child must not reach its limit of processor
    time before that of the depth.
    """
    (tmp_path / "train.py").write_text(text)
    result = run(*ON_A_GPU, "--config", str(tmp_path / "train.py"))
    assert "set_int_max_str_digits" not in result.stderr
    assert "Traceback" not in result.stderr
    is_read = result.returncode == 0 or "fadoctor found no setting in it" in result.stderr
    assert is_read or (result.returncode == 2 and words in result.stderr)


@pytest.mark.parametrize("damage", ["cut", "garbage", "empty", "text"])
def test_a_broken_archive_is_named(run: Run, tmp_path: Path, damage: str) -> None:
    path = write(tmp_path / "rules.whl", plain())
    whole = path.read_bytes()
    path.write_bytes({
        "cut": whole[: len(whole) // 2], "garbage": b"PK\3\4" + b"x" * 100, "empty": b"",
        "text": b"no archive",
    }[damage])  # fmt: skip
    line = refused(run, "rules", "update", "--dry-run", "--from", str(path))
    assert "rules.whl: not a wheel that can be read: " in line


def test_an_archive_that_unpacks_to_gigabytes_is_refused_by_what_it_says(
    run: Run, tmp_path: Path
) -> None:
    bomb = write(tmp_path / "rules.whl", plain(**{"rules/gpu/a-rule.yaml": b" " * (48 << 20)}))
    assert bomb.stat().st_size < 1 << 17
    assert "larger than" in refused(run, "rules", "update", "--dry-run", "--from", str(bomb))


def cells(text: str) -> list[str]:
    """Return the letters of a table, wherever its lines break."""
    return sorted(re.sub(r"\s", "", text))


def test_a_table_says_the_same_at_every_width_and_fits(run: Run) -> None:
    told = {columns: run("rules", "list", env={"COLUMNS": columns}).stdout
            for columns in ("80", "160", "500")}  # fmt: skip
    for columns, text in told.items():
        assert max(len(line) for line in text.splitlines()) <= int(columns)
        assert cells(text) == cells(told["500"])
    ids = {line.split(" ")[0] for line in told["500"].splitlines()}
    assert ids - {line.split(" ")[0] for line in told["80"].splitlines()} == set()


@pytest.mark.sampled
@pytest.mark.parametrize("env", [{}, {"NO_COLOR": "1"}, {"TERM": "dumb"}, {"FORCE_COLOR": "1"}])
def test_a_table_has_colour_only_as_we_say(run: Run, env: dict[str, str]) -> None:
    """rich knows variables of its own, and another release others."""
    plainly = run("rules", "list", "--color", "never", env=env).stdout
    assert "\x1b" not in plainly
    coloured = run("rules", "list", "--color", "always", env=env).stdout
    # Older releases of rich give a dumb terminal 80 columns: lines break elsewhere.
    assert cells(re.sub(r"\x1b\[[0-9;]*m", "", coloured)) == cells(plainly)
    assert "\x1b[31m" in coloured


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        (("check", "--nosmoke"), "--nosmoke"),
        (("check", "--format", "jsno"), "'jsno'"),
        (("check", "--format"), "--format"),
        (("smoke", "--timeout", "soon"), "'soon'"),
        (("rules", "show"), "ID"),
        (("chekc",), "chekc"),
        (("check", "--driver"), "--driver"),
    ],
)
def test_a_wrong_command_line_is_named_and_nothing_is_done(
    run: Run, arguments: tuple[str, ...], named: str
) -> None:
    result = run(*arguments)
    assert (result.returncode, result.stdout) == (2, "")
    assert named in result.stderr
    assert "Traceback" not in result.stderr
    assert "\x1b" not in result.stderr
    assert len(result.stderr.splitlines()) <= 5


@pytest.mark.parametrize("columns", ["80", "160"])
def test_what_is_wrong_with_a_command_line_stays_in_one_line(run: Run, columns: str) -> None:
    """A frame as wide as the terminal would break the list of what may be given."""
    said = run("check", "--format", "jsno", env={"COLUMNS": columns}).stderr
    (line,) = [line for line in said.splitlines() if "jsno" in line]
    assert all(f"'{name}'" in line for name in ("text", "json", "sarif", "frames"))
