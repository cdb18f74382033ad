"""The session that the plans of one program share: of its tables each thing is looked up once."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fadoctor.knowledge.matrix.whole import whole_matrix
from fadoctor.model.rule import kept_with
from fadoctor.repair.plan.search.problem import Session

if TYPE_CHECKING:
    from fadoctor.model.rule import Knowledge

_SHARED_BY = 100
"""Plans of one session. Files whose lines are tried one by one take ten; a program that answers
for days forgets now and then what it has found."""


def shared_session(knowledge: Knowledge) -> Session:
    """Return the session of a knowledge base that all plans for it share."""
    handed_out: list[Session] = kept_with(knowledge, "sessions", lambda _: [])
    if len(handed_out) >= _SHARED_BY:
        handed_out.clear()
    new = handed_out[0] if handed_out else Session(knowledge, whole_matrix(knowledge))
    handed_out.append(new)
    return new
