"""What two releases declare to require of one package."""

from __future__ import annotations

from fadoctor.repair.plan.choices.choice import keep
from fadoctor.repair.plan.choices.offers import offer
from fadoctor.repair.plan.states.at_odds import at_odds
from tests.unit.repair.plan.problems import session


def told(first: str, second: str) -> list[str]:
    """Return in words what two requirements are at odds about."""
    helpers = session().candidates.helpers
    choices = [offer(first), offer(second)]
    assert choices[0] is not None
    assert choices[1] is not None
    return [each.text for each in at_odds(helpers, choices[0], choices[1])]


def test_ranges_that_exclude_each_other_are_told() -> None:
    """Each release of vLLM pins one compressed-tensors: two of them stand for two packages."""
    assert (
        "vllm requires compressed-tensors==0.9.2, and there is compressed-tensors ==0.10.2 for vllm"
        in (told("vllm==0.8.3", "vllm==0.9.2"))
    )


def test_ranges_that_agree_are_not() -> None:
    assert told("vllm==0.9.2", "transformers==4.57.6") == []


def test_what_stays_is_not_asked() -> None:
    coming = offer("vllm==0.9.2")
    assert coming is not None
    assert [*at_odds(session().candidates.helpers, keep("transformers"), coming)] == []


def test_what_one_requires_of_the_other_is_told() -> None:
    assert told("unsloth-zoo==2026.10.9", "torchao==0.12.0") == [
        "unsloth-zoo requires torchao>=0.13.0, and there is torchao 0.12.0"
    ]
    assert told("unsloth-zoo==2026.10.9", "torchao==0.13.0") == []
