"""Steps run one by one, with a journal one step ahead; every way out can be undone."""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING

import msgspec
import pytest

from fadoctor.model.environment import Target
from fadoctor.model.errors import ApplyError
from fadoctor.model.plan import Action, ActionKind, Change, Plan, PlanOutcome
from fadoctor.processes.command import Command, Ending, Result
from fadoctor.repair.apply.carry_out import Workshop, carry_out
from fadoctor.repair.apply.journal import JournalStage, read_journal, write_journal
from fadoctor.repair.apply.store import Store
from fadoctor.repair.apply.undo import Undone
from fadoctor.repair.apply.undo import undo as undo_store
from tests.unit.judging.engine.builders import environment
from tests.unit.repair.apply.trees import grow, manifest

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from fadoctor.model.environment import Environment

OK = Result(Ending.EXITED, 0, "", "", 0.1)
REMOVE = Action(ActionKind.UNINSTALL, "remove b", ("pip", "uninstall", "b"), requirements=("b",))
INSTALL = Action(
    ActionKind.INSTALL, "install a==2", ("pip", "install", "a==2"), requirements=("a==2",)
)
ADVICE = Action(ActionKind.ADVICE, "think")


class Machine:
    """An environment whose installer is a function."""

    def __init__(self, prefix: Path) -> None:
        self.store = Store(prefix)
        self.packages = {"a": "1", "b": "1"}
        self.said: list[str] = []
        self.seen: list[tuple[str, JournalStage]] = []
        self.act: Callable[[str], Result] = lambda _: OK

    def workshop(self) -> Workshop:
        return Workshop(self.run, self.examine, self.said.append)

    def examine(self) -> Environment:
        return environment({"packages.installed": dict(self.packages)})

    def run(self, command: Command, announce: Callable[[int], None]) -> Result:
        announce(2**22 + 3)  # more than the highest process id
        journal = read_journal(self.store)
        assert journal is not None
        self.seen.append((" ".join(command.argv), journal.stage))
        found = self.act(command.argv[1])
        if found.ok and command.argv[1] == "uninstall":
            self.packages.pop("b", None)
            shutil.rmtree(self.store.prefix / "lib")
        if found.ok and command.argv[1] == "install":
            self.packages["a"] = "2"
        return found


def undo(store: Store) -> Undone:
    undone = undo_store(store)
    assert undone is not None
    return undone


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    prefix = tmp_path / "env"
    prefix.mkdir()
    grow(prefix)
    machine = Machine(prefix)
    machine.store.folder.mkdir()  # as whoever holds the lock has it
    return machine


def plan(*actions: Action) -> Plan:
    target = Target("environment", "env", "test")
    changes = (Change("a", "1", "2"), Change("b", "1", ""), Change("torch", "1", "1"))
    return Plan(PlanOutcome.REPAIRS, target, "pip", actions, changes)


def stage(machine: Machine) -> JournalStage | None:
    journal = read_journal(machine.store)
    return journal.stage if journal else None


def test_runs_what_was_planned_and_nothing_else(machine: Machine) -> None:
    after = carry_out(plan(REMOVE, INSTALL, ADVICE), machine.store, machine.workshop())
    assert [argv for argv, _ in machine.seen] == ["pip uninstall b", "pip install a==2"]
    assert {stage for _, stage in machine.seen} == {JournalStage.RUNNING}
    assert after.facts == machine.examine().facts
    assert stage(machine) is JournalStage.DONE


def test_the_journal_says_what_was_there(machine: Machine) -> None:
    carry_out(plan(INSTALL), machine.store, machine.workshop())
    journal = read_journal(machine.store)
    assert journal is not None
    assert journal.freeze == ("a==1", "b==1")
    assert (journal.step, journal.process.pid) == (-1, 0)


def test_undo_restores_and_forgets(machine: Machine) -> None:
    before = manifest(machine.store.prefix)
    carry_out(plan(REMOVE), machine.store, machine.workshop())
    assert manifest(machine.store.prefix) != before
    assert undo(machine.store).restored
    assert manifest(machine.store.prefix) == before
    with pytest.raises(ApplyError, match="nothing to undo"):
        undo(machine.store)


def test_a_step_that_fails_says_what_the_installer_said(machine: Machine) -> None:
    before = manifest(machine.store.prefix)
    machine.act = lambda _: Result(Ending.EXITED, 1, "", "noise\nERROR: no such file\n", 0.1)
    with pytest.raises(ApplyError, match=r"install a==2: exited with status 1.*no such file"):
        carry_out(plan(INSTALL), machine.store, machine.workshop())
    assert undo(machine.store).restored
    assert manifest(machine.store.prefix) == before


