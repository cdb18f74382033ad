"""What the installer is asked, and what its answers mean."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import msgspec
import pytest

from fadoctor.model.environment import Target
from fadoctor.model.plan import Action, ActionKind, Answer, Change, Plan, PlanOutcome, Verification
from fadoctor.processes.command import Command, Ending, Result
from fadoctor.repair.apply.verify import verify
from tests.unit.judging.engine.builders import environment

if TYPE_CHECKING:
    from collections.abc import Callable

TARGET = Target("environment", "env", "test", python="/env/bin/python", may_run=True)
ENVIRONMENT = msgspec.structs.replace(environment({}), target=TARGET)
ACTIONS = (
    Action(ActionKind.UNINSTALL, "remove gone", ("x",), requirements=("gone",)),
    Action(ActionKind.INSTALL, "a", ("x",), requirements=("a==2",), index="https://e.org/x"),
    Action(ActionKind.INSTALL, "f", ("x",), requirements=("f @ https://e.org/f.whl",)),
)


class Installer:
    """Answers with a recording, and keeps what it was asked."""

    def __init__(self, code: int = 0, stdout: str = "", stderr: str = "") -> None:
        self.result = Result(Ending.EXITED, code, stdout, stderr, 0.1)
        self.argv: tuple[str, ...] = ()
        self.file = ""

    def run(self, command: Command) -> Result:
        self.argv = command.argv
        self.file = Path(command.argv[-1]).read_text()
        return self.result


def ask(installer: Installer, *actions: Action) -> Verification:
    changes = (Change("a", "1", "2"), Change("f", "", "1"), Change("gone", "1", ""))
    plan = Plan(PlanOutcome.REPAIRS, TARGET, "pip", actions or ACTIONS, changes)
    return verify(plan, ENVIRONMENT, installer.run)


def test_the_installer_is_asked_what_the_plan_installs() -> None:
    """With pins for all the rest another question was asked than the printed command asks."""
    installer = Installer(stdout='{"install": []}')
    ask(installer)
    assert installer.file.split() == ["a==2"]
    assert "--dry-run" in installer.argv
    assert ":all:" in installer.argv  # nothing is built
    assert "https://e.org/x" in installer.argv


def test_an_agreement_lists_everything() -> None:
    report = '{"install": [{"metadata": {"name": "a", "version": "2"}}], "more": 1}'
    found = ask(Installer(stdout=report))
    assert (found.answer, found.would_install) == (Answer.RESOLVES, ("a 2",))
    assert found.detail.startswith("f was not checked")


@pytest.mark.parametrize(
    ("stderr", "answer"),
    [
        ("WARNING: x\nERROR: Cannot install a and b\nERROR: ResolutionImpossible", Answer.REFUSED),
        ("ERROR: Cannot install networkx>=3 and x\nERROR: ResolutionImpossible", Answer.REFUSED),
        ("ERROR: No matching distribution found (from versions: none)", Answer.UNREACHABLE),
        ("WARNING: Retrying after connection broken: NewConnectionError", Answer.UNREACHABLE),
        ("/env/bin/python: No module named pip", Answer.UNREACHABLE),
        (
            "error: Failed to initialize cache at `/c`\n  cause: Permission denied (os error 13)",
            Answer.UNREACHABLE,
        ),
    ],
)
def test_a_refusal_is_not_a_missing_index(stderr: str, answer: Answer) -> None:
    found = ask(Installer(1, stderr=stderr))
    assert found.answer is answer
    assert "WARNING: x" not in found.detail


def test_files_by_address_are_not_downloaded() -> None:
    installer = Installer()
    found = ask(installer, ACTIONS[2])
    assert installer.argv == ()
    assert found.answer is Answer.RESOLVES
    assert "f was not checked" in found.detail


@pytest.mark.parametrize("stdout", ["", "{", "[]", '{"install": 1}'])
def test_a_report_that_nobody_can_read_lists_nothing(stdout: str) -> None:
    assert ask(Installer(stdout=stdout)).would_install == ()


def test_uv_says_it_on_standard_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("fadoctor.repair.apply.verify.shutil.which", _there)
    installer = Installer(stderr="Resolved 3 packages\n + a==2\n - a==1\n")
    plan = Plan(PlanOutcome.REPAIRS, TARGET, "uv", ACTIONS, ())
    found = verify(plan, ENVIRONMENT, installer.run)
    assert installer.argv[:4] == ("uv", "pip", "install", "--dry-run")
    assert found.would_install == ("a 2",)


def _there(name: str) -> str:
    return f"/bin/{name}"


def test_an_installer_that_hangs_is_not_waited_for() -> None:
    def hang(_: Command) -> Result:
        return Result(Ending.TIMED_OUT, 0, "", "", 300.0)

    hang_: Callable[[Command], Result] = hang
    plan = Plan(PlanOutcome.REPAIRS, TARGET, "pip", ACTIONS, ())
    found = verify(plan, ENVIRONMENT, hang_)
    assert found.answer is Answer.UNREACHABLE
    assert "no answer within 300 s" in found.detail


def test_without_a_temporary_folder_nobody_can_be_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    """A container whose file system is read-only: it was an internal error."""

    def nowhere(*_: object, **__: object) -> None:
        raise FileNotFoundError(2, "No usable temporary directory found in ['/tmp']")

    monkeypatch.setattr("tempfile.mkdtemp", nowhere)
    verification = ask(Installer())
    assert verification.answer is Answer.UNREACHABLE
    assert "no temporary folder" in verification.detail


@pytest.mark.parametrize(
    ("installer", "said"),
    [
        ("uv", "error: Request failed cause: Failed to fetch: https://e.org/x"),
        ("pip", "line 2 line 3 line 4 cause: it was not found"),
    ],
)
def test_of_uv_the_cause_is_said_and_what_was_asked(
    installer: str, said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Regression: only the last causes were, and not which address was not reached."""
    causes = ["cause: Failed to fetch: https://e.org/x", *(f"line {n}" for n in range(5))]
    words = [
        "error: Request failed",
        *(f"  {each}" for each in causes),
        "  cause: it was not found",
    ]
    monkeypatch.setattr("shutil.which", lambda name: f"/bin/{name}")
    plan = Plan(PlanOutcome.REPAIRS, TARGET, installer, ACTIONS[:2], (Change("a", "1", "2"),))
    found = verify(plan, ENVIRONMENT, Installer(2, stderr="\n".join(words)).run)
    assert found.detail.startswith(said)
