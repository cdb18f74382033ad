"""Put printed commands before uv, over the real index, and compare with what plans said.

Usage: python -m tools.compare_resolutions SEQUENCES --cache FOLDER --output FILE

SEQUENCES has one JSON object a line, as `python -m tests.states.sequences` writes them: what is
installed, the machine, the Python and the platform, what a command installs, and what the plan says
of the end. For each an environment is made of METADATA alone, and `uv pip install --dry-run` is
asked. A label of a build (``+cu126``) is left out: its index need not be reached. For a file named
by its address uv gets one of that name, with METADATA alone, and so sees its tags and what it
requires. What NVIDIA publishes for CUDA is not compared, as torch's builds differ in it.
What is there in the end is judged as a requirements file is, in the builds that the plan says: an
error that the plan has not told comes of what it did not name. Ends with 1 where anything differs.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import re
import subprocess
import sys
import tempfile
import zipfile
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

from packaging.requirements import Requirement
from packaging.specifiers import InvalidSpecifier, SpecifierSet
from packaging.utils import canonicalize_name, parse_wheel_filename
from packaging.version import InvalidVersion, Version

from fadoctor.api import check
from fadoctor.model.finding import Finding, Severity
from tools.refresh.errors import FetchError
from tools.refresh.index import Index, Release
from tools.refresh.settings import read_settings
from tools.refresh.transport import Transport

PLATFORMS = {
    "linux_x86_64": "x86_64-manylinux_2_35",
    "linux_aarch64": "aarch64-manylinux_2_35",
    "win_amd64": "x86_64-pc-windows-msvc",
    "macosx_arm64": "aarch64-apple-darwin",
}
OUTSIDE = ("nvidia-", "cuda-", "cu-")
"""How names begin that are not compared."""

_OF_SOURCES = {"flash-attn": ("torch", "einops"), "flash-attn-3": ("torch", "einops")}
"""What is required by packages of which no index has a wheel."""

# + torch==2.8.0
# + flash-attn @ file:///x/flash_attn-2.8.3+cu12torch2.8-cp312-cp312-linux_x86_64.whl
_LINE = re.compile(
    r"^ ([+~-]) ([\w.-]{1,100})(?:==| @ file:\S{1,300}/\w{1,60}-)([^\s-]{1,60})", re.MULTILINE
)
_LOCAL = re.compile(r"(==[\w.!]{1,60})\+[\w.]{1,40}")
_REASON_LIMIT = 600

Sequence = dict[str, Any]


@dataclass(frozen=True)
class Outcome:
    """What came of one sequence."""

    kind: str
    """One of: agrees, refused, other version, moved, errors."""
    detail: str = ""
    after: dict[str, str] = field(default_factory=dict)
    """What is there in the end, by name."""


class Patients:
    """Environments of METADATA alone, one for each set of packages and Python."""

    def __init__(self, index: Index, folder: Path) -> None:
        """Take the index that has the METADATA, and a folder for the environments."""
        self.index = index
        self.folder = folder

    def of(self, python: str, installed: dict[str, str]) -> Path:
        """Return the interpreter of an environment with these packages."""
        told = json.dumps([python, sorted(installed.items())])
        place = self.folder / hashlib.sha256(told.encode()).hexdigest()[:16]
        executable = place / "bin" / "python"
        if not (place / "done").exists():
            command = ("uv", "venv", "--quiet", "--clear", "--python", interpreter(python))
            subprocess.run([*command, str(place)], check=True, timeout=120)
            [site] = place.glob("lib/python3*/site-packages")
            for name, version in installed.items():
                self._write(site, name, version, python)
            (place / "done").touch()
        return executable

    def file(self, url: str, python: str) -> Path:
        """Return a wheel that stands for an address: its name is the same, its code is left out."""
        told = unquote(urlsplit(url).path).rpartition("/")[2]
        name, version, _, _ = parse_wheel_filename(told)
        path = self.folder / "files" / python / told
        if not path.exists():
            path.parent.mkdir(parents=True, exist_ok=True)
            info = "-".join(told.split("-")[:2]) + ".dist-info"
            with zipfile.ZipFile(path, "w") as wheel:
                wheel.writestr(f"{info}/METADATA", self._metadata(name, str(version), python))
                wheel.writestr(f"{info}/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: false\n")
                wheel.writestr(f"{info}/RECORD", "")
        return path

    def _write(self, site: Path, name: str, version: str, python: str) -> None:
        folder = site / f"{name.replace('-', '_')}-{version}.dist-info"
        folder.mkdir()
        (folder / "METADATA").write_text(self._metadata(name, version, python))
        (folder / "INSTALLER").write_text("pip\n")
        (folder / "RECORD").write_text(f"{folder.name}/METADATA,,\n")

    def _metadata(self, name: str, version: str, python: str) -> str:
        lines = ["Metadata-Version: 2.1", f"Name: {name}", f"Version: {version}"]
        return "\n".join([*lines, *self._needs(name, version, python)])

    def _releases(self, name: str) -> dict[Version, Release]:
        try:
            return self.index.releases(name)
        except FetchError:
            if name in _OF_SOURCES:
                return {}
            raise

    def _needs(self, name: str, version: str, python: str) -> list[str]:
        """Return what a release requires by its METADATA; of a labelled build no libraries."""
        parsed = Version(version)
        found = self._releases(name).get(Version(parsed.public))
        tag = "cp" + python.replace(".", "")
        files = [file for file in found.files if file.tags] if found else []
        files.sort(key=lambda file: ("linux" not in file.name, tag not in file.name))
        if not files:
            return [f"Requires-Dist: {each}" for each in _OF_SOURCES.get(name, ())]
        message = self.index.metadata(files[0])
        return [
            f"{key}: {value}"
            for key in ("Requires-Python", "Requires-Dist", "Provides-Extra")
            for value in message.get_all(key, [])
            if not (parsed.local and value.startswith((*OUTSIDE, "triton")))
        ]


@cache
def interpreter(python: str) -> str:
    """Return a Python of this minor version: one that pyenv keeps, or uv's; else the one here.

    uv resolves for the version that it is told, whatever interpreter the environment has.
    """
    kept = sorted(Path("~/.pyenv/versions").expanduser().glob(f"{python}.*/bin/python{python}"))
    if kept:
        return str(kept[-1])
    found = subprocess.run(["uv", "python", "find", "--offline", "--no-project", python],
                           capture_output=True, text=True, check=False)  # fmt: skip
    return found.stdout.strip() or sys.executable


def installed_in(sequence: Sequence) -> dict[str, str]:
    """Return what is there once what a plan removes is gone."""
    gone = sequence["uninstalled"]
    return {name: each for name, each in sequence["installed"].items() if name not in gone}


def asked_for(sequence: Sequence, patients: Patients) -> list[str]:
    """Return what uv is asked to install."""
    python = sequence["python"]
    items = [_LOCAL.sub(r"\1", item) for item in sequence["requirements"] if " @ " not in item]
    for item in sequence["requirements"]:
        if " @ " in item:
            name, _, url = item.partition(" @ ")
            items.append(f"{name} @ {patients.file(url, python).resolve().as_uri()}")
    return items


def outcome(sequence: Sequence, patients: Patients) -> Outcome:
    """Ask about one sequence."""
    items = asked_for(sequence, patients)
    installed = installed_in(sequence)
    python = patients.of(sequence["python"], installed)
    command = ["uv", "pip", "install", "--dry-run", "--python", str(python)]
    command += ["--python-version", sequence["python"]]
    command += ["--python-platform", PLATFORMS[sequence["platform"]], *items]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=300)
    if done.returncode:
        return Outcome("refused", " ".join(done.stderr.split())[-_REASON_LIMIT:])
    return compared(sequence, installed, done.stderr)


def compared(sequence: Sequence, installed: dict[str, str], told: str) -> Outcome:
    """Return how what uv would do agrees with what was said."""
    after = {str(canonicalize_name(name)): version for name, version in installed.items()}
    before = dict(after)
    for sign, name, version in _LINE.findall(told):
        if sign == "+":
            after[canonicalize_name(name)] = version
    wrong = [
        f"{name} {after.get(canonicalize_name(name), 'missing')} instead of {version}"
        for name, _, version in sequence["changes"]
        if version and not is_outside(name)
        if not _is_same(after.get(canonicalize_name(name)), version)
    ]
    if wrong:
        return Outcome("other version", "; ".join(wrong), after)
    named = {canonicalize_name(change[0]) for change in sequence["changes"]}
    named |= {canonicalize_name(Requirement(item).name) for item in sequence["requirements"]}
    moved = [
        f"{name} {version} becomes {after[name]}"
        for name, version in before.items()
        if name not in named and not is_outside(name) and not _is_same(after[name], version)
    ]
    return Outcome("moved" if moved else "agrees", "; ".join(moved), after)


def judged(sequence: Sequence, found: Outcome) -> Outcome:
    """Return an outcome that is as said, or the errors in it that nobody has told.

    What was wrong before is not for the installer to repair, and the plan says what it leaves.
    """
    if found.kind != "agrees":
        return found
    after = [
        each
        for each in _errors(sequence, pins(sequence, found.after))
        if each.rule_id not in sequence["errors"]
    ]
    there = installed_in(sequence) if after else {}
    told = {each.fingerprint for each in _errors(sequence, [f"{n}=={there[n]}" for n in there])}
    errors = [f"{e.rule_id}: {e.message}" for e in after if e.fingerprint not in told]
    return replace(found, kind="errors", detail="; ".join(errors)) if errors else found


def _errors(sequence: Sequence, lines: list[str]) -> list[Finding]:
    """Return the errors of a requirements file."""
    if not lines:
        return []
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "requirements.txt")
        file.write_text("\n".join(lines))
        gpu, driver = sequence["machine"]
        python, platform = sequence["python"], sequence["platform"]
        report = check(requirements=file, gpu=gpu, driver=driver, python_version=python,
                       platform=platform, cache=False)  # fmt: skip
    return [each for each in report.findings if each.severity is Severity.ERROR]


def pins(sequence: Sequence, after: dict[str, str]) -> list[str]:
    """Return the lines of a file with what is there in the end, in the builds that were said."""
    said = sequence["installed"] | {name: new for name, _, new in sequence["changes"] if new}
    by_address = {item.split()[0]: item for item in sequence["requirements"] if " @ " in item}
    lines = [f"--extra-index-url {index}" for index in sequence["indexes"]]
    for name, version in after.items():
        told = said.get(name, "")
        same = told if _LOCAL.search(f"=={told}") and _is_same(version, told) else version
        if not is_outside(name) and name not in by_address:
            lines.append(f"{name}=={same}")
    return [*lines, *by_address.values()]


def is_outside(name: str) -> bool:
    """Return whether a distribution is not compared."""
    return name.startswith(OUTSIDE)


def _is_same(one: str | None, other: str) -> bool:
    """Return whether a version is the one that was said, or in the range that was said."""
    if one is None:
        return False
    try:
        return Version(one).public == Version(other).public
    except InvalidVersion:
        pass
    try:
        return SpecifierSet(other).contains(one, prereleases=True)
    except InvalidSpecifier:
        return True  # in words: the installer chooses


def main(arguments: list[str] | None = None) -> int:
    """Ask about every sequence; return 1 where anything differs."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("sequences", type=Path)
    parser.add_argument("--cache", type=Path, required=True)
    parser.add_argument("--output", type=Path, required=True, help="what differs, a line each")
    asked = parser.parse_args(arguments)
    asked.cache.mkdir(parents=True, exist_ok=True)
    settings = read_settings()
    urls = tuple(url for url in settings.indexes if url.startswith("http"))
    index = Index(Transport(settings, asked.cache / "index"), urls)
    patients = Patients(index, asked.cache / "environments")
    sequences = [json.loads(line) for line in asked.sequences.read_text().splitlines()]
    for sequence in sequences:  # made before they are shared
        patients.of(sequence["python"], installed_in(sequence))
    counts: Counter[str] = Counter()
    with ThreadPoolExecutor(2) as pool, asked.output.open("w", encoding="utf-8") as output:
        answers = pool.map(lambda each: outcome(each, patients), sequences)
        for sequence, answer in zip(sequences, answers, strict=True):
            found = judged(sequence, answer)
            counts[found.kind] += 1
            if is_wrong(found):
                line = json.dumps({"kind": found.kind, "detail": found.detail, **sequence})
                print(line, file=output, flush=True)
    told = ", ".join(f"{counts[kind]} {kind}" for kind in sorted(counts))
    print(len(sequences), "sequences:", told)
    return int(any(is_wrong(Outcome(kind)) for kind in counts))


def is_wrong(found: Outcome) -> bool:
    """Return whether an outcome is another than was said."""
    return found.kind != "agrees"


if __name__ == "__main__":
    sys.exit(main())
