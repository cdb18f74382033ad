"""Which events are looked at, and which words of an issue count."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec
import pytest

from fadoctor.model.errors import InputError
from tools.triage import event as events
from tools.triage.event import Comment, Question, User, question_of, text_of

if TYPE_CHECKING:
    from pathlib import Path

ANNA = {"login": "anna", "type": "User"}
BEN = {"login": "ben", "type": "User"}
BOT = {"login": "some-app[bot]", "type": "Bot"}
ISSUE: dict[str, Any] = {"number": 7, "title": "it fails", "body": "here", "user": ANNA}


def event(**parts: Any) -> events.Event:
    return msgspec.convert({"action": "opened", "issue": ISSUE, **parts}, events.Event)


def commented(**parts: Any) -> events.Event:
    comment = {"id": 1, "body": "/fadoctor", "user": ANNA, **parts}
    return event(action="created", comment=comment)


@pytest.mark.parametrize(
    ("given", "asked"),
    [
        (event(), False),
        (commented(), True),
        (commented(body="/fadoctor\nmore of the log"), True),
        (commented(user=BEN, author_association="MEMBER"), True),
    ],
)
def test_what_is_looked_at(given: events.Event, asked: bool) -> None:  # noqa: FBT001 -- a column
    found = question_of(given)
    assert isinstance(found, Question)
    assert (found.issue.number, found.asked) == (7, asked)


@pytest.mark.parametrize(
    ("given", "why"),
    [
        (event(issue=None), "no issue"),
        (event(issue={**ISSUE, "pull_request": {}}), "pull requests"),
        (event(action="edited"), "was edited"),
        (event(action="labeled"), "was labeled"),
        (event(issue={**ISSUE, "user": BOT}), "bot"),
        (commented(body="thanks, /fadoctor helped"), "does not begin"),
        (commented(body="/fadoctors"), "does not begin"),
        (commented(body=None), "does not begin"),
        (commented(user=BOT), "bot"),
        (commented(user=BEN, author_association="NONE"), "only the issue's author"),
        (commented(user=None, author_association="CONTRIBUTOR"), "only the issue's author"),
    ],
)
def test_what_is_left_alone(given: events.Event, why: str) -> None:
    found = question_of(given)
    assert isinstance(found, str)
    assert why in found


def test_only_what_the_author_wrote_counts() -> None:
    issue = msgspec.convert(
        {**ISSUE, "body": "a <!-- paste torch 2.0 --> b <!-- open to the end"}, events.Issue
    )
    comments = [
        Comment(1, "the same with my V100", User("ben")),
        Comment(2, "/fadoctor it is an A100 <!-- hidden -->", User("anna")),
        Comment(3, None, User("anna")),
        Comment(4, "of a ghost", None),
    ]
    text = text_of(Question(issue, asked=True), comments)
    assert text.split() == ["it", "fails", "a", "b", "it", "is", "an", "A100"]


@pytest.mark.parametrize("content", [b"[]", b"{", b'{"action": 3}', b"[" * 9_000, b"\xff"])
def test_a_file_without_an_event_is_refused(content: bytes, tmp_path: Path) -> None:
    path = tmp_path / "event.json"
    path.write_bytes(content)
    with pytest.raises(InputError, match="no event of GitHub"):
        events.read_event(str(path))
    with pytest.raises(InputError, match="cannot be read"):
        events.read_event(str(tmp_path))


def test_a_huge_event_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "event.json"
    path.write_bytes(msgspec.json.encode({"action": "opened", "issue": ISSUE}))
    assert events.read_event(str(path)).issue is not None
    monkeypatch.setattr(events, "EVENT_LIMIT", 8)
    with pytest.raises(InputError, match="larger than 8 bytes"):
        events.read_event(str(path))