def test_the_causes_below_an_error_are_said_as_well(machine: Machine) -> None:
    """Seen with uv in a project: its first line alone says that it failed, and not why."""
    told = (
        "Using a Python\nerror: Failed to add\n  cause: a==2 and a==1 exclude each other\nhint: x\n"
    )
    machine.act = lambda _: Result(Ending.EXITED, 1, "", told, 0.1)
    with pytest.raises(
        ApplyError, match=r"1: error: Failed to add cause: a==2 and a==1 exclude each other$"
    ):
        carry_out(plan(INSTALL), machine.store, machine.workshop())


def test_a_step_that_did_not_do_its_work_fails(machine: Machine) -> None:
    def lazy(_: str) -> Result:
        machine.packages["a"] = "1.5"
        return msgspec.structs.replace(OK, elapsed_s=0.0)

    machine.act = lazy
    other = msgspec.structs.replace(INSTALL, argv=("pip", "pretend"))
    with pytest.raises(ApplyError, match=r"a is 1\.5 afterwards, not 2"):
        carry_out(plan(other), machine.store, machine.workshop())


def test_an_uninstall_that_left_it_there_fails(machine: Machine) -> None:
    lazy = msgspec.structs.replace(REMOVE, argv=("pip", "pretend"))
    with pytest.raises(ApplyError, match="b is still there"):
        carry_out(plan(lazy), machine.store, machine.workshop())


def test_a_missing_installer_is_one_sentence(machine: Machine) -> None:
    machine.act = lambda _: Result(Ending.NOT_STARTED, 0, "", "uv is not installed", 0.0)
    with pytest.raises(ApplyError, match="could not be started: uv is not installed"):
        carry_out(plan(INSTALL), machine.store, machine.workshop())


def test_no_snapshot_no_change(machine: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("fadoctor.repair.apply.carry_out.take", full)
    before = manifest(machine.store.prefix)
    with pytest.raises(ApplyError, match="no snapshot could be taken: No space left"):
        carry_out(plan(INSTALL), machine.store, machine.workshop())
    assert machine.seen == []
    assert manifest(machine.store.prefix) == before
    assert not undo(machine.store).restored


def test_ctrl_c_passes_and_can_be_undone(machine: Machine) -> None:
    def interrupted(_: str) -> Result:
        shutil.rmtree(machine.store.prefix / "lib")
        raise KeyboardInterrupt

    before = manifest(machine.store.prefix)
    machine.act = interrupted
    with pytest.raises(KeyboardInterrupt):
        carry_out(plan(INSTALL), machine.store, machine.workshop())
    assert stage(machine) is JournalStage.RUNNING
    assert undo(machine.store).restored
    assert manifest(machine.store.prefix) == before


def test_an_interrupted_change_must_be_undone_first(machine: Machine) -> None:
    """A new snapshot would take the broken state for the right one."""
    machine.act = lambda _: Result(Ending.SIGNALLED, 9, "", "", 0.1)
    with pytest.raises(ApplyError):
        carry_out(plan(INSTALL), machine.store, machine.workshop())
    with pytest.raises(ApplyError, match="--undo"):
        carry_out(plan(INSTALL), machine.store, machine.workshop())


def test_an_interrupted_undo_can_be_repeated(
    machine: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = manifest(machine.store.prefix)
    carry_out(plan(REMOVE), machine.store, machine.workshop())
    with monkeypatch.context() as patched:

        def full(*_: object) -> None:
            raise OSError(28, "No space left on device")

        patched.setattr("fadoctor.repair.apply.restore._Work.bring_back", full)
        with pytest.raises(ApplyError, match="run fadoctor fix --undo again"):
            undo(machine.store)
    assert stage(machine) is JournalStage.UNDOING
    assert undo(machine.store).restored
    assert manifest(machine.store.prefix) == before


def test_a_cut_off_snapshot_is_discarded(machine: Machine) -> None:
    before = manifest(machine.store.prefix)
    carry_out(plan(INSTALL), machine.store, machine.workshop())
    journal = read_journal(machine.store)
    assert journal is not None
    write_journal(machine.store, msgspec.structs.replace(journal, stage=JournalStage.SNAPSHOT))
    machine.store.manifest.unlink()
    assert not undo(machine.store).restored
    assert manifest(machine.store.prefix) == before


def test_a_journal_that_nobody_can_read_is_named(machine: Machine) -> None:
    machine.store.journal.write_text("{")
    with pytest.raises(ApplyError, match="cannot be read"):
        undo(machine.store)
