"""What the pair for the Hub will bring about: the packages that would break beside it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fadoctor.engine.judge import judge
from fadoctor.plan.offers import offers_of
from fadoctor.plan.released import is_there
from fadoctor.plan.wishes import PAIR

if TYPE_CHECKING:
    from collections.abc import Collection

    from fadoctor.model.environment import Environment
    from fadoctor.plan.choice import Choice
    from fadoctor.plan.problem import Session


def offers_beside_pair(
    session: Session, environment: Environment, moving: Collection[str], tabled: Collection[str]
) -> dict[str, tuple[Choice, ...]]:
    """Return what the rules' fixes install beside the newest transformers that the Hub may need.

    Of packages that are there: another major release of transformers breaks what was right before.
    Empty where transformers stays.
    """
    newest = session.hub.transformers(environment)[:1] if PAIR[0] in moving else []
    for choice in newest:
        after = session.post.apply(environment, choice)
        findings = judge(after, session.knowledge, session.matrix).findings
        found = offers_of(findings, {*tabled, *PAIR}, after)
        return {name: offers for name, offers in found.items() if is_there(environment, name)}
    return {}
