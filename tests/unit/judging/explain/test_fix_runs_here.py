"""The first fix of each text runs in the state that the text shows, whatever else it tells."""

from __future__ import annotations

import io
import re
import zlib
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from fadoctor.judging.engine.contradicted import driver_for, has_python_file
from fadoctor.judging.explain.explain import Reading, explain, read_log
from fadoctor.judging.explain.fixes.situations import situations
from fadoctor.judging.explain.fixes.vendor import Vendor
from fadoctor.knowledge.matrix.query import Matrix
from fadoctor.knowledge.matrix.versions import is_in
from fadoctor.model.fact import Known
from fadoctor.model.fix import StepKind
from tests.plain_yaml import read_plain

if TYPE_CHECKING:
    from collections.abc import Callable

    from fadoctor.model.fix import Fix
    from fadoctor.model.rule import Knowledge

TEXTS: dict[str, list[str]] = read_plain(Path(__file__).with_name("first_fixes.yaml"))
STATES = (
    "",
    "My card is an AMD Radeon RX 7900 XTX.",
    "OS: Microsoft Windows 11 Pro",
    "OS: Ubuntu 22.04.4 LTS (x86_64)",
    "NVIDIA-SMI 470.86   Driver Version: 470.86   CUDA Version: 11.4",
    "NVIDIA-SMI 535.183.01   Driver Version: 535.183.01   CUDA Version: 12.2",
    "The driver is 472.12, on Windows 10.",
    "Python version: 3.8.10 (default, Nov 22 2023, 10:22:35)",
    "Python version: 3.13.1 (main, Dec  4 2024, 08:54:14)",
    "ModuleNotFoundError: No module named 'torch'",
    'File "D:\\ui\\python_embeded\\Lib\\site-packages\\app\\run.py", line 3, in <module>',
    'File "D:\\work\\venv\\Lib\\site-packages\\app\\run.py", line 3, in <module>',
    "ada@box:~/work$ poetry run pip install app",
)
"""One line each that tells more of the state of a text: what is there, and how it is started.

A text meets the same two of them whichever texts come before it.
"""

# a file such as ...+cu130torch2.10 is chosen by the torch that is there
_LABEL = re.compile(r"(?:whl/|\+)cu(?P<major>1[1-3])\d(?!\w)")
_PIN = re.compile(r"(?<![\w-])torch==(?P<version>\d[\d.]{1,8}\d)(?![\w.])")
_BARE = re.compile(r"^(?:pip3? (?:un)?install|python3? -[cm]) ", re.MULTILINE)
_READS_TORCH = re.compile(r" -c \"[^\n]{0,80}?\bimport (?:[\w, ]{1,40}, )?torch\b")
_CHOSEN = re.compile(r"'(\d{1,2}\.\d[\w.]{1,12})'")
# what a fix for a Jetson, or one that makes an environment, decides by itself
_APART = re.compile(r"(?i)jetson|jetpack|\benvironment\b|\bvenv\b|python ?3\.\d")
# what only Linux has
_OF_LINUX = re.compile(r"-linux-gnu|/lib/python3\.|\bDGX Spark\b")


def _is_of_another_system(state: str, text: str) -> bool:
    """Return whether a line says Windows of a text that shows Linux."""
    return "Windows" in state and _OF_LINUX.search(text) is not None


@pytest.mark.sampled(every=8)
@pytest.mark.parametrize(
    ("state", "text"),
    [
        (STATES[(zlib.crc32(text.encode()) + step) % len(STATES)], text)
        for step in (0, 5)
        for texts in TEXTS.values()
        for text in texts
        if not _is_of_another_system(STATES[(zlib.crc32(text.encode()) + step) % len(STATES)], text)
    ],
)
def test_the_first_fix_runs_in_the_state_of_its_text(
    knowledge: Knowledge, state: str, text: str
) -> None:
    whole = f"{state}\n{text}"
    reading = read_log(io.BytesIO(whole.encode()), "a.txt", knowledge)
    for finding in explain(reading, knowledge).findings[:1]:
        for fix in finding.fixes[:1]:
            assert faults(fix, reading, knowledge) == []


OLD_BITSANDBYTES = (
    "Error no kernel image is available for execution on the device at line 1 in csrc\\ops.cu",
    "ModuleNotFoundError: No module named 'bitsandbytes'",
    "CUDA Setup failed despite GPU being available. bitsandbytes\\cuda_setup\\main.py",
)


