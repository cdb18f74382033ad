"""One orchestration of `fleet`: what is read, what is compared with what, and what is refused."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from fadoctor.interfaces.commands import fleet_engines
from fadoctor.interfaces.commands.fleet import NodesRequest, comparison_of, fleet
from fadoctor.interfaces.commands.fleet_engines import EngineRequest, pasted_line, srun_line
from fadoctor.interfaces.commands.observer import Observer
from fadoctor.model.errors import InputError, UsageError
from tests.unit.fleet.samples import content, line

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def records(tmp_path: Path) -> str:
    path = tmp_path / "records.txt"
    path.write_bytes(b"".join(map(line, range(4))))
    return str(path)


def test_the_nodes_of_a_file_are_compared(records: str) -> None:
    report = fleet(NodesRequest((records,), expect="5"))
    assert (report.answered, report.silent_count) == (4, 1)


def test_of_two_files_the_second_is_compared_with_the_first(tmp_path: Path) -> None:
    one, other = tmp_path / "a.txt", tmp_path / "b.txt"
    one.write_bytes(line(1))
    other.write_bytes(line(1, content(1, ("e flash-attn-missing",))))
    report = fleet(NodesRequest((str(one), str(other)), is_of_two=True))
    assert report.answered == 1
    assert any(group.differs or not group.is_reference for group in report.groups)


@pytest.mark.parametrize(
    ("request_", "error"),
    [
        (NodesRequest(expect="n[1-"), UsageError),
        (NodesRequest(group_by="torch"), UsageError),
        (NodesRequest(("a",), is_of_two=True), UsageError),
        (NodesRequest(baseline="/no/such/file"), InputError),
    ],
)
def test_what_cannot_be_compared_is_refused_before_a_node_is_asked(
    request_: NodesRequest, error: type[Exception], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(fleet_engines, "check_command", None)
    with pytest.raises(error):
        fleet(request_._replace(slurm=True))


def test_the_line_to_paste_is_the_one_that_is_run() -> None:
    engine = EngineRequest(python="/opt/py", folder="/shared/reports")
    line_ = srun_line(engine, ("-N", "4"))
    pasted = pasted_line(line_, engine)
    assert pasted.startswith("srun ")
    assert pasted.endswith(" && fadoctor fleet /shared/reports\n")
    assert "--python /opt/py" in pasted


class Complaints(Observer):
    """Keeps what launchers complain by."""

    def __init__(self) -> None:
        self.lines: list[str] = []

    def complained(self, line: str) -> None:
        self.lines.append(line)


def test_what_a_launcher_says_beside_its_answers_is_passed_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program = tmp_path / "srun"
    program.write_text("#!/bin/sh\necho 'srun: error: no such partition' >&2\nexit 1\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=":")
    heard = Complaints()
    with pytest.raises(InputError):
        fleet(NodesRequest(slurm=True), heard)
    assert heard.lines == ["srun: error: no such partition"]


def test_comparison_of_reads_the_baseline(records: str, tmp_path: Path) -> None:
    one = tmp_path / "one.txt"
    one.write_bytes(line(7))
    assert comparison_of(NodesRequest(baseline=str(one))).baseline is not None
    with pytest.raises(InputError, match="one node"):
        comparison_of(NodesRequest(baseline=records))
