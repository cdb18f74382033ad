"""What is installed under a name that means something else."""

from __future__ import annotations

from fadoctor.matrix.index_names import INSTEAD, MISTAKEN, mistaken_facts
from fadoctor.model.fact import Known, Unknown
from tests.unit.plan.problems import session


def told(**installed: str) -> object:
    there = {name.replace("_", "-"): version for name, version in installed.items()}
    facts = mistaken_facts({"packages.installed": Known(there, "test")}, session().matrix)
    fact = facts[MISTAKEN]
    assert isinstance(fact, Known)
    return fact.value


def test_what_is_installed_is_told_by_its_version() -> None:
    assert told(flash_attn_3="0.0.0", apex="0.9.10.dev0") == {
        "flash-attn-3": "(PyPI has only 0.0.0, an empty file that was withdrawn)",
        "apex": "(on PyPI that is a toolkit for the web framework Pyramid)",
    }
    assert told(flash_attn_3="3.0.0", apex="0.1", sageattention="2.2.0", flashinfer="0.2.5") == {}


def test_a_list_that_could_not_be_read_stays_open() -> None:
    unread = Unknown("no", "test")
    found = mistaken_facts({"packages.installed": unread}, session().matrix)
    assert found == {MISTAKEN: unread, INSTEAD: unread}
