"""Judge manifests as they would be written: what a plan proves is what their text says."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from fadoctor.diagnose import foresee
from fadoctor.manifests.environment import planned_environment
from fadoctor.manifests.read import read_source
from fadoctor.manifests.source import open_source
from fadoctor.matrix.load import load_apart
from fadoctor.matrix.query import Matrix
from fadoctor.model.finding import Severity
from fadoctor.preflight.judge import plan_base

if TYPE_CHECKING:
    from collections.abc import Iterable

    from fadoctor.manifests.chosen import Choice
    from fadoctor.model.environment import Environment
    from fadoctor.model.finding import Finding
    from fadoctor.model.rule import Knowledge
    from fadoctor.preflight.lines import Rewrite


def new_findings(
    environment: Environment,
    knowledge: Knowledge,
    names: Iterable[str],
    rewrites: Iterable[Rewrite],
    choice: Choice | None = None,
) -> tuple[Finding, ...]:
    """Return the errors that the new texts have, and the old ones have not.

    `environment`: what the old texts make of the machine. A text that no reader takes any more
    raises InputError.
    """
    texts = {rewrite.source.name: rewrite.text for rewrite in rewrites}
    manifests = []
    for name in names:
        source = open_source(name, choice)
        text = texts.get(source.name, source.text)
        manifests.append(read_source(msgspec.structs.replace(source, text=text, instead=texts)))
    matrix = Matrix(load_apart(knowledge.tables))
    after = planned_environment(environment, manifests, matrix)
    before = {each.rule_id for each in _errors(environment, knowledge)}
    return tuple(each for each in _errors(after, knowledge) if each.rule_id not in before)


def _errors(environment: Environment, knowledge: Knowledge) -> Iterable[Finding]:
    found = foresee(plan_base(environment, knowledge), knowledge).assessment.findings
    return (each for each in found if each.severity is Severity.ERROR)
