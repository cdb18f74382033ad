"""Ways into a program, each run bare and traced: what must be equal, and what must be found."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any, NamedTuple

HERE = Path(__file__).parent
PATIENT, RANKS, USES = HERE / "patient.py", HERE / "ranks.py", HERE / "uses.py"
TORCHRUN = ("-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2")

STARTED = ("plain", "spawn", "fork", "forkserver", "thread", "workers", "exec", "inference")
ENDED = {"killed": 137, "gone": 9, "fails": 1}
WRAPPED = ("ddp", "fsdp", "fully-shard")

LINE = next(
    at for at, text in enumerate(PATIENT.read_text().splitlines(), 1) if "the guilty line" in text
)
FOUND = ("layers.1", "q", "promotion", "layers.1.scale", LINE)
FOUND_IN_RANKS = ("layers.0", "q", "promotion", "layers.0.scale", LINE)

Named = tuple[Any, ...]


class Way(NamedTuple):
    """How a program is started, below an interpreter, and what a trace must name."""

    argv: tuple[str, ...]
    named: frozenset[Named] = frozenset((FOUND,))
    more: bool = False
    """Whether others may be named beside: what compiled code shows differs between versions."""


WAYS = {
    **{way: Way((str(PATIENT), way)) for way in (*STARTED, *ENDED)},
    "compiled": Way((str(PATIENT), "compiled"), more=True),
    "-m": Way(("-m", "patient")),
    "-c": Way(("-c", "import patient; patient.step()")),
    "torchrun": Way((*TORCHRUN, str(PATIENT), "ranks")),
    **{way: Way((*TORCHRUN, str(RANKS), way), frozenset((FOUND_IN_RANKS,))) for way in WRAPPED},
    "other uses": Way(("-W", "ignore", str(USES)), frozenset(), more=True),
}


def run(argv: tuple[str, ...], **environ: str) -> subprocess.CompletedProcess[bytes]:
    """Run a command where the programs lie."""
    return subprocess.run(
        argv, capture_output=True, check=False, timeout=300, cwd=HERE,
        env={**os.environ, "OMP_NUM_THREADS": "1", **environ},
    )  # fmt: skip


def run_traced(
    output: Path, argv: tuple[str, ...], options: tuple[str, ...] = (), **environ: str
) -> tuple[subprocess.CompletedProcess[bytes], dict[str, Any]]:
    """Run it under `fadoctor trace`; return how it ended, and the report."""
    asked = ("--format", "json", "--output", str(output), *options)
    done = run((sys.executable, "-m", "fadoctor", "trace", *asked, "--", *argv), **environ)
    return done, json.loads(output.read_text())


def named(document: dict[str, Any]) -> list[Named]:
    """Return who was named: call, letter, kind, module, line."""
    return [
        (call["module"], letter, culprit["kind"], culprit["module"], culprit["line"])
        for process in document["processes"]
        for call in process["calls"]
        for letter, culprit in call["culprits"].items()
    ]


def differences(way: Way, python: str, folder: Path) -> list[str] | None:
    """Return what a trace changes or misses, None where the program fails without one."""
    bare = run((python, *way.argv))
    if bare.returncode and way.argv[-1] not in ENDED:
        return None
    done, document = run_traced(folder / "trace.json", (python, *way.argv))
    found = []
    if done.returncode != (bare.returncode if bare.returncode >= 0 else 128 - bare.returncode):
        found.append(f"exit code {done.returncode}, not {bare.returncode}")
    ordered = sorted if way.argv[:2] == TORCHRUN[:2] else bytes  # ranks print across each other
    if ordered(done.stdout) != ordered(bare.stdout):
        found.append(f"printed {done.stdout[-300:]!r}, not {bare.stdout[-300:]!r}")
    seen = set(named(document))
    if not seen >= way.named or (seen != way.named and not way.more):
        found.append(f"named {sorted(seen, key=str)}")
    faults = [fault for process in document["processes"] for fault in process["faults"]]
    return found + faults
