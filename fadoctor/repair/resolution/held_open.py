"""flash-attn that would be compiled, in commands that name it alone or beside another torch."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import msgspec

from fadoctor.knowledge.matrix.query import Matrix, cell_words
from fadoctor.knowledge.matrix.versions import version_key
from fadoctor.knowledge.matrix.whole import whole_matrix
from fadoctor.model.fact import Known, Unknown, fact_text
from fadoctor.model.packages import FLASH_ATTN, PACKAGES, RELEASE_TABLES, TORCH
from fadoctor.model.plan import Action, ActionKind
from fadoctor.repair.plan.choices.choice import ChoiceKind
from fadoctor.repair.plan.choices.files import Files
from fadoctor.repair.plan.planner import outcome_of
from fadoctor.repair.plan.written.dialect import choose_dialect
from fadoctor.repair.resolution.prebuilt import PREBUILT, Prebuilt
from fadoctor.sources.manifests.installed.held import HELD

if TYPE_CHECKING:
    from collections.abc import Iterator

    from fadoctor.model.environment import Environment
    from fadoctor.model.place import Place
    from fadoctor.model.plan import Plan
    from fadoctor.model.rule import Knowledge

_VERSION = f"{FLASH_ATTN}.version"
_NAME = PACKAGES[FLASH_ATTN][0]
_RULE = "prebuilt-wheel-missing"


class _Compiled(NamedTuple):
    """A flash-attn that is surely compiled."""

    place: Place
    version: str
    fitting: str
    """The newest release that has a file for the torch that comes."""
    is_newest: bool
    """Whether it comes because no release is named."""


def _compiled(environment: Environment, matrix: Matrix) -> _Compiled | None:
    """Return the flash-attn of files that is compiled though another release has a file.

    A command without a release installs the newest one where none is there.
    """
    version, places = environment.fact(_VERSION), environment.places.get(_VERSION, ())
    is_held = isinstance(version, Unknown) and version.reason == HELD
    if not places or not (is_held or isinstance(version, Known)):
        return None
    rows = matrix.tables[RELEASE_TABLES[FLASH_ATTN]].rows
    newest = max((word for row in rows for word in cell_words(row["version"])), key=version_key)
    comes = newest if is_held else fact_text(version, "")
    there = environment.facts | {_VERSION: Known(comes, HELD)}
    prebuilt = Prebuilt.of(matrix)
    found = prebuilt.facts(environment, there, comes).get(PREBUILT)
    fitting = prebuilt.newest_for(environment)
    if isinstance(found, Known) and found.value is False and fitting:
        return _Compiled(places[0], comes, fitting, is_held)
    return None


def held_notes(
    environment: Environment, knowledge: Knowledge, plan: Plan | None = None
) -> Iterator[str]:
    """Yield which release has a ready-made wheel, where flash-attn is compiled.

    `environment`: as the files describe it once they are changed. `plan`: what changes them. What
    a person names and keeps its torch is told beside the plan.
    """
    found = _compiled(environment, whole_matrix(knowledge))
    moved = {change.distribution for change in plan.changes} if plan else set()
    if found is None or _NAME in moved or not (found.is_newest or TORCH in moved):
        return
    torch = fact_text(environment.fact("torch.version"), "")
    lead = f"without a release the newest {_NAME} comes where none is there: "
    lead = lead if found.is_newest else f"torch becomes {torch}: {_NAME} "
    which = "this torch" if found.is_newest else "it"
    yield (
        f"{found.place}: {lead}{found.version} has no prebuilt wheel for {which}, "
        f"so it is compiled; {_NAME}=={found.fitting} has one"
    )


def with_ready_made(plan: Plan, environment: Environment, knowledge: Knowledge) -> Plan:
    """Return a plan that names a ready-made file for a flash-attn that is named without a release.

    Only beside other steps: to compile it may be meant, and nothing is changed for that alone.
    """
    is_moved = any(change.distribution == _NAME for change in plan.changes)
    if plan.conflicts or is_moved or not any(action.is_step for action in plan.actions):
        return plan
    matrix = whole_matrix(knowledge)
    found = _compiled(environment, matrix)
    if found is None or not found.is_newest:
        return plan
    files = Files(matrix).flash_attn(environment)
    file = next((each for each in files if each.kind is ChoiceKind.WHEEL), None)
    if file is None:
        return plan
    text = file.requirement
    action = Action(
        ActionKind.INSTALL,
        f"ask for {text}",
        choose_dialect(plan.installer, environment).install((text,)),
        requirements=(text,),
        url=file.url,
        why=f"{_NAME} {found.version} has no prebuilt wheel for this torch, so it is compiled.",
        findings=(_RULE,),
        undo=f"name {_NAME} without a file",
    )
    actions = (action, *plan.actions)
    outcome = outcome_of(actions, plan.proof, plan.conflicts)
    return msgspec.structs.replace(plan, actions=actions, outcome=outcome)
