"""What a fix tells someone on Windows works there: a property over all fixes of all rules.

A fix is left out on Windows by its condition, or by the words of its commands (system-words). What
is left names no command, variable or folder of Linux but in a sentence that says it is for Linux.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest

from fadoctor.judging.engine.condition import Truth, holds
from fadoctor.judging.engine.foreign import is_foreign
from fadoctor.judging.engine.scope import Scope
from fadoctor.knowledge.matrix.load import load_knowledge
from fadoctor.knowledge.matrix.query import Matrix
from fadoctor.model.fix import Fix, Step, StepKind
from fadoctor.model.rule import with_rows
from tests.unit.judging.engine.builders import environment

if TYPE_CHECKING:
    from collections.abc import Iterator

    from fadoctor.model.rule import FixTemplate, Rule

KNOWLEDGE = load_knowledge()
MATRIX = Matrix(KNOWLEDGE.tables)
WINDOWS = environment({"host.os": "windows", "host.platform": "win_amd64"})
_OF_LINUX = re.compile(
    r"(?<![\w./~-])(sudo|apt|apt-get|yum|dnf|ldd|ldconfig|export|unset|modprobe|dmesg|lsmod|chmod|bash"
    r"|systemctl|LD_LIBRARY_PATH|LD_PRELOAD|dkms|rpm|dpkg|rm|/usr/\S*|/etc/\S*|/opt/\S*|~/\.bashrc"
    r"|gcc|g\+\+|libcuda\.so|libstdc\+\+|glibc)(?![\w-])"
)
_SAID = re.compile(r"(?i:linux|wsl|debian|ubuntu|fedora|rhel|container|conda|jetson)")
# what PowerShell 5.1 and cmd do not know: chains of sh, its variables, a variable before a command
_SHELL = re.compile(r"&&|\|\||/dev/null|\$\(|\$\{|\\\n|^[A-Z][A-Z0-9_]*=\S")


def left_on_windows() -> Iterator[tuple[Rule, FixTemplate]]:
    """Yield the fixes that may be told on Windows."""
    for rule in KNOWLEDGE.rules:
        for fix in rule.fixes:
            scope = Scope(WINDOWS, MATRIX, with_rows(rule, fix), {})
            if fix.when and holds(fix.when, scope) is Truth.FALSE:
                continue
            if not is_foreign(_fix(fix), WINDOWS, MATRIX):
                yield rule, fix


def _fix(template: FixTemplate) -> Fix:
    runs = tuple(Step(StepKind.SYSTEM, text) for text in commands_of(template))
    return Fix(template.id, template.title, steps=runs)


def commands_of(template: FixTemplate) -> list[str]:
    """Return what is to be run."""
    found = []
    for step in template.steps:
        found += [step.system] if step.system else []
        found += [f"set {item}" for item in (*step.set, *step.unset)]
    return found


def sentences_of(template: FixTemplate) -> list[str]:
    """Return what is to be read."""
    texts = [template.title, *(step.advice for step in template.steps if step.advice)]
    return [sentence for text in texts for sentence in re.split(r"(?<=[.;])\s+", text)]


LEFT = list(left_on_windows())


def test_most_fixes_are_for_windows_too() -> None:
    assert len(LEFT) > 400


@pytest.mark.parametrize("kind", ["commands", "sentences"])
def test_no_fix_names_what_windows_lacks(kind: str) -> None:
    read = commands_of if kind == "commands" else sentences_of
    found = [
        (rule.id, fix.id, match[0])
        for rule, fix in LEFT
        for text in read(fix)
        if (match := _OF_LINUX.search(text)) and not (kind == "sentences" and _SAID.search(text))
    ]
    assert found == []


def test_no_command_needs_a_shell_of_linux() -> None:
    found = [
        (rule.id, fix.id, text)
        for rule, fix in LEFT
        for text in commands_of(fix)
        if _SHELL.search(text)
    ]
    assert found == []


@pytest.mark.parametrize(
    ("text", "bad"),
    [("sudo apt install gcc", True), ("pip install x && y", True), ("A=4 pip install x", True),
     ("pip install x", False), ("ldd file", True), ("rm -rf x", True), ("pip uninstall x", False)],
)  # fmt: skip
def test_the_property_sees(text: str, *, bad: bool) -> None:
    assert bool(_OF_LINUX.search(text) or _SHELL.search(text)) is bad


@pytest.mark.parametrize(
    "rule",
    ["triton-pyssize", "triton-ptxas-arch", "path-entry-not-folder", "windows-dll-load",
     "windows-triton-python-libs", "windows-long-path", "torch-cpu-only", "triton-missing",
     "torch-arch-unsupported", "hf-fa2-not-installed", "abi-undefined-symbol", "driver-too-old"],
)  # fmt: skip
def test_what_happens_on_windows_can_be_repaired_there(rule: str) -> None:
    assert [fix.id for each, fix in LEFT if each.id == rule]


def test_the_bounds_of_triton_windows_in_words_are_those_of_its_rows() -> None:
    """A new release has a row, and the sentence for an unknown torch names it as well."""
    table = KNOWLEDGE.tables["triton-windows-for-torch"]
    rows = {str(row["torch"]): row for row in table.rows}
    sentence = str(rows.pop("unsaid")["bounds"])
    said = {
        minor: bound
        for bound, minors in re.findall(r"<(\d\.\d{1,2})[^<]*? with ([^<]+)", sentence)
        for minor in re.findall(r"\d\.\d{1,2}", minors)
    }
    releases = {minor: str(row["version"]) for key, row in rows.items() for minor in key.split()}
    after = {minor: release.split(".") for minor, release in releases.items()}
    assert said == {minor: f"{at[0]}.{int(at[1]) + 1}" for minor, at in after.items()}


def test_the_command_for_triton_windows_installs_what_the_rows_say() -> None:
    """Whoever does not name a torch gets a command that computes the bound from its version."""
    rows = {str(row["torch"]): row for row in KNOWLEDGE.tables["triton-windows-for-torch"].rows}
    found = re.search(r" n = ([^;]{1,80});", str(rows.pop("unsaid")["command"]))
    assert found
    computed = compile(found[1], "the command", "eval")
    for key, row in rows.items():
        for minor in key.split():
            bound = eval(computed, {"t": int(minor.split(".")[1])})  # noqa: S307 (of our own table)
            assert bound == int(str(row["version"]).split(".")[1]) + 1
