"""No test asserts how long something takes: a slow or busy machine is no fault of what is tested.

Count what is done instead (tests/work.py), or measure it in bench/. What only keeps a test from
hanging waits for a minute or more.
"""

from __future__ import annotations

import ast
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterator

TESTS = Path(__file__).resolve().parents[1]
CLOCKS = frozenset(
    f"{name}{unit}"
    for name in ("time", "monotonic", "perf_counter", "process_time", "thread_time")
    for unit in ("", "_ns")
)
SPENT = frozenset({"elapsed_s", "ru_utime", "ru_stime"})
WAITS = frozenset({"wait", "communicate", "join", "run", "check_output", "check_call", "get"})
A_MINUTE = 60


def is_clock(node: ast.AST) -> bool:
    """Whether this asks a clock: `time.monotonic()`, or `monotonic()`."""
    if not isinstance(node, ast.Call):
        return False
    called = node.func
    if isinstance(called, ast.Attribute):
        return called.attr in CLOCKS and isinstance(called.value, ast.Name)
    return isinstance(called, ast.Name) and called.id in CLOCKS - {"time"}


def asks_time(node: ast.AST) -> bool:
    """Whether this reads a clock or what a process has spent; not what is left of a wait."""
    if isinstance(node, ast.BinOp) and isinstance(node.left, ast.Name) and is_clock(node.right):
        return False
    if is_clock(node) or (isinstance(node, ast.Attribute) and node.attr in SPENT):
        return True
    return any(map(asks_time, ast.iter_child_nodes(node)))


def faults(source: str) -> Iterator[tuple[int, str]]:
    """Yield the line of what would depend on the speed of a machine, and what it is."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Assert) and asks_time(node.test):
            yield node.lineno, "asserts about time"
        elif isinstance(node, (ast.Assign, ast.AnnAssign, ast.NamedExpr)) and node.value:
            yield from ((node.lineno, each) for each in kept(node.value))
        elif isinstance(node, ast.Call):
            yield from ((node.lineno, each) for each in hurried(node))


def kept(value: ast.expr) -> Iterator[str]:
    """Yield what is wrong with a time that is kept: only the end of a wait of a minute may be."""
    if not asks_time(value):
        return
    is_deadline = isinstance(value, ast.BinOp) and isinstance(value.op, ast.Add)
    if not is_deadline or not isinstance(value, ast.BinOp) or not is_clock(value.left):
        yield "keeps a time, for an assertion later"
    elif is_short(value.right):
        yield "waits less than a minute"


def hurried(call: ast.Call) -> Iterator[str]:
    """Yield what is wrong with a call that waits."""
    name = call.func.attr if isinstance(call.func, ast.Attribute) else ""
    limits = [each.value for each in call.keywords if each.arg == "timeout"]
    if name in {"wait", "join"}:
        limits += call.args[:1]
    if name in WAITS and any(map(is_short, limits)):
        yield "waits less than a minute"


def is_short(limit: ast.expr) -> bool:
    return (
        isinstance(limit, ast.Constant)
        and isinstance(limit.value, (int, float))
        and limit.value < A_MINUTE
    )


FILES = sorted(
    path
    for path in TESTS.rglob("*.py")
    if not {"hosts", "golden", "samples"} & set(path.relative_to(TESTS).parts)
)


@pytest.mark.long
def test_no_test_depends_on_the_speed_of_a_machine() -> None:
    found = [
        f"{path.relative_to(TESTS)}:{line}: {problem}"
        for path in FILES
        for line, problem in faults(path.read_text(encoding="utf-8"))
    ]
    assert found == []
    assert len(FILES) > 300


@pytest.mark.parametrize(
    "line",
    [
        "assert time.monotonic() - started < 2",
        "assert result.elapsed_s < 4",
        "assert used.ru_utime - before.ru_utime < 3",
        "started = time.process_time()",
        "spent = time.perf_counter_ns() - began",
        "if (now := monotonic()) > 3: pass",
        "deadline = time.monotonic() + 5",
        "subprocess.run(argv, timeout=20)",
        "child.wait(5)",
        "child.communicate(timeout=2.5)",
    ],
)
def test_what_does_is_found(line: str) -> None:
    assert len(list(faults(line))) == 1


@pytest.mark.parametrize(
    "line",
    [
        "deadline = time.monotonic() + 60",
        "until = time.monotonic() + timeout_s",
        "while time.monotonic() < deadline: pass",
        "ready = selector.select(max(0, until - time.monotonic()))",
        "subprocess.run(argv, timeout=120)",
        "child.wait(PATIENCE_S)",
        "smoke(timeout_s=1)",
        "time.sleep(0.1)",
        "result = Result(elapsed_s=2.0)",
        "' '.join(words)",
    ],
)
def test_what_does_not_is_left_alone(line: str) -> None:
    assert list(faults(line)) == []
