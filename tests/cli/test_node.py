"""`check` on a node of a fleet: records, pieces and files."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from fadoctor.fleet.envelope import LINE_LIMIT, opened

if TYPE_CHECKING:
    from pathlib import Path

    from tests.cli.conftest import Run

NODE = {"SLURMD_NODENAME": "n07", "SLURM_PROCID": "7", "SLURM_LOCALID": "0"}


def payload(text: str) -> tuple[dict[str, object], dict[str, object]]:
    (found,) = opened(text.encode())
    assert isinstance(found, bytes)
    who, _, said = found.partition(b"|")
    return json.loads(who), json.loads(said)


def test_a_record_is_one_line_that_names_node_and_packages(run: Run, stack: Path) -> None:
    found = run("check", "--no-smoke", "--format", "fleet", "--exit-zero", str(stack), env=NODE)
    assert found.returncode == 0
    assert len(found.stdout) <= LINE_LIMIT
    who, said = payload(found.stdout)
    assert (who["n"], who["r"]) == ("n07", 7)
    assert said["t"]["pkg"]["flash-attn"] == "2.8.3"  # type: ignore[index]


def test_the_record_says_how_the_check_ended_whatever_the_exit_code(run: Run, stack: Path) -> None:
    options = ("--no-smoke", "--exit-zero", "--gpu", "V100", "--fail-on", "note")
    found = run("check", "--format", "fleet", *options, str(stack), env=NODE)
    assert found.returncode == 0
    assert payload(found.stdout)[1]["x"] == 1


def test_another_task_of_the_node_reads_nothing(run: Run, tmp_path: Path) -> None:
    second = {**NODE, "SLURM_LOCALID": "3"}
    found = run("check", "--format", "fleet", "--python", str(tmp_path / "none"), env=second)
    assert found.returncode == 0
    assert payload(found.stdout)[1] == {"x": 0, "s": True}
    folder = tmp_path / "reports"
    assert run("check", "--output-dir", str(folder), env=second).returncode == 0
    assert not folder.exists()


def test_a_check_that_cannot_be_done_is_a_record_too(run: Run) -> None:
    found = run("check", "--format", "fleet", "--python", "/none", env=NODE)
    assert found.returncode == 2
    who, said = payload(found.stdout)
    assert (who["n"], said["x"]) == ("n07", 2)
    assert "/none" in str(said["p"])
    forgiven = run("check", "--format", "fleet", "--exit-zero", "--python", "/none", env=NODE)
    assert (forgiven.returncode, forgiven.stdout) == (0, found.stdout)
    assert "/none" in forgiven.stderr


def test_a_file_of_the_node_and_nothing_beside_it(run: Run, stack: Path, tmp_path: Path) -> None:
    folder = tmp_path / "a" / "reports"
    found = run("check", "--no-smoke", "--output-dir", str(folder), str(stack), env=NODE)
    assert found.stdout == ""
    assert [path.name for path in folder.iterdir()] == ["n07.json"]
    report = json.loads((folder / "n07.json").read_text())
    assert report["node"]["n"] == "n07"
    assert report["schema_version"] == 1
    assert report["fleet"]["t"]["pkg"]["torch"] == "2.8.0"


def test_no_name_is_left_with_redact(run: Run, stack: Path, tmp_path: Path) -> None:
    env = {**NODE, "SLURM_STEP_NODELIST": "n[01-16]", "SLURM_CONTAINER": "/home/me/x.sqsh"}
    options = ("--no-smoke", "--redact", "--output-dir", str(tmp_path), "--format", "fleet")
    found = run("check", *options, str(stack), env=env)
    assert "n07" not in found.stdout
    assert payload(found.stdout)[0] == {"n": "n8", "r": 7, "l": 0}
    assert "x.sqsh" not in (tmp_path / "n8.json").read_text()


def test_pieces_are_short_lines(run: Run, stack: Path) -> None:
    found = run("check", "--no-smoke", "--format", "frames", str(stack), env=NODE)
    lines = found.stdout.splitlines(keepends=True)
    assert len(lines) > 1
    assert all(line.startswith("@fad1 ") and len(line) <= LINE_LIMIT for line in lines)
