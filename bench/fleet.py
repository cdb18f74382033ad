"""How long the merge of a fleet takes, and what it keeps, by the number of records.

Usage: python bench/fleet.py [--largest N] [--reports N]

Each size runs in a process of its own: records are made as they are read, and the peak of memory is
that of the process, less what it is before the first record. Prints a line for each.
"""

from __future__ import annotations

import argparse
import io
import json
import resource
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

import msgspec  # noqa: E402 -- of this checkout

from fadoctor.fleet.documents import document_of  # noqa: E402
from fadoctor.fleet.envelope import seal  # noqa: E402
from fadoctor.fleet.gathered import Gathered  # noqa: E402
from fadoctor.fleet.record import SEPARATOR, payload_of  # noqa: E402
from fadoctor.fleet.streams import Intake  # noqa: E402
from fadoctor.fleet.summary import FleetRequest, summarise  # noqa: E402
from fadoctor.knowledge.matrix.load import load_knowledge  # noqa: E402
from fadoctor.report.fleet_text import render  # noqa: E402
from fadoctor.report.style import Style  # noqa: E402
from tests.unit.fleet.samples import content, node  # noqa: E402

if TYPE_CHECKING:
    from collections.abc import Iterator

SIZES = (100, 1_000, 10_000, 100_000, 1_000_000)
GROUPS = 20
REPORT_SIZE = 60_000


class _Made(io.RawIOBase):
    """Lines that are made while they are read."""

    def __init__(self, lines: Iterator[bytes]) -> None:
        self._lines, self._rest = lines, b""

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: bytearray) -> int:  # type: ignore[override]
        parts, size = [self._rest], len(self._rest)
        while size < len(buffer) and (line := next(self._lines, b"")):
            parts.append(line)
            size += len(line)
        self._rest = b"".join(parts)
        taken = self._rest[: len(buffer)]
        buffer[: len(taken)] = taken
        self._rest = self._rest[len(taken) :]
        return len(taken)


def lines(count: int, *, reports: bool) -> Iterator[bytes]:
    """Yield a record, or a full report, for each node; a node in a hundred differs."""
    kinds = [content(gpu={"driver": f"{500 + kind}.54"} if kind else {}) for kind in range(GROUPS)]
    bodies = [payload_of(node(0), each).partition(SEPARATOR)[2] for each in kinds]
    filling = b',"environment":{"x":{"state":"known","value":"%s","source":""}}}\n'
    for number in range(count):
        kind = number // 100 % GROUPS if number % 100 == 0 else 0
        if reports:
            signed = document_of(node(number, count), kinds[kind], None)[:-1]
            yield signed + filling % (b"x" * (REPORT_SIZE - len(signed)))
        else:
            who = msgspec.json.encode(node(number, count, H=""))
            yield seal(who + SEPARATOR + bodies[kind])


def measure(count: int, *, reports: bool) -> dict[str, float]:
    """Merge that many nodes in this process."""
    knowledge = load_knowledge()
    making = time.perf_counter()
    sum(map(len, lines(count, reports=reports)))
    making = time.perf_counter() - making
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    start = time.perf_counter()
    gathered = Gathered()
    intake = Intake(gathered)
    made = io.BufferedReader(_Made(lines(count, reports=reports)), 1 << 20)  # type: ignore[type-var]
    with made:
        intake.read(made, "stream")
    intake.finish()
    page = summarise(gathered, knowledge, FleetRequest())
    render(page, Style())
    seconds = time.perf_counter() - start - making
    if not page.answered == page.healthy == count:
        raise SystemExit(f"{page.healthy} of {count} nodes are healthy")
    after = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return {"seconds": round(seconds, 2), "kib": after - before, "peak_mib": after >> 10}


def main() -> None:
    """Measure each size in a process of its own."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--largest", type=int, default=SIZES[-1])
    parser.add_argument("--reports", type=int, default=10_000)
    parser.add_argument("--one", nargs=2, metavar=("COUNT", "KIND"))
    asked = parser.parse_args()
    if asked.one:
        print(json.dumps(measure(int(asked.one[0]), reports=asked.one[1] == "reports")))
        return
    for count in (size for size in SIZES if size <= asked.largest):
        _show(count, "records")
    _show(asked.reports, "reports")


def _show(count: int, kind: str) -> None:
    argv = [sys.executable, __file__, "--one", str(count), kind]
    run = subprocess.run(argv, capture_output=True, text=True, check=True)
    found = json.loads(run.stdout)
    each = found["kib"] * 1024 / count
    print(f"{count:>9,} {kind}: {found['seconds']:>7} s, {each:7.0f} bytes a node more, "
          f"peak {found['peak_mib']} MiB")  # fmt: skip


if __name__ == "__main__":
    main()
