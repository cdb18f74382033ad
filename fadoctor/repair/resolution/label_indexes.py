"""The index that a label names, for files that ask for a build and name no index that has it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from fadoctor.judging.diagnose import foresee
from fadoctor.knowledge.matrix.versions import version_part
from fadoctor.knowledge.matrix.whole import whole_matrix
from fadoctor.model.fact import fact_mapping, fact_text
from fadoctor.model.packages import TORCH, package_of
from fadoctor.model.plan import Action, ActionKind
from fadoctor.repair.plan.choices.indexes import Indexes
from fadoctor.repair.plan.planner import outcome_of
from fadoctor.repair.plan.written.dialect import choose_dialect
from fadoctor.sources.manifests.installed.index_releases import UNLABELLED

if TYPE_CHECKING:
    from collections.abc import Iterator

    from fadoctor.knowledge.matrix.query import Matrix
    from fadoctor.model.environment import Environment
    from fadoctor.model.plan import Plan
    from fadoctor.model.rule import Knowledge


def with_label_indexes(plan: Plan, environment: Environment, knowledge: Knowledge) -> Plan:
    """Return a plan that names the index of each label, in place of the advice to do so.

    Not where it moves the package, nor where the tables do not say that there is such a build.
    """
    told = fact_mapping(environment.fact(UNLABELLED))
    moved = {change.distribution for change in plan.changes}
    if not told or plan.conflicts or not moved.isdisjoint(told):
        return plan
    asked = tuple(_asked(environment, tuple(told), whole_matrix(knowledge)))
    if not asked:
        return plan
    found = foresee(environment, knowledge, predicts=False).assessment.findings
    mine = [each for each in found if any(e.fact == UNLABELLED for e in each.evidence)]
    ids = {each.rule_id for each in mine}
    dialect = choose_dialect(plan.installer, environment)
    new = tuple(
        Action(
            ActionKind.INSTALL,
            f"name the index of {text}",
            dialect.install((text,)),
            requirements=(text,),
            why=mine[0].message if mine else "",
            findings=tuple(sorted(ids)),
            undo=f"remove the index {index}",
            index=index,
        )
        for text, index in asked
    )
    left = tuple(each for each in plan.actions if not each.findings or {*each.findings} - ids)
    actions = (*new, *left)
    outcome = outcome_of(actions, plan.proof, plan.conflicts)
    return msgspec.structs.replace(plan, actions=actions, outcome=outcome)


def _asked(
    environment: Environment, names: tuple[str, ...], matrix: Matrix
) -> Iterator[tuple[str, str]]:
    """Yield a requirement and the index of its label, one for each file."""
    indexes, files = Indexes(matrix), set[str]()
    torch = fact_text(environment.fact(f"{TORCH}.version"), "")
    platform = fact_text(environment.fact("host.platform"), "")
    for name in names:
        version = fact_text(environment.fact(f"{package_of(name, name)}.version"), "")
        label = version_part(version, "local") or ""
        base = version_part(torch, "base") or ""
        places = environment.places.get(f"{package_of(name, name)}.version", ())
        where = {place.file for place in places}
        if where and where.isdisjoint(files) and indexes.has(label, base, platform):
            files |= where
            yield f"{name}=={version}", indexes.of(label)
