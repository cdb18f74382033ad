"""Trace the scenes and programs of tests/trace in other interpreters: a line for each of them.

Usage: python -m tools.trace_versions PYTHON...    (interpreters with torch; Python 3.9 or newer)

*scenes*: who is named, or that nobody is; *same bits*: random small steps, bare and traced; *ways*:
spawn, fork, torchrun with DDP and FSDP and so on, where output, exit code and answer are compared
with the bare run's. What an interpreter lacks, or fails at without us, is left out and said. Ends
with 1 where anything differs.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from pathlib import Path
from typing import Any

from fadoctor.knowledge.matrix.load import load_knowledge
from fadoctor.proof.trace.parent import CHILD
from fadoctor.proof.trace.settings import TraceSettings, config_of, write_config
from tests.trace import routes

EVERYWHERE = routes.HERE / "everywhere.py"


def scenes(python: str, folder: Path) -> dict[str, Any]:
    """Return what `everywhere` says of an interpreter."""
    write_config(config_of(TraceSettings(), load_knowledge()), folder)
    done = routes.run((python, str(EVERYWHERE), str(CHILD), str(folder)))
    if done.returncode:
        raise SystemExit(f"{python}: {done.stderr.decode(errors='replace')[-2000:]}")
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return found


def ways(python: str, folder: Path) -> tuple[dict[str, list[str]], list[str]]:
    """Return what differs, by the way in, and the ways that fail without a trace, too."""
    found, lacks = {}, []
    for name, way in routes.WAYS.items():
        different = routes.differences(way, python, folder)
        if different is None:
            lacks.append(name)
        else:
            found[name] = different
        said = "left out" if different is None else "; ".join(different) or "as bare"
        sys.stderr.write(f"{name}: {said}\n")
    return found, lacks


def row(python: str) -> tuple[str, list[str]]:
    """Return the line of an interpreter, and what is wrong there."""
    with tempfile.TemporaryDirectory() as folder:
        seen = scenes(python, Path(folder))
        started, lacks = ways(python, Path(folder))
    tried = seen["scenes"] - len(seen["lacks"])
    right = sum(not each for each in started.values())
    left_out = ", ".join((*seen["lacks"], *lacks)) or "nothing"
    cells = (
        seen["torch"], seen["python"], f"{tried - len(seen['wrong'])} of {tried}",
        f"{seen['steps'] - len(seen['changed'])} of {seen['steps']}",
        f"{right} of {len(started)}", left_out,
    )  # fmt: skip
    problems = [
        f"{name}: {each}" for name, each in (*seen["wrong"].items(), *started.items()) if each
    ]
    problems += [f"seed {seed}: other bits" for seed in seen["changed"]] + seen["faults"]
    return f"| {' | '.join(cells)} |", problems


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, allow_abbrev=False)
    parser.add_argument("python", nargs="+")
    options = parser.parse_args()
    sys.stdout.write(
        "| torch | Python | scenes | same bits | ways | left out |\n|---|---|---|---|---|---|\n"
    )
    wrong = False
    for python in options.python:
        line, problems = row(python)
        wrong = wrong or bool(problems)
        sys.stdout.write("\n".join((line, *problems, "")))
        sys.stdout.flush()
    sys.exit(wrong)


if __name__ == "__main__":
    main()
