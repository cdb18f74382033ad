"""A file whose host is not reached is fetched elsewhere."""

from __future__ import annotations

from fadoctor.judging.explain.fixes.fetched_elsewhere import fetched_elsewhere
from fadoctor.model.fix import Fix, Safety, Step, StepKind

URL = "https://github.com/o/r/releases/download/v1/flash_attn-2.7.3%2Bcu12torch2.4-cp310-cp310-linux_x86_64.whl"
OWN = Fix("a", "Stop", Safety.SAFE, (Step(StepKind.ADVICE, "Set a proxy."),))


def test_one_file_is_copied_over_and_installed() -> None:
    named = Fix(
        "a", "Install", Safety.SAFE, (Step(StepKind.INSTALL, f"pip install {URL}", (URL,)),)
    )
    made = fetched_elsewhere(OWN, named)
    texts = [step.text for step in made.steps]
    assert made.title == "Stop"
    assert not any(text.startswith("pip install https") for text in texts)
    assert (
        "pip install --no-deps ./flash_attn-2.7.3+cu12torch2.4-cp310-cp310-linux_x86_64.whl"
        in texts
    )
    assert texts[-1] == "Set a proxy."


def test_an_open_choice_stays_as_the_rule_has_it() -> None:
    steps = tuple(Step(StepKind.ADVICE, f"pip install {URL[:-30]}{at}.whl") for at in "ab")
    assert fetched_elsewhere(OWN, Fix("a", "Install", Safety.SAFE, steps)) is OWN
    assert fetched_elsewhere(OWN, OWN) is OWN
