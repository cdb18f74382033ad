"""Lines become failures: chains stay together, processes apart."""

from __future__ import annotations

from fadoctor.sources.logs.cleaning import Line
from fadoctor.sources.logs.messages import GAP, Failure, Raised, exceptions, failures

FIRST = ["Traceback (most recent call last):", '  File "a.py", line 1', "ImportError: first"]
SECOND = ["Traceback (most recent call last):", '  File "b.py", line 2', "RuntimeError: second"]
CHAIN = ["", "During handling of the above exception, another exception occurred:", ""]


def lines(texts: list[str], channel: str = "", start: int = 1) -> list[Line]:
    return [Line(start + offset, text, channel) for offset, text in enumerate(texts)]


def texts(found: list[Failure]) -> list[list[str]]:
    return [[line.text for line in failure.lines] for failure in found]


def test_chained_exceptions_are_one_failure() -> None:
    assert len(failures(lines(FIRST + CHAIN + SECOND))) == 1


def test_a_traceback_behind_an_exception_is_another_failure() -> None:
    assert texts(failures(lines([*FIRST, "cleaning up", *SECOND]))) == [
        [*FIRST, "cleaning up"],
        SECOND,
    ]


def test_interleaved_processes_are_told_apart() -> None:
    mixed = [
        line
        for number, pair in enumerate(zip(FIRST, SECOND, strict=True))
        for line in (Line(2 * number + 1, pair[0], "rank0"), Line(2 * number + 2, pair[1], "rank1"))
    ]
    assert texts(failures(mixed)) == [FIRST, SECOND]


def test_what_was_left_out_between_ends_a_failure() -> None:
    far = lines(["warning: x"]) + lines(["error: y"], start=GAP + 10)
    assert len(failures(far)) == 2


def test_the_line_at_an_offset() -> None:
    failure = Failure("", tuple(lines(["ab", "cd", "ef"])))
    assert [failure.line_at(offset).text for offset in (0, 2, 3, 6, 99)] == [
        "ab", "ab", "cd", "ef", "ef",
    ]  # fmt: skip


def test_exceptions_name_themselves_at_the_beginning_of_a_line() -> None:
    log = [
        "torch.OutOfMemoryError: no",
        "KeyError",
        "the ValueError: is quoted",
        "  AssertionError:",
    ]
    assert list(exceptions(lines(log))) == [
        Raised(1, "OutOfMemoryError", "torch.OutOfMemoryError: no"),
        Raised(2, "KeyError", "KeyError"),
        Raised(4, "AssertionError", "AssertionError:"),
    ]
