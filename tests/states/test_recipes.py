"""A plan taken along is the same environment: read back, and judged where it was made for."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

import pytest

from fadoctor.model.errors import UsageError
from fadoctor.model.finding import Severity
from fadoctor.model.plan import PlanOutcome
from fadoctor.repair.plan.planner import PlannerRequest, make_recipe
from fadoctor.repair.resolution.judge import foresee_planned
from fadoctor.sources.manifests.installed.environment import planned_environment
from fadoctor.sources.manifests.read import read_manifest
from tests.shipped import compiled
from tests.states.enumeration import made
from tests.states.test_states import sample
from tests.unit.repair.plan.problems import session
from tests.unit.report.recipes.test_recipes import FILES, asked, render, told

if TYPE_CHECKING:
    from pathlib import Path

    from fadoctor.model.environment import Environment
    from fadoctor.model.recipe import Recipe
    from tests.states.enumeration import Space

SAMPLE, FEW = 40, 2


def fault(recipe: Recipe, host: Environment, form: str, folder: Path) -> str:
    """Return what is wrong with a file, "" where nothing is."""
    path = folder / FILES[form]
    try:
        path.write_text(render(recipe, form))
    except UsageError as error:
        return "" if recipe.built else str(error)
    manifest = read_manifest(str(path))
    if told(manifest) != asked(recipe):
        return f"{told(manifest)} is read of {asked(recipe)}"
    anew = planned_environment(host, (manifest,), session().matrix)
    judged = foresee_planned(anew, compiled().knowledge).shown.shown
    wrong = [each for each in judged if each.severity is Severity.ERROR]
    return "; ".join(f"{each.rule_id}: {each.message}" for each in wrong)


def faults(space: Space, count: int, folder: Path) -> dict[str, str]:
    found = {}
    clean = 0
    for number, state in enumerate(sample(space, count, seed=17)):
        host = made(state, space)
        plan, recipe = make_recipe(host, session(), PlannerRequest())
        if plan.outcome not in (PlanOutcome.REPAIRS, PlanOutcome.NOTHING):
            continue
        clean += 1
        for form in (list(FILES)[number % len(FILES)],) if count > FEW else FILES:
            problem = fault(recipe, host, form, folder)
            if problem:
                found[f"{form}: {state}"] = problem
    assert clean >= count // 3
    return found


@pytest.mark.long
@pytest.mark.property
def test_a_few_plans_work_when_they_are_made_anew(space: Space, tmp_path: Path) -> None:
    assert faults(space, FEW, tmp_path) == {}


@pytest.mark.property
@pytest.mark.weekly
def test_plans_work_when_they_are_made_anew(space: Space, tmp_path: Path) -> None:
    assert faults(space, SAMPLE, tmp_path) == {}


def test_every_form_is_tried() -> None:
    for form in (*FILES, "colab"):
        assert import_module(f"fadoctor.report.recipes.{form}").render
