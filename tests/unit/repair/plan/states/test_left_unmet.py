"""What packages outside the catalogue require, and what a plan mends of it."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from fadoctor.knowledge.matrix.versions import is_older
from fadoctor.model.fact import Known
from fadoctor.sources.targets.derived import derive
from tests.states.starts import start
from tests.unit.repair.plan.problems import plan, session
from tests.unit.repair.plan.test_planner import changed

H100 = ("NVIDIA H100 80GB HBM3", "9.0", "550.54.15")


def planned(
    distribution: str, version: str, needs: dict[str, str], *, saved: bool = False, **there: str
) -> dict[str, str]:
    """Return what a plan changes beside a package of no catalogue.

    `saved`: nothing but the facts tells what it requires.
    """
    before = start("transformers that asks for kernels that are gone", H100)
    installed = dict(before.facts["packages.installed"].value)  # type: ignore[union-attr, arg-type]
    facts: dict[str, Any] = {
        "packages.installed": {**installed, distribution: version, **there},
        "requirer.count": 1,
        "requirer[0].distribution": distribution,
        "requirer[0].version": version,
        "requirer[0].requires": needs,
    }
    known = {name: Known(value, "test") for name, value in facts.items()}
    found = msgspec.structs.replace(before, facts={**before.facts, **known})
    found = derive(found, session().matrix)
    return changed(plan(found, requirements={} if saved else {distribution: needs}))


def test_what_it_requires_in_vain_is_a_step_where_a_fix_installs_it() -> None:
    """It was left to a person, beside a command that changed something else."""
    found = planned("verl", "0.4.1", {"ray": "<=2.40.0"}, ray="2.50.0")
    assert found == {"ray": "<=2.40.0"}


def test_of_a_package_with_a_list_of_releases_it_is_one_release() -> None:
    found = planned("verl", "0.4.1", {"tensordict": "<=0.6.2"}, tensordict="0.9.1")
    assert found == {"tensordict": "0.6.2"}


@pytest.mark.parametrize("saved", [False, True])
def test_saved_facts_are_planned_for_as_the_environment_was(*, saved: bool) -> None:
    needs = {"transformers": "<4.57"}
    found = planned("ms-swift", "3.9.0", needs, saved=saved)
    assert found == {"transformers": "4.56.2"}


def test_where_others_refuse_that_it_moves_itself() -> None:
    """transformers 4.57 takes no huggingface-hub 1: an older datasets takes the one here."""
    needs = {"huggingface-hub": "<3.0,>=1.31.0"}
    found = planned("datasets", "5.2.0", needs)
    assert "huggingface-hub" not in found
    assert found["datasets"].startswith("5.0.")


def test_what_it_compares_at_import_is_mended_though_its_metadata_do_not_ask_for_it() -> None:
    """`fix` said to look for another diffusers, and `check` to install peft."""
    found = planned("diffusers", "0.35.2", {"huggingface-hub": ">=0.34.0"}, peft="0.13.2")
    assert found.keys() == {"peft"}
    assert is_older(found["peft"].removeprefix(">="), "0.17.0") is False


def test_what_the_hub_library_needs_newer_is_named_where_it_is_there() -> None:
    """An installer moved it unnamed: hf-xet 1.1.2 became 1.8.0 with another huggingface-hub."""
    needs = {"huggingface-hub": ">=0.34.0,<1.0"}
    both: dict[str, Any] = {"huggingface-hub": "0.32.3", "hf-xet": "1.1.2"}
    found = planned("diffusers", "0.35.2", needs, **both)
    assert found["huggingface-hub"].startswith("0.3")
    assert found["hf-xet"] == "1.8.0"
    del both["hf-xet"]
    assert "hf-xet" not in planned("diffusers", "0.35.2", needs, **both)
