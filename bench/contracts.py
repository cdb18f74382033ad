"""Time what `check` spends on the names that packages ask of each other.

Usage: python bench/contracts.py [--python PYTHON] [--runs N]

PYTHON is that of an environment with a training stack; without one, a stack of small packages is
made, which tells the fixed costs. States: nothing is known (`cold`), sources are kept and no answer
is (`modules`), the tables of released packages are used and nothing is kept (`shipped`, with PYTHON
only), an answer is kept (`warm`). Printed are the least processor and wall times, with those of
child processes, how many times as long as reading the knowledge base that is, and how many files
were parsed. Bars: cold 3 s, modules and shipped 400 ms, warm 60 ms, of processor time.
"""

from __future__ import annotations

import argparse
import os
import resource
import shutil
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from bench.bars import Bars  # noqa: E402 -- the checkout that this file stands in
from fadoctor.knowledge.matrix.load import load_knowledge  # noqa: E402
from fadoctor.sources.examine.examination import Examination  # noqa: E402
from fadoctor.sources.examine.request import Request  # noqa: E402
from fadoctor.sources.import_names import read as reading  # noqa: E402 -- the checkout this file stands in
from fadoctor.sources.import_names.model import ModuleEntry, NameAnswer, Site  # noqa: E402
from fadoctor.sources.targets.import_name_facts import asked_site  # noqa: E402

if TYPE_CHECKING:
    from collections.abc import Callable

    Ask = Callable[[bool], NameAnswer]
    T = TypeVar("T")

BARS_S = {"cold": 3.0, "modules": 0.4, "shipped": 0.4, "warm": 0.06}
FILES = 120
"""Of the small stack."""


def main() -> int:
    """Print the table; 1 where a bar stops a landing."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--python", default="")
    parser.add_argument("--runs", type=int, default=3)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        cache = Path(name, "cache", "fadoctor", "contracts")
        ask = _of(options.python, cache) if options.python else _small(Path(name, "site"), cache)
        return _measured(ask, cache, options.runs, is_real=bool(options.python))


def _measured(ask: Ask, cache: Path, runs: int, *, is_real: bool) -> int:
    bars = Bars()
    unit = min(_timed(load_knowledge)[0] for _ in range(5))
    print(f"{'state':8} {'cpu ms':>8} {'wall ms':>8} {'ratio':>8}   outcome")
    for state, bar in BARS_S.items():
        if state == "shipped" and not is_real:
            continue
        spent = []
        for _ in range(1 if state == "cold" else runs):
            _prepare(state, cache)
            spent.append(_timed(lambda: ask(state == "shipped")))  # noqa: B023 -- called at once
        cpu, wall = (min(column) for column in zip(*[each[:2] for each in spent], strict=True))
        met = bars.told(state, cpu * 1000, bar * 1000)
        print(f"{state:8} {cpu * 1000:8.0f} {wall * 1000:8.0f} {cpu / unit:8.1f} "
              f"  {met}, "
              f"{spent[-1][2].source}")  # fmt: skip
    return bars.end()


def _prepare(state: str, cache: Path) -> None:
    if state in ("cold", "shipped"):
        shutil.rmtree(cache, ignore_errors=True)
    if state == "modules":
        for file in cache.glob("verdict-*"):
            file.unlink()


def _timed(call: Callable[[], T]) -> tuple[float, float, T]:
    before, began = _spent(), time.perf_counter()
    answer = call()
    wall = time.perf_counter() - began
    return _spent() - before, wall, answer


def _spent() -> float:
    """Return the processor seconds of this process and of its children that ended."""
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(each.ru_utime + each.ru_stime for each in used)


def _of(python: str, cache: Path) -> Ask:
    """Return the question about an environment, which is examined once."""
    knowledge = load_knowledge()
    environ = {**os.environ, "XDG_CACHE_HOME": str(cache.parents[1])}
    environment = Examination(Request(python=python), environ).environment(knowledge)
    site, entries = asked_site(environment, knowledge, environ)

    def ask(is_shipped: bool) -> NameAnswer:  # noqa: FBT001 -- one of two states
        shipped = reading.SHIPPED if is_shipped else None
        return reading.read_contracts(site, entries, cache, shipped=shipped)

    return ask


def _small(site: Path, cache: Path) -> Ask:
    """Return the question about two packages of many small files."""
    body = "class C:\n" + "".join(f"    def f{n}(self):\n        return {n}\n" for n in range(60))
    for package in ("asker", "provider"):
        folder = site / package
        folder.mkdir(parents=True)
        names = [f"part{number}" for number in range(FILES)]
        (folder / "__init__.py").write_text("".join(f"from .{n} import C as {n}\n" for n in names))
        for name in names:
            (folder / f"{name}.py").write_text(body)
        (site / f"{package}-1.0.dist-info").mkdir()
        (site / f"{package}-1.0.dist-info" / "RECORD").write_text(package)
    entries = {name: ModuleEntry((name,), "entry") for name in ("asker", "provider")}
    records = {name: str(site / f"{name}-1.0.dist-info" / "RECORD") for name in entries}
    asked = Site((str(site),), dict.fromkeys(entries, "1.0"), records, (3, 11, 0), "linux")

    def ask(is_shipped: bool) -> NameAnswer:  # noqa: FBT001
        shipped = reading.SHIPPED if is_shipped else None
        return reading.read_contracts(asked, entries, cache, shipped=shipped)

    return ask


if __name__ == "__main__":
    sys.exit(main())
