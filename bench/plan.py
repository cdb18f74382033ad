"""Time planning beyond `check`, and how it grows with the matrix.

Usage: python bench/plan.py [--runs N] [--copies N]

Least processor times of repeated runs in this process, after one warm-up, for each golden
environment: making the plan, less the diagnosis that `check` does anyway. Then plans from an empty
environment, which have everything to choose from. Then the releases of torch, and with them the
files of flash-attn, are repeated under new version numbers, up to `--copies` times. Beside the
times are the partial states that the searches look at, those of explanations included; a test holds
their bar (tests/unit/repair/plan/test_fewer_states.py).
"""

from __future__ import annotations

import argparse
import gc
import sys
import time
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING
from unittest.mock import patch

import msgspec

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from bench.bars import Bars  # noqa: E402 -- the checkout that this file stands in
from fadoctor.__main__ import RARELY  # noqa: E402 -- the checkout that this file stands in
from fadoctor.judging.diagnose import diagnose  # noqa: E402 -- the checkout that this file stands in
from fadoctor.knowledge.matrix.load import load_apart, load_knowledge  # noqa: E402
from fadoctor.knowledge.matrix.query import Matrix  # noqa: E402
from fadoctor.repair.plan.planner import PlannerRequest, make_plan, session_of  # noqa: E402
from fadoctor.repair.plan.search.problem import Session  # noqa: E402
from fadoctor.repair.plan.states.post_state import PostState  # noqa: E402
from fadoctor.sources.targets.saved import read_facts  # noqa: E402
from tests.states.starts import start  # noqa: E402

if TYPE_CHECKING:
    from collections.abc import Callable

    from fadoctor.model.environment import Environment
    from fadoctor.model.plan import Plan
    from fadoctor.model.rule import Knowledge, Table
    from fadoctor.repair.plan.choices.choice import Choice

BAR_S = 0.3
EMPTY_BAR_S = 2.0
COPIES = (1, 2, 4, 8)

_GROWING = ("torch-releases", "torch-builds", "flash-attn-wheels", "flash-attn-wheels-community")
_QUESTIONS = {
    "": PlannerRequest(),
    " --keep torch": PlannerRequest(keep=("torch",)),
    " --want flash-attn": PlannerRequest(want=("flash-attn",)),
}
_WISHES = (("flash-attn",), ("vllm",), ("vllm", "flash-attn"), ("unsloth",), ("fa3",), ("fa4",))
_MACHINES = (
    ("A100", "8.0", "550.54.15"),
    ("H100", "9.0", "580.65.06"),
    ("B200", "10.0", "580.65.06"),
)


def main() -> int:
    """Print the table, and whether the bar is met."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--copies", type=int, default=max(COPIES))
    asked = parser.parse_args()
    runs = asked.runs
    gc.set_threshold(RARELY)  # as the program does
    knowledge = load_knowledge()
    worst = 0.0
    print(f"{'environment and question':58} {'ms beyond check':>15} {'states':>7}  outcome")
    for name in sorted(path.parent.name for path in ROOT.glob("tests/golden/*/facts.json")):
        environment = golden(name)
        for words, question in _QUESTIONS.items():
            spent = beyond_check(
                environment, knowledge, lambda: session_of(knowledge), question, runs
            )
            worst = max(worst, spent)
            plan, states = counted(environment, session_of(knowledge), question)
            told = plan.outcome.value
            print(f"{name + words:58} {spent * 1000:15.1f} {states:7}  {told}")
    slowest = from_nothing(knowledge, runs)
    if asked.copies:
        print("\nlinux-5090-torch26, torch and flash-attn in several copies")
    for copies in (count for count in COPIES if count <= asked.copies):
        tables = {name: grown(table, copies) for name, table in knowledge.tables.items()}
        more = msgspec.structs.replace(knowledge, tables=tables)
        every = {name: grown(table, copies) for name, table in load_apart(tables).items()}
        session = partial(fresh, more, every)
        spent = beyond_check(golden("linux-5090-torch26"), more, session, PlannerRequest(), runs)
        rows = sum(len(table.rows) for table in every.values())
        print(f"{copies:3} copies, {rows:6} rows {spent * 1000:12.1f} ms")
    bars = Bars()
    for name, spent, bar in (("slowest", worst, BAR_S), ("from nothing", slowest, EMPTY_BAR_S)):
        print(f"{name}: {spent * 1000:.0f} ms; {bars.told(name, spent * 1000, bar * 1000)}")
    return bars.end()


def fresh(knowledge: Knowledge, tables: dict[str, Table]) -> Session:
    """Return a session that has looked up nothing."""
    return Session(knowledge, Matrix(tables))


def counted(
    environment: Environment, session: Session, question: PlannerRequest
) -> tuple[Plan, int]:
    """Return a plan, and how many partial states were looked at for it."""
    applied, count = PostState.apply, 0

    def apply(post: PostState, before: Environment, choice: Choice) -> Environment:
        nonlocal count
        count += 1
        return applied(post, before, choice)

    with patch.object(PostState, "apply", apply):
        return make_plan(environment, session, question), count


def from_nothing(knowledge: Knowledge, runs: int) -> float:
    """Print what plans from an empty environment take; return the slowest, seconds."""
    slowest = 0.0
    print("\nfrom an empty environment, all of it")
    for machine in _MACHINES:
        environment = start("empty", machine)
        for want in _WISHES:
            question = PlannerRequest(want=want)

            def plan(
                environment: Environment = environment, question: PlannerRequest = question
            ) -> None:
                make_plan(environment, session_of(knowledge), question)

            spent = least(plan, runs)
            slowest = max(slowest, spent)
            name = f"{machine[0]}, driver {machine[2]}, --want {' --want '.join(want)}"
            print(f"{name:58} {spent * 1000:15.1f}")
    return slowest


def golden(name: str) -> Environment:
    """Return the facts of a golden case."""
    data = (ROOT / "tests" / "golden" / name / "facts.json").read_bytes()
    return read_facts(data, name)


def grown(table: Table, copies: int) -> Table:
    """Return a table with its releases again, under versions that are older than all."""
    if table.table not in _GROWING or copies == 1:
        return table
    column = "version" if table.table.startswith("torch") else "torch"
    rows = list(table.rows)
    for copy in range(1, copies):
        rows += [{**row, column: _older(str(row[column]), copy)} for row in table.rows]
    return msgspec.structs.replace(table, rows=tuple(rows))


def _older(words: str, copy: int) -> str:
    """Return versions under another major: ``2.8.0`` -> ``0.28.0`` and so on."""
    return " ".join(f"0.{copy}{word.replace('.', '')}.0" for word in words.split())


def beyond_check(
    environment: Environment,
    knowledge: Knowledge,
    session: Callable[[], Session],
    question: PlannerRequest,
    runs: int,
) -> float:
    """Return the seconds that a plan takes more than a diagnosis, reading its tables included."""

    def plan() -> None:
        make_plan(environment, session(), question)

    def check() -> None:
        diagnose(environment, knowledge)

    return least(plan, runs) - least(check, runs)


def least(work: Callable[[], object], runs: int) -> float:
    """Return the least processor time of some runs, seconds: planning waits for nothing."""
    work()
    times = []
    for _ in range(runs):
        start = time.process_time()
        work()
        times.append(time.process_time() - start)
    return min(times)


if __name__ == "__main__":
    sys.exit(main())