@pytest.mark.parametrize("text", OLD_BITSANDBYTES)
@pytest.mark.parametrize("torch", ["torch 1.13.1+cu116", "an old torch", "torch 2.0.1+cu118"])
def test_bitsandbytes_on_windows_has_a_library_there(
    knowledge: Knowledge, torch: str, text: str
) -> None:
    reading = read_log(io.BytesIO(f"Windows 11, {torch}\n{text}".encode()), "a.txt", knowledge)
    findings = explain(reading, knowledge).findings
    assert findings
    for fix in findings[0].fixes:
        assert faults(fix, reading, knowledge) == []


class Shown:
    """A fix, and what a text shows of the state in which it is to run."""

    def __init__(self, fix: Fix, reading: Reading, knowledge: Knowledge) -> None:
        """Take the commands of a fix apart from what it says."""
        self.fix, self.reading, self.knowledge = fix, reading, knowledge
        self.matrix, self.environment = Matrix(knowledge.tables), reading.facts().environment
        self.lines = tuple(line.text for line in reading.lines)
        runs = [step for step in fix.steps if step.kind is not StepKind.ADVICE]
        self.first = runs[0].text if runs else ""
        self.commands = "\n".join(f"{step.text} {step.index}" for step in runs)
        self.words = "\n".join((fix.title, *(step.text for step in fix.steps)))
        system = self.environment.facts.get("host.os")
        self.system = system.value if isinstance(system, Known) else ""


def of_another_vendor(shown: Shown) -> bool:
    vendor = Vendor(shown.reading.lines, shown.knowledge, shown.environment).name
    return vendor == "amd" and _LABEL.search(shown.commands) is not None


def above_the_driver(shown: Shown) -> bool:
    majors = {each["major"] for each in _LABEL.finditer(shown.commands)}
    needs = [driver_for(major, shown.environment, shown.matrix) for major in majors]
    is_said = re.search(r"(?i)\bdriver\b|jetson|jetpack", shown.words)
    return bool(needs) and all(needs) and is_said is None


def without_a_file_for_the_python(shown: Shown) -> bool:
    if _APART.search(shown.words):
        return False
    asked = [each["version"] for each in _PIN.finditer(shown.commands)]
    return any(has_python_file(each, shown.environment, shown.matrix) is False for each in asked)


def of_linux_on_windows(shown: Shown) -> bool:
    found = re.search(r"manylinux|linux_x86_64|\bsudo ", shown.commands)
    is_for_both = "win_amd64" in shown.commands or "WSL" in shown.words
    return shown.system == "windows" and found is not None and not is_for_both


def of_windows_on_linux(shown: Shown) -> bool:
    return (
        shown.system == "linux"
        and "-win_amd64.whl" in shown.commands
        and "On Linux" not in shown.words
    )


def without_a_library_for_the_system(shown: Shown) -> bool:
    """Return whether a release is asked for that has no file, or no library, on this system."""
    if shown.system != "windows" or "win32" in shown.commands:
        return False
    rows = shown.matrix.tables["files-missing-on-windows"].rows
    for row in rows:
        if row["sdist"] is not False:
            continue
        for name in str(row["package"]).split():
            if any(_is_within(each, str(row["version"])) for each in _asked(name, shown.commands)):
                return True
    return False


def _asked(name: str, commands: str) -> list[str]:
    """Return the releases of a package that commands install, those too that a script chooses."""
    named = re.findall(rf"(?<![\w-]){re.escape(name)}==(\d[\w.]*)", commands)
    return named + _CHOSEN.findall(commands) if f"'{name}==' +" in commands else named


def _is_within(version: str, bound: str) -> bool:
    return bound == "*" or is_in(version, bound) is True


def reading_the_torch_that_is_missing(shown: Shown) -> bool:
    is_missing = any("No module named 'torch'" in line for line in shown.lines)
    if isinstance(shown.environment.facts.get("torch.version"), Known) or not is_missing:
        return False
    before = shown.words.partition(shown.first)[0] if shown.first else "torch"
    return _READS_TORCH.search(shown.first) is not None and "torch" not in before.lower()


def of_another_python(shown: Shown) -> bool:
    here = situations(shown.lines, shown.environment, shown.knowledge.tables)
    # uv finds the Python of its project itself.
    own = [
        each.pip for each in here if not each.pip.startswith("uv") and each.pip not in ("", "pip")
    ]
    return bool(own) and _BARE.search(shown.commands) is not None


FAULTS: tuple[Callable[[Shown], bool], ...] = (
    of_another_vendor,
    above_the_driver,
    without_a_file_for_the_python,
    of_linux_on_windows,
    of_windows_on_linux,
    without_a_library_for_the_system,
    reading_the_torch_that_is_missing,
    of_another_python,
)


def faults(fix: Fix, reading: Reading, knowledge: Knowledge) -> list[str]:
    """Return what in a fix cannot run in the state that a text shows."""
    shown = Shown(fix, reading, knowledge)
    return [each.__name__ for each in FAULTS if each(shown)]
