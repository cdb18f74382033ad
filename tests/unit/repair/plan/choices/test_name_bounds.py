"""Releases that cannot be imported beside each other are no solution."""

from __future__ import annotations

import pytest

from fadoctor.repair.plan.choices.name_bounds import NameBounds
from fadoctor.repair.plan.states.requirements import violations, with_pairs
from tests.unit.judging.engine.builders import environment
from tests.unit.repair.plan.problems import plan, session
from tests.unit.repair.plan.test_set_of_framework import assumed


@pytest.mark.parametrize(
    ("installed", "broken"),
    [
        ({"peft": "0.17.1", "transformers": "5.23.0"}, ["transformers"]),
        ({"peft": "0.17.1", "transformers": "4.57.3"}, []),
        ({"peft": "0.18.0", "transformers": "5.23.0"}, []),
        ({"trl": "0.7.11", "transformers": "4.57.3"}, ["transformers"]),
        ({"trl": "1.16.0", "transformers": "4.46.3"}, ["transformers"]),
        ({"datasets": "5.2.0", "huggingface-hub": "0.36.0"}, ["huggingface-hub"]),
        ({"peft": "0.19.0", "accelerate": "0.30.1"}, ["accelerate"]),
        ({"datasets": "2.14.5", "pyarrow": "25.0.1"}, ["pyarrow"]),
        ({"datasets": "2.14.7", "pyarrow": "25.0.1"}, []),
        ({"peft": "0.17.1"}, []),
        ({"peft": "", "transformers": "5.23.0"}, []),
        ({"peft": "0.17.1", "transformers": ""}, []),
        ({"peft": "99.0", "transformers": "5.23.0"}, []),
    ],
)
def test_pairs_that_were_imported_for_real(installed: dict[str, str], broken: list[str]) -> None:
    made = environment({"packages.installed": installed})
    needs = with_pairs({}, made, session().matrix, session().bounds)
    assert [each.needs for each in violations(made, needs)] == broken


LIST = """\
accelerate==0.29.3
datasets==2.14.5
diffusers==0.24.0
huggingface-hub==0.23.4
pyarrow=={pyarrow}
tokenizers==0.19.1
torch==2.2.2
transformers==4.40.2
triton==2.2.0
"""


def test_a_wish_keeps_what_a_text_names_where_an_older_release_fits() -> None:
    text = LIST.format(pyarrow="16.1.0")
    made = plan(assumed(text, "A100"), want=("peft",))
    assert [(each.distribution, each.after) for each in made.changes] == [("peft", "0.13.2")]


def test_a_text_names_what_a_package_without_facts_cannot_import() -> None:
    text = LIST.format(pyarrow="25.0.1")
    made = plan(assumed(text, "A100"))
    assert any("pyarrow>=8.0.0,<21.0.0" in each.text for each in made.actions)


def test_a_release_is_taken_where_it_can_be_imported() -> None:
    bounds = session().bounds
    assert not bounds.take("peft", "0.17.1", {"transformers": "5.23.0"})
    assert bounds.take("peft", "0.17.1", {"transformers": "4.57.3"})
    assert bounds.take("peft", "0.17.1", {})
    assert not bounds.take("unsloth", "2025.9.1", {"transformers": "5.24.0"})
    assert not bounds.take("axolotl", "0.12.2", {"transformers": "5.0.0"})
    assert not bounds.take("llamafactory", "0.9.4", {"transformers": "5.0.0"})
    assert bounds.take("nobody", "1.0", {"transformers": "5.23.0"})


def test_without_the_table_nothing_is_bound() -> None:
    bounds = NameBounds(type(session().matrix)({}))
    assert bounds.of("peft", "0.17.1") == {}
