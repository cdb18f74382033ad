"""Whether facts surely meet what a symptom asks of them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fadoctor.judging.engine.condition import Truth, holds
from fadoctor.judging.engine.scope import Scope

if TYPE_CHECKING:
    from collections.abc import Callable

    from fadoctor.judging.engine.symptoms import Given
    from fadoctor.knowledge.matrix.query import Matrix
    from fadoctor.model.environment import Environment
    from fadoctor.model.rule import Condition, Rule

_FIRST = ("gpu", "toolkit")
"""Subjects whose first one is meant where a log is about one of them."""


def given_by(environment: Callable[[], Environment], matrix: Matrix) -> Given:
    """Return what answers for an environment; what is unknown is not given.

    The environment is asked for only where a symptom asks for facts.
    """

    def given(rule: Rule, condition: Condition) -> bool:
        bindings = {kind: f"{kind}[0]" for kind in _FIRST}
        return holds(condition, Scope(environment(), matrix, rule, bindings)) is Truth.TRUE

    return given
