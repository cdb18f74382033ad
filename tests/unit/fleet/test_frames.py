"""Reports in pieces: whole, or named as damaged."""

from __future__ import annotations

import hashlib
import io

import pytest

from fadoctor.fleet import frames
from fadoctor.fleet.envelope import LINE_LIMIT, opened
from fadoctor.fleet.frames import Assembly, BrokenFrames, Whole, frames_of
from fadoctor.fleet.gathered import Gathered
from fadoctor.fleet.record import SEPARATOR
from fadoctor.fleet.streams import Intake
from tests.unit.fleet.samples import node


def _digest(number: int) -> bytes:
    return hashlib.sha256(b"%d" % number).hexdigest().encode()


DOCUMENT = b'{"node": "' + b"".join(map(_digest, range(300))) + b'"}'
LINES = list(frames_of(node(3), DOCUMENT))


def put_together(lines: list[bytes]) -> tuple[list[Whole | BrokenFrames], list[BrokenFrames]]:
    assembly = Assembly()
    payloads = [each for line in lines for each in opened(line) if isinstance(each, bytes)]
    found = [assembly.add("n03", each.partition(SEPARATOR)[2]) for each in payloads]
    return [each for each in found if each is not None], list(assembly.rest())


def test_lines_are_short_and_give_the_report_in_any_order() -> None:
    assert max(map(len, LINES)) <= LINE_LIMIT
    lines = [*LINES[::-1], *LINES]
    assert put_together(lines) == ([Whole(DOCUMENT)], [])


@pytest.mark.parametrize("lost", [0, 5, len(LINES) - 1])
def test_a_report_with_a_piece_missing_is_named(lost: int) -> None:
    found, rest = put_together(LINES[:lost] + LINES[lost + 1 :])
    assert found == []
    count = len(LINES)
    assert rest == [
        BrokenFrames("n03", f"1 of {count} pieces of its report are missing or damaged")
    ]


@pytest.mark.parametrize(
    "body",
    [b"+", b"+0123456789abcdef 1/1 !", b"+0123456789abcdef 3/2 AAAA",
     b"+0123456789abcdef 1/1 AAAA", b"+0123456789abcdef 0/0 AAAA"],
)  # fmt: skip
def test_what_is_no_piece_is_broken(body: bytes) -> None:
    assert isinstance(Assembly().add("n1", body), BrokenFrames)


def test_pieces_of_reports_that_never_become_whole_are_bounded(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """An empty piece counted for nothing: a stream of them filled the memory."""
    monkeypatch.setattr(frames, "KEPT_LIMIT", 512 * 100)
    assembly = Assembly()
    found = [assembly.add("n", b"+%016x 1/2 " % number) for number in range(1_000)]
    assert sum(isinstance(each, BrokenFrames) for each in found) >= 899
    assert len(list(assembly.rest())) <= 101


def test_a_piece_that_contradicts_itself_is_not_waited_for() -> None:
    assembly = Assembly()
    for body in (b"+%016x 0/2 x" % 1, b"+%016x 3/2 x" % 2, b"+%016x 1/99999 x" % 3):
        assert isinstance(assembly.add("n", body), BrokenFrames)
    assert list(assembly.rest()) == []


def test_a_bomb_is_unpacked_up_to_a_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(frames, "DOCUMENT_LIMIT", 1_000_000)
    lines = list(frames_of(node(1), b"0" * 50_000_000))
    gathered = Gathered()
    intake = Intake(gathered)
    intake.read(io.BytesIO(b"".join(lines)), "stream")
    assert [each.problem for each in gathered.unreadable] == ["its report is too large"]
