"""The tool that runs `check` on a folder of repositories."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from tools import repositories

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    one, two = tmp_path / "repositories" / "a+one", tmp_path / "repositories" / "b+two"
    one.mkdir(parents=True)
    two.mkdir()
    (one / "run.sh").write_text("torchrun train.py --bf16 True --output_dir o\n")
    (one / "README.md").write_text("torchrun train.py --bf16\n")
    (two / "requirements.txt").write_text("torch==2.6.0\nflash-attn==2.7.3\n")
    (two / "notes.yaml").write_text("text: this says bf16, and no key does\n")
    (two / "library.py").write_text("import torch\nDTYPE = torch.bfloat16\n")
    return one.parent


@pytest.mark.long
def test_counts_findings_and_refusals(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    kept = folder.parent / "kept.json"
    assert repositories.main([str(folder), "--json", str(kept), "--draw", "2"]) == 0
    said = capsys.readouterr().out
    assert "a+one: 1 files, 1 read, 0 refused, 0 crashes" in said
    assert "b+two: 2 files, 1 read, 1 refused, 0 crashes" in said
    assert "refused config" in said
    assert "notes.yaml" in said
    assert "2 of" in said
    found = {each["file"].rpartition("/")[2]: each for each in json.loads(kept.read_text())}
    assert found.keys() == {"run.sh", "requirements.txt", "notes.yaml"}
    assert any(rule == "bf16-unsupported-gpu" for _, rule, _, _ in found["run.sh"]["findings"])


def test_another_error_than_a_refusal_is_a_crash(
    folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(**_: object) -> None:
        raise KeyError("x")

    monkeypatch.setattr(repositories, "check", fails)
    assert repositories.main([str(folder), "--most", "1"]) == 1
    assert "crash" in capsys.readouterr().out


@pytest.mark.long
def test_so_many_files_of_one_repository_at_most(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    repositories.main([str(folder), "--most", "1"])
    assert "b+two: 1 files" in capsys.readouterr().out
