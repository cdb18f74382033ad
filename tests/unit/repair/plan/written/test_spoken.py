"""Fixes in the words of the installer of an environment."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import pytest

from fadoctor.model.environment import Environment, Target
from fadoctor.model.fact import Known
from fadoctor.model.finding import Confidence, Finding, Severity
from fadoctor.model.fix import Fix, Safety, Step, StepKind
from fadoctor.model.plan import Action, ActionKind, Plan, PlanOutcome
from fadoctor.repair.plan.written.dialect import Dialect
from fadoctor.repair.plan.written.spoken import Speaker, by_hand_in_own_words, in_own_words
from fadoctor.sources.manifests.formats.project_lists import Listed

if TYPE_CHECKING:
    from pathlib import Path

INDEX = "https://download.pytorch.org/whl/cu126"
UV_BEST = "uv pip install --python /e/bin/python --index-strategy unsafe-best-match"
LISTS = {"pytest": (Listed(("--group", "dev")),), "triton": (Listed(),)}


@pytest.mark.parametrize(
    ("step", "uv", "pip", "project"),
    [
        (Step(StepKind.INSTALL, "pip install 'peft>=0.18'", ("peft>=0.18",)),
         "uv pip install --python /e/bin/python 'peft>=0.18'",
         "/e/bin/python -m pip install 'peft>=0.18'", "uv add 'peft>=0.18'"),
        (Step(StepKind.INSTALL, "pip install pytest==9", ("pytest==9",)),
         "uv pip install --python /e/bin/python pytest==9",
         "/e/bin/python -m pip install pytest==9", "uv add --group dev pytest==9"),
        (Step(StepKind.UNINSTALL, "pip uninstall -y triton", ("triton",)),
         "uv pip uninstall --python /e/bin/python triton",
         "/e/bin/python -m pip uninstall --yes triton", "uv remove triton"),
        (Step(StepKind.INSTALL, f"pip install --index-url {INDEX} torch==2.8.0", ("torch==2.8.0",),
              INDEX),
         f"uv pip install --python /e/bin/python --index-url {INDEX} torch==2.8.0",
         f"/e/bin/python -m pip install --index-url {INDEX} torch==2.8.0",
         f"uv add --index {INDEX} torch==2.8.0"),
        # uv asks one index for a package, unless it is told to ask all
        (Step(StepKind.INSTALL, f"pip install --extra-index-url {INDEX} torch==2.8.0",
              ("torch==2.8.0",), INDEX),
         f"{UV_BEST} --extra-index-url {INDEX} torch==2.8.0",
         f"/e/bin/python -m pip install --extra-index-url {INDEX} torch==2.8.0",
         f"uv add --index {INDEX} torch==2.8.0"),
        # uv add knows no such option
        (Step(StepKind.INSTALL, "pip install --no-deps peft", ("peft",), "", ("--no-deps",)),
         "uv pip install --python /e/bin/python --no-deps peft",
         "/e/bin/python -m pip install --no-deps peft",
         "uv pip install --python /e/bin/python --no-deps peft"),
        (Step(StepKind.SYSTEM, "pip install -e ."), "uv pip install --python /e/bin/python -e .",
         "/e/bin/python -m pip install -e .", "uv pip install --python /e/bin/python -e ."),
        (Step(StepKind.SYSTEM, 'pip install "peft<1"'),
         'uv pip install --python /e/bin/python "peft<1"',
         '/e/bin/python -m pip install "peft<1"', "uv add 'peft<1'"),
        (Step(StepKind.INSTALL, "A_B=TRUE pip install x", ("x",)),
         "A_B=TRUE uv pip install --python /e/bin/python x",
         "A_B=TRUE /e/bin/python -m pip install x", "A_B=TRUE uv add x"),
        (Step(StepKind.ADVICE, "pip install is not enough."), *["pip install is not enough."] * 3),
        (Step(StepKind.SYSTEM, "sudo apt install gcc"), *["sudo apt install gcc"] * 3),
    ],
)  # fmt: skip
def test_each_installer_gets_its_own_words(step: Step, uv: str, pip: str, project: str) -> None:
    said = [
        Speaker(Dialect(name, "/e/bin/python", LISTS), windows=False).step(step).text
        for name in ("uv", "pip", "uv-project")
    ]
    assert said == [uv, pip, project]


def test_a_tool_without_such_a_command_leaves_it() -> None:
    step = Step(StepKind.INSTALL, "pip install --no-deps peft", ("peft",), "", ("--no-deps",))
    assert Speaker(Dialect("poetry", "p"), windows=False).step(step) == step


def told(python: str, kind: str, made_by: str, *, is_here: bool) -> str:
    """Return the command of a fix for an environment."""
    step = Step(StepKind.INSTALL, "pip install peft", ("peft",))
    fix = Fix("f", "Install peft", Safety.SAFE, (step,))
    finding = Finding(
        "r", Severity.ERROR, Confidence.HIGH, "t", "m", "w", "environment", (), (fix,), (), (), "f"
    )
    target = Target(kind, "x", "y", python=python)
    facts = {"python.installer": Known(made_by, "test")}
    [found] = in_own_words((finding,), Environment("0", target, facts), is_here=is_here)  # type: ignore[arg-type]
    return found.fixes[0].steps[0].text


def test_a_bare_pip_stays_where_it_is_the_one_of_the_environment(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pip = tmp_path / "bin" / ("pip.exe" if sys.platform == "win32" else "pip")
    pip.parent.mkdir()
    pip.write_text("")
    pip.chmod(0o755)
    python = str(tmp_path / "bin" / "python")
    monkeypatch.setenv("PATH", str(pip.parent))
    assert told(python, "environment", "venv", is_here=True) == "pip install peft"
    assert told(python, "environment", "conda", is_here=True) == "pip install peft"
    monkeypatch.setenv("PATH", str(tmp_path))
    assert told(python, "environment", "venv", is_here=True) == f"{python} -m pip install peft"
    # saved elsewhere: nobody knows which pip comes first there
    assert told(python, "environment", "venv", is_here=False) == "pip install peft"


def test_an_environment_of_uv_is_spoken_to_by_uv() -> None:
    """Regression: `check` told its owner to call a pip that is not in it; `fix` spoke uv."""
    assert told("/e/python", "environment", "uv", is_here=False) == (
        "uv pip install --python /e/python peft"
    )
    assert told("/e/python", "manifest", "uv", is_here=True) == "pip install peft"


def test_what_a_plan_leaves_to_a_person_calls_the_same_installer() -> None:
    target = Target("environment", "x", "y", python="/e/python")
    there = Environment("0", target, {"python.installer": Known("uv", "test")})
    actions = (
        Action(ActionKind.INSTALL, "install x", ("uv", "pip", "install", "x")),
        Action(ActionKind.ADVICE, "pip install 'peft>=0.18'"),
        Action(ActionKind.SYSTEM, "sudo apt install gcc"),
    )
    plan = by_hand_in_own_words(
        Plan(PlanOutcome.REPAIRS, target, "uv", actions), there, is_here=False
    )
    assert [each.text for each in plan.actions] == [
        "install x",
        "uv pip install --python /e/python 'peft>=0.18'",
        "sudo apt install gcc",
    ]


def test_an_extra_of_poetry_is_installed_as_well() -> None:
    lists = {"pyarrow": (Listed(("--optional", "data")),)}
    speaker = Speaker(Dialect("poetry", "/e/bin/python", lists), windows=False)
    step = Step(StepKind.INSTALL, "pip install pyarrow==20.0.0", ("pyarrow==20.0.0",))
    said = "poetry add --optional data pyarrow==20.0.0 && poetry install --extras data"
    assert speaker.step(step).text == said
