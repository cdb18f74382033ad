"""What the pair for the Hub will bring about: the packages that would break beside it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fadoctor.judging.engine.judge import judge
from fadoctor.knowledge.matrix.versions import version_part
from fadoctor.model.fact import Known
from fadoctor.repair.plan.choices.offers import offers_of
from fadoctor.repair.plan.choices.released import is_there
from fadoctor.repair.plan.search.wishes import PAIR

if TYPE_CHECKING:
    from collections.abc import Collection

    from fadoctor.model.environment import Environment
    from fadoctor.repair.plan.choices.choice import Choice
    from fadoctor.repair.plan.search.problem import Session


def transformers_for_hub(
    session: Session, environment: Environment, asked: Collection[str]
) -> list[Choice]:
    """Return the releases of transformers by which kernels of the Hub are had, newest first.

    Another major release changes what programs call: it has to be asked for.
    """
    found = session.hub.transformers(environment)
    here = environment.fact(f"{PAIR[0]}.version")
    major = version_part(str(here.value), "major") if isinstance(here, Known) else None
    if major is None or PAIR[0] in asked:
        return found
    return [choice for choice in found if version_part(choice.version, "major") == major]


def offers_beside_pair(
    session: Session,
    environment: Environment,
    moving: Collection[str],
    asked: Collection[str],
    tabled: Collection[str],
) -> dict[str, tuple[Choice, ...]]:
    """Return what the rules' fixes install beside the newest transformers that the Hub may need.

    Of packages that are there: another major release of transformers breaks what was right before.
    Empty where transformers stays, or may only move within its major.
    """
    found = transformers_for_hub(session, environment, asked) if PAIR[0] in moving else []
    for choice in found[:1]:
        after = session.post.apply(environment, choice)
        findings = judge(after, session.knowledge, session.matrix).findings
        offered = offers_of(findings, {*tabled, *PAIR}, after)
        return {name: offers for name, offers in offered.items() if is_there(environment, name)}
    return {}
