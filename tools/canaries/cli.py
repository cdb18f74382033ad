"""Lock the environments, judge the locks, and say which answers differ between two judgements.

Usage: python -m tools.canaries lock | judge [--newer] FILE | compare BEFORE AFTER

``lock`` asks uv, against the index that it is configured for. ``judge`` writes findings and cells
of every lock as JSON, by the tables of this checkout; with ``--newer`` one package of each is a
release that no table has. ``compare`` prints what changed and ends with 1 where anything did.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, Any

import yaml

from fadoctor.knowledge.matrix.load import load_apart, load_knowledge
from fadoctor.knowledge.matrix.query import Matrix
from fadoctor.model.environment import Environment, Target
from fadoctor.model.overlays import Overlays
from fadoctor.repair.resolution.judge import foresee_planned
from fadoctor.sources.manifests.environment import planned_environment
from fadoctor.sources.manifests.read import read_manifest
from fadoctor.sources.targets.overlay import apply_overlays

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from fadoctor.model.rule import Knowledge

HERE = Path(__file__).parent
LOCKS = HERE / "locks"
LINUX = "linux_x86_64"
PLATFORMS = {
    LINUX: "x86_64-manylinux_2_39",
    "linux_aarch64": "aarch64-manylinux_2_39",
    "win_amd64": "x86_64-pc-windows-msvc",
}
_AT_ONCE = 4
_GLIBC = "2.39"
_TIMEOUT_S = 600
_DRIVER = "610.43"
"""Newer than any toolkit of the tables asks for: the locks are about packages."""

Answer = dict[str, list[str]]
"""Findings, and cells as ``gpu backend dtype: works``."""


def environments() -> list[dict[str, Any]]:
    """Return the environments, in the order of the file."""
    text = (HERE / "environments.yaml").read_text("utf-8")
    found: list[dict[str, Any]] = yaml.safe_load(text)["environments"]
    return found


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one of the three; return 1 where answers differ or uv finds no solution."""
    parser = argparse.ArgumentParser(prog="python -m tools.canaries", description=__doc__)
    steps = parser.add_subparsers(dest="step", required=True)
    lock = steps.add_parser("lock", help="write the locks anew")
    lock.add_argument("--missing", action="store_true", help="only those that are not there")
    judge = steps.add_parser("judge", help="write the answers")
    judge.add_argument("--newer", action="store_true", help="with a release that no table has")
    judge.add_argument("output", type=Path)
    compare = steps.add_parser("compare", help="print what differs")
    compare.add_argument("before", type=Path)
    compare.add_argument("after", type=Path)
    asked = parser.parse_args(arguments)
    if asked.step == "lock":
        with ThreadPoolExecutor(_AT_ONCE) as pool:
            wanted = [e for e in environments() if not (asked.missing and _path(e).is_file())]
            return int(not all(pool.map(locked, wanted)))
    if asked.step == "judge":
        answers = judged(newer=asked.newer)
        asked.output.write_text(json.dumps(answers, indent=1, sort_keys=True), "utf-8")
        return 0
    before, after = (json.loads(path.read_text("utf-8")) for path in (asked.before, asked.after))
    lines = list(differences(before, after))
    sys.stdout.writelines(f"{line}\n" for line in lines)
    return int(bool(lines))


def locked(environment: Mapping[str, Any]) -> bool:
    """Write the lock of an environment; return whether uv finds one."""
    platform = PLATFORMS[environment.get("platform", LINUX)]
    done = subprocess.run(
        ["uv", "pip", "compile", "-", "--quiet", "--no-header", "--no-annotate", "--no-config",
         "--python-version", environment["python"], "--python-platform", platform,
         "--no-build", "--no-emit-index-url"],
        input="\n".join(environment["asks"]), capture_output=True, text=True, check=False,
        timeout=_TIMEOUT_S,
    )  # fmt: skip
    if done.returncode:
        sys.stderr.write(f"{environment['name']}: {done.stderr.strip()[:400]}\n")
        return False
    LOCKS.mkdir(exist_ok=True)
    _path(environment).write_text(done.stdout, "utf-8")
    return True


def _path(environment: Mapping[str, Any]) -> Path:
    return LOCKS / f"{environment['name']}.txt"


def judged(*, newer: bool = False) -> dict[str, Answer]:
    """Return the answers for all locks that are there, by name."""
    knowledge = load_knowledge()
    matrix = Matrix(load_apart(knowledge.tables))
    return {
        each["name"]: answer(each, knowledge, matrix, newer=newer)
        for each in environments()
        if _path(each).is_file() and (each.get("newer") or not newer)
    }


def answer(
    environment: Mapping[str, Any], knowledge: Knowledge, matrix: Matrix, *, newer: bool = False
) -> Answer:
    """Return what fadoctor says of one lock."""
    text = _path(environment).read_text("utf-8")
    if newer:
        text = with_newer(text, environment["newer"])
    platform = environment.get("platform", LINUX)
    overlays = Overlays(
        (environment["gpu"],), environment.get("driver", _DRIVER),
        "" if platform == "win_amd64" else _GLIBC, environment["python"], platform,
    )  # fmt: skip
    host = apply_overlays(
        Environment("1", Target("manifest", "lock", "judged"), {}), overlays, matrix
    )
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "requirements.txt"
        path.write_text(text, "utf-8")
        planned = planned_environment(host, [read_manifest(str(path))], matrix)
    found = foresee_planned(planned, knowledge).shown
    return {
        "findings": [
            f"{each.severity.value} {each.rule_id} ({each.subject})"
            for each in found.assessment.findings
        ],
        "cells": [
            f"{each.backend.value} {each.dtype.value}: {each.predicted.value}"
            for each in found.verdicts
        ],
    }


def with_newer(text: str, requirement: str) -> str:
    """Return a lock with one package in another version; it is added where it is not there."""
    name = requirement.partition("==")[0]
    kept = [line for line in text.splitlines() if line.partition("==")[0] != name]
    return "\n".join([*kept, requirement, ""])


def differences(before: Mapping[str, Answer], after: Mapping[str, Answer]) -> Iterator[str]:
    """Yield what the second judgement says otherwise, environment by environment."""
    for name in sorted({*before, *after}):
        old, new = before.get(name, {}), after.get(name, {})
        for kind in ("findings", "cells"):
            gone = [each for each in old.get(kind, ()) if each not in new.get(kind, ())]
            come = [each for each in new.get(kind, ()) if each not in old.get(kind, ())]
            yield from (f"{name}: no longer {each}" for each in gone)
            yield from (f"{name}: now {each}" for each in come)
