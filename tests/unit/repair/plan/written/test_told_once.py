"""Of lines by hand that ask for the same, the one that says most stays."""

from __future__ import annotations

from fadoctor.model.plan import Action, ActionKind
from fadoctor.repair.plan.written.told_once import told_once

PAGE = "https://wheels.example/torch-2.5.0+cu124.html"


def line(text: str, *findings: str) -> Action:
    return Action(ActionKind.ADVICE, text, findings=findings)


def test_two_names_of_one_pip_are_one_line() -> None:
    """Regression: one command was printed twice, for its label and for its missing symbol."""
    plain = line(f"Run pip install --no-index a-scatter -f {PAGE}.", "label")
    named = line(f"Run /srv/.venv/bin/python -m pip install --no-index a-scatter -f {PAGE}.", "abi")
    for pair in ((plain, named), (named, plain)):
        [told] = told_once(pair)
        assert told.text == named.text
        assert set(told.findings) == {"label", "abi"}


def test_a_command_with_placeholders_goes_with_the_rest_of_its_fix() -> None:
    exact = line(f"Run pip install --no-deps a-scatter a-sparse -f {PAGE}.", "label")
    vague = line("Find the file: pip install a-scatter, with your torch in its name.", "abi")
    rest = line("`python --version` prints what its name must hold.", "abi")
    other = line("pip install a-third", "third")
    told = told_once((exact, vague, rest, other))
    assert [each.text for each in told] == [exact.text, other.text]
    assert told[0].findings == ("label", "abi")


def test_what_the_exact_command_does_not_install_stays() -> None:
    exact = line("pip install a-scatter==2.1.2", "label")
    more = line("pip install a-scatter a-cluster", "abi")
    assert told_once((exact, more)) == (exact, more)


def test_two_exact_commands_stay() -> None:
    lines = (
        line("pip install a-scatter==2.1.2", "one"),
        line("pip install a-scatter==2.1.1", "two"),
    )
    assert told_once(lines) == lines


def test_steps_of_the_plan_are_never_joined() -> None:
    step = Action(ActionKind.INSTALL, "pip install a", ("pip", "install", "a"), findings=("one",))
    assert told_once((step, step)) == (step, step)
