"""What GitHub tells a workflow about an issue. Shapes: its webhook events, by their REST schema."""

from __future__ import annotations

import re
from typing import NamedTuple

import msgspec

from fadoctor.model.errors import InputError
from fadoctor.model.files import read_bytes

COMMAND = "/fadoctor"
"""The first word of a comment that asks for an answer."""
EVENT_LIMIT = 4 * 2**20
"""Bytes of an event; an issue's text has 65,536 characters at most."""

_MAY_ASK = {"OWNER", "MEMBER", "COLLABORATOR"}
"""Associations with the repository by which somebody may ask about an issue of somebody else."""
_HIDDEN = re.compile(r"<!--.*?(?:-->|\Z)", re.DOTALL)


class User(msgspec.Struct, frozen=True):
    """Who wrote something."""

    login: str = ""
    type: str = "User"
    """``User``, ``Bot`` or ``Organization``."""


class Comment(msgspec.Struct, frozen=True):
    """One comment of an issue."""

    id: int = 0
    body: str | None = None
    user: User | None = None
    author_association: str = "NONE"


class Issue(msgspec.Struct, frozen=True):
    """The issue itself. A pull request is one that has the key ``pull_request``."""

    number: int
    title: str = ""
    body: str | None = None
    user: User | None = None
    pull_request: dict[str, object] | None = None


class Event(msgspec.Struct, frozen=True):
    """The part of an event that is read."""

    action: str
    issue: Issue | None = None
    comment: Comment | None = None


class Question(NamedTuple):
    """An issue that is to be looked at."""

    issue: Issue
    asked: bool
    """Whether a person asked for it by `COMMAND`; otherwise the issue is new."""


def read_event(name: str) -> Event:
    """Return the event of a file; InputError where the file holds none."""
    try:
        data = read_bytes(name, EVENT_LIMIT + 1)
    except (OSError, ValueError) as error:
        raise InputError(name, f"cannot be read: {error}") from None
    if len(data) > EVENT_LIMIT:
        raise InputError(name, f"is larger than {EVENT_LIMIT} bytes")
    try:
        return msgspec.json.decode(data, type=Event)
    except (msgspec.DecodeError, RecursionError) as error:
        raise InputError(name, f"is no event of GitHub: {error}") from None


def question_of(event: Event) -> Question | str:
    """Return what is to be looked at, or why nothing is."""
    issue = event.issue
    if issue is None:
        return "the event has no issue"
    if issue.pull_request is not None:
        return "pull requests get no answer"
    refusal = _of_new(event) if event.comment is None else _of_comment(event, event.comment)
    return refusal or Question(issue, asked=event.comment is not None)


def _of_new(event: Event) -> str:
    if event.action != "opened":
        return f"the issue was {event.action}, not opened"
    return "a bot wrote the issue" if event.issue and _is_bot(event.issue.user) else ""


def _of_comment(event: Event, comment: Comment) -> str:
    if event.action != "created" or not is_command(comment):
        return f"the comment does not begin with {COMMAND}"
    if _is_bot(comment.user):
        return "a bot wrote the comment"
    wrote_both = (
        event.issue is not None and comment.user is not None and comment.user == event.issue.user
    )
    if not wrote_both and comment.author_association not in _MAY_ASK:
        return "only the issue's author and people of the repository can ask"
    return ""


def is_command(comment: Comment) -> bool:
    """Whether a comment asks for an answer."""
    return (comment.body or "").split(maxsplit=1)[:1] == [COMMAND]


def text_of(question: Question, comments: list[Comment]) -> str:
    """Return what the issue's author wrote, without what a template hides.

    Only the author's comments count: others tell of their own machines.
    """
    issue = question.issue
    own = (
        each.body or "" for each in comments if each.user is not None and each.user == issue.user
    )
    parts = [issue.title, issue.body or "", *(each.removeprefix(COMMAND) for each in own)]
    return "\n\n".join(_HIDDEN.sub("", part) for part in parts if part)


def _same(one: User | None, other: User | None) -> bool:
    return one is not None and one == other


def _is_bot(user: User | None) -> bool:
    return user is not None and user.type == "Bot"
