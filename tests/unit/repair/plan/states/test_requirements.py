"""Requirements of everything that is installed, before and after."""

from __future__ import annotations

import pytest

from fadoctor.repair.plan.choices.compatible_newest import Company
from fadoctor.repair.plan.choices.offers import offer
from fadoctor.repair.plan.states.requirements import requirements_of, satisfies, violations
from tests.states.starts import start
from tests.unit.judging.engine.builders import UNREAD, environment
from tests.unit.repair.plan.problems import problem

OTHERS = {"torchtext": {"torch": "==2.6.0"}, "torch": {"numpy": ""}, "old": {"x": ""}}


def broken(installed: dict[str, str], needs: dict[str, dict[str, str]]) -> list[str]:
    facts = environment({"packages.installed": installed})
    return [each.text for each in violations(facts, needs)]


@pytest.mark.parametrize(
    ("installed", "texts"),
    [
        ({"a": "1", "b": "2.0"}, []),
        ({"a": "1", "b": "1.9"}, ["a requires b>=2, and there is b 1.9"]),
        ({"a": "1"}, ["a requires b>=2, and there is no b"]),
        ({"b": "1"}, []),  # who asks is not there
        ({"a": "1", "b": ""}, []),  # whatever the installer finds
        ({"a": "", "b": "1"}, []),  # nobody knows what that release asks for
        ({"a": "1", "b": "2.1+cu126"}, []),
        ({"a": "1", "b": "2.1a0"}, []),
        ({"a": "1", "b": "odd"}, []),
    ],
)
def test_violations(installed: dict[str, str], texts: list[str]) -> None:
    assert broken(installed, {"a": {"b": ">=2"}}) == texts


def test_a_specifier_that_cannot_be_read_is_not_held_against_anybody() -> None:
    assert broken({"a": "1", "b": "1"}, {"a": {"b": "nonsense"}}) == []


def test_without_a_list_of_packages_nothing_is_said() -> None:
    facts = environment({"packages.installed": UNREAD})
    assert list(violations(facts, {"a": {"b": ">=2"}})) == []


def test_facts_go_before_what_was_read_elsewhere() -> None:
    """After a plan only the facts know what the new torch will require."""
    facts = environment({"torch.requires": {"triton": "==3.4.0"}, "torch.distribution": "torch"})
    found = requirements_of(facts, OTHERS)
    assert found["torch"] == {"triton": "==3.4.0"}
    assert found["torchtext"] == {"torch": "==2.6.0"}


def test_a_release_that_comes_is_asked_for_its_own_requirements() -> None:
    """huggingface-hub 2.4.0 was planned beside transformers 4.57.6, which pip refuses."""
    there = start("transformers alone", ("NVIDIA A100-SXM4-80GB", "8.0", "580.65.06"))
    made = problem(there)
    before = made.requirements(there)["transformers"]["huggingface-hub"]
    older = offer("transformers==4.57.6")
    assert older is not None
    after = made.post.apply(there, older)
    wanted = made.requirements(after)["transformers"]["huggingface-hub"]
    assert satisfies("1.31.0", before)
    assert not satisfies("1.31.0", wanted)
    assert satisfies("0.36.0", wanted)
    newest = Company(made, after, made.requirements(after), {}, careful=False).newest
    choice = newest("huggingface-hub")
    assert choice is not None
    assert satisfies(choice.version, wanted)
