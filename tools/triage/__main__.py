"""Answer one issue: ``python -m tools.triage [--dry-run] [EVENT]``.

Reads ``GITHUB_EVENT_PATH``, ``GITHUB_REPOSITORY``, ``GITHUB_API_URL`` and ``GITHUB_TOKEN``, as
GitHub's runner sets them. Prints one line: what was done, or why nothing was.
"""

from __future__ import annotations

import argparse
import os
import sys
from typing import TYPE_CHECKING

from fadoctor.api import explain
from fadoctor.model.errors import FadoctorError
from tools.triage.answer import Answer, answer_to, digest_of
from tools.triage.event import Question, question_of, read_event, text_of
from tools.triage.thread import Thread

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tools.triage.event import Comment

BOT = "github-actions[bot]"
"""Whose comments are ours, where the workflow's own token writes them."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Answer the issue of an event; return the exit code."""
    parser = argparse.ArgumentParser(prog="fadoctor-triage", description=__doc__)
    parser.add_argument("event", nargs="?", default=os.environ.get("GITHUB_EVENT_PATH", ""))
    parser.add_argument("--dry-run", action="store_true", help="print the comment, send nothing")
    parser.add_argument("--login", default=BOT, help="whose comments are replaced")
    options = parser.parse_args(arguments)
    try:
        done = _triage(options.event, options.login, dry_run=options.dry_run)
    except FadoctorError as error:
        sys.stderr.write(f"fadoctor: {error}\n")
        return 2
    sys.stdout.write(f"{done}\n")
    return 0


def _triage(event: str, login: str, *, dry_run: bool) -> str:
    question = question_of(read_event(event))
    if isinstance(question, str):
        return f"No comment: {question}."
    thread = Thread(
        os.environ.get("GITHUB_API_URL", "https://api.github.com"),
        os.environ.get("GITHUB_REPOSITORY", ""),
        question.issue.number,
        os.environ.get("GITHUB_TOKEN", ""),
    )
    comments = [] if dry_run else thread.comments()
    text = text_of(question, comments if question.asked else [])
    answer = answer_to(explain(text), text, asked=question.asked)
    if answer is None:
        return "No comment: no cause is certain enough."
    if dry_run:
        return answer.body
    return _sent(thread, answer, _ours(comments, login), question)


def _sent(thread: Thread, answer: Answer, ours: Comment | None, question: Question) -> str:
    """Add the comment, or replace the one that is there; the same one is never sent twice."""
    if ours is None:
        thread.add(answer.body)
        return f"Comment on #{question.issue.number}: {answer.kind.value} {answer.rule_id}".rstrip()
    if digest_of(ours.body or "") == digest_of(answer.body):
        return "No comment: the same answer is there."
    thread.replace(ours, answer.body)
    return f"Replaced on #{question.issue.number}: {answer.kind.value} {answer.rule_id}".rstrip()


def _ours(comments: list[Comment], login: str) -> Comment | None:
    """Return our comment. Somebody else may have copied its mark."""
    for comment in comments:
        by_us = comment.user is not None and comment.user.login == login
        if by_us and digest_of(comment.body or ""):
            return comment
    return None


if __name__ == "__main__":
    sys.exit(main())
