"""What is told to do by hand takes back nothing that a plan does."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from fadoctor.model.fact import Known
from fadoctor.model.fix import Fix, Safety, Step, StepKind
from fadoctor.repair.plan.written.contradictions import contradicting
from tests.unit.judging.engine.builders import environment

if TYPE_CHECKING:
    from collections.abc import Callable

    from fadoctor.model.environment import Environment

BEFORE = {"outlines": "0.1.11", "outlines-core": "0.1.26", "numpy": "1.26.4", "xformers": "0.0.29"}
AFTER = {"outlines": "0.1.11", "outlines-core": "0.2.11", "numpy": "1.26.4"}


def holding(installed: dict[str, str]) -> Environment:
    return environment({"packages.installed": Known(installed, "list")})


def contradicts(*kept: str) -> Callable[[Fix], bool]:
    return contradicting(kept, holding(BEFORE), holding(AFTER))


def fix(item: str, kind: StepKind = StepKind.INSTALL) -> Fix:
    return Fix("one", "One", Safety.SAFE, (Step(kind, "", (item,)),))


@pytest.mark.parametrize(
    "item", ["outlines-core==0.1.26", "Outlines_Core <0.2", "xformers==0.0.29", "xformers"]
)
def test_what_a_plan_replaces_or_removes_is_not_brought_back(item: str) -> None:
    """Seen: the step of vLLM pins outlines-core 0.2.11, and by hand 0.1.26 was to be installed."""
    assert contradicts()(fix(item))


@pytest.mark.parametrize(
    "item", ["outlines-core>=0.2", "outlines-core", "outlines==1.2.0", "numpy==2.2.6", "einops"]
)
def test_what_a_plan_leaves_may_change(item: str) -> None:
    assert not contradicts()(fix(item))


def test_what_is_kept_is_neither_replaced_nor_removed() -> None:
    for kind in (StepKind.INSTALL, StepKind.UNINSTALL):
        assert contradicts("transformers")(fix("transformers", kind))
        assert not contradicts("torch")(fix("transformers", kind))
    assert not contradicts("torch")(fix("rent another GPU", StepKind.ADVICE))
