"""A name that a log misses, held against what an environment misses."""

from __future__ import annotations

import pytest

from fadoctor.judging.explain.asked_names import is_same, name_facts
from fadoctor.knowledge.matrix.name_tables import MODULE, MissingName
from fadoctor.model.fact import Absent
from fadoctor.sources.targets.missing_names import asked_of, wanted_in
from tests.unit.judging.engine.builders import environment


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        (MissingName("transformers", "A"), MissingName("transformers", "A"), True),
        (MissingName("transformers", "A"), MissingName("transformers.utils", "A"), True),
        (MissingName("transformers", "A"), MissingName("transformers", "B"), False),
        (MissingName("transformers", "A"), MissingName("peft", "A"), False),
        (MissingName("triton.ops", MODULE), MissingName("triton.ops", MODULE), True),
        (MissingName("triton.ops", MODULE), MissingName("triton", MODULE), False),
        (MissingName("triton.ops", MODULE), MissingName("triton.ops", "A"), False),
    ],
)
def test_the_same_name_wherever_in_a_package(
    one: MissingName, other: MissingName, *, same: bool
) -> None:
    assert is_same(one, other) is same
    assert is_same(other, one) is same


@pytest.mark.parametrize(("module", "name"), [("a.b", "C"), ("a.b", ""), ("a", "C")])
def test_a_name_is_read_back_as_it_was_written(module: str, name: str) -> None:
    assert wanted_in(asked_of(module, name)) == MissingName(module, name or MODULE)


def test_the_name_of_a_log_is_none_of_those_that_an_environment_misses() -> None:
    found = name_facts({"module": "transformers", "name": "HybridCache"}, "", environment({}))
    assert all(isinstance(found[f"contract.{name}"], Absent) for name in ("asker", "told", "other"))
