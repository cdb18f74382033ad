"""Leave facts of a log out that speak against the error in it: they are of another environment."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from fadoctor.judging.engine.scope import Scope
from fadoctor.model.fact import Fact, Known, Unknown
from fadoctor.model.packages import PACKAGES

if TYPE_CHECKING:
    from fadoctor.judging.engine.judge import Assessment

_WHY = "the log names a release that contradicts the error"


def without_contradicted(scope: Scope, own: Assessment | None) -> Scope:
    """Return a scope without the facts of packages by which a log's own rule did not fail.

    The program that failed had another release of them than the one that the log names. What is
    known of the GPU, the driver and the system stays.
    """
    judgements = own.judgements if own is not None else ()
    read = {
        name.partition(".")[0]
        for each in judgements
        if each.rule.id == scope.rule.id
        for name, fact in each.scope.read.items()
        if isinstance(fact, Known)
    }
    other = read & PACKAGES.keys()
    if not other:
        return scope
    facts: dict[str, Fact] = {
        name: Unknown(_WHY, "the log") if name.partition(".")[0] in other else fact
        for name, fact in scope.environment.facts.items()
    }
    environment = msgspec.structs.replace(scope.environment, facts=facts)
    return Scope(environment, scope.matrix, scope.rule, scope.bindings)
