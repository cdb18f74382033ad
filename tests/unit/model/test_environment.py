"""What rules judge in the facts of an environment, and what older facts did not look for."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from fadoctor.judging.diagnose import diagnose
from fadoctor.knowledge.matrix.load import load_knowledge
from fadoctor.model.environment import Environment, Target
from fadoctor.model.fact import Absent, Fact, Known
from fadoctor.model.packages import EXTENSIONS
from fadoctor.sources.targets.saved import read_facts

GOLDEN = Path(__file__).parents[2] / "golden"


def environment(**facts: Fact) -> Environment:
    named = {name.replace("__", "."): fact for name, fact in facts.items()}
    return Environment("0", Target("facts", "a", "b"), named)


def names(found: Environment) -> set[str]:
    return {subject.bindings["extension"] for subject in found.subjects("extension")}


def test_an_extension_that_older_facts_do_not_list_is_not_judged() -> None:
    version, file = Known("1.0", "metadata"), Known("torch/_C.so", "import path")
    listed = environment(
        torch__version=version,
        xformers__version=version,
        torch__binary__file=file,
        flash_attn__version=version,
        flash_attn__binary__file=Absent("import path"),
    )
    found = names(listed)
    assert "flash_attn.binary" in found
    assert not any(name.startswith("xformers.") for name in found)


def test_where_no_extension_is_listed_each_may_be_there() -> None:
    found = names(environment(xformers__version=Known("1.0", "a text")))
    assert "xformers.binary" in found


def installed(facts: Environment) -> list[str]:
    return [
        key
        for key in EXTENSIONS
        if key != "torch" and isinstance(facts.fact(f"{key}.version"), Known)
    ]


@pytest.mark.parametrize("name", ["linux-a100-healthy", "linux-v100-and-a100"])
def test_what_was_saved_before_an_extension_was_known_decides_as_much(name: str) -> None:
    """A package that is said to have an extension today was one without when facts were saved."""
    data = (GOLDEN / name / "facts.json").read_bytes()
    saved = read_facts(data, name)
    knowledge = load_knowledge()
    today = diagnose(saved, knowledge)
    packages = installed(saved)
    assert packages
    for package in packages:
        heads = tuple(f"{package}.{name}." for name in EXTENSIONS[package])
        left = {
            name: fact
            for name, fact in saved.facts.items()
            if not name.startswith(heads) and name != f"{package}.loads"
        }
        older = diagnose(msgspec.structs.replace(saved, facts=left), knowledge)
        asked = {(each.rule_id, each.subject) for each in today.unknown}
        assert [u for u in older.unknown if (u.rule_id, u.subject) not in asked] == []
        assert [v.predicted for v in older.verdicts] == [v.predicted for v in today.verdicts]
