"""A finding of an environment is shown where its package is named."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from msgspec import structs

from fadoctor.model.finding import Evidence, Finding
from fadoctor.model.place import Place
from fadoctor.report.ci.anchor import find_place, place_of
from tests.unit.report.ci.hostile import finding

if TYPE_CHECKING:
    from pathlib import Path


def about(subject: str) -> Finding:
    return structs.replace(finding("any"), subject=subject)


@pytest.mark.parametrize(
    ("subject", "line"),
    [("flash-attn", 3), ("flash_attn", 3), ("Flash.Attn", 3), ("torch", 2), ("triton", 1)],
)
def test_the_line_that_names_the_package(tmp_path: Path, subject: str, line: int) -> None:
    text = "torchvision==0.23\ntorch==2.8.0\nFlash_Attn==2.8.3\nflash-attn-4==4.0\n"
    (tmp_path / "requirements.txt").write_text(text, encoding="utf-8")
    assert place_of(about(subject), tmp_path) == Place("requirements.txt", line)


def test_a_later_manifest_that_names_it_is_taken_before_the_first_that_does_not(
    tmp_path: Path,
) -> None:
    (tmp_path / "requirements.txt").write_text("numpy\n", encoding="utf-8")
    (tmp_path / "uv.lock").write_text("\nname = 'torch'\n", encoding="utf-8")
    assert place_of(about("torch"), tmp_path) == Place("uv.lock", 2)
    assert place_of(about("gpu[0]"), tmp_path) == Place("requirements.txt", 1)


def test_without_any_manifest_it_is_a_file_that_is_there(tmp_path: Path) -> None:
    assert place_of(about("torch"), tmp_path) == Place("pyproject.toml", 1)
    (tmp_path / ".hidden").write_text("x", encoding="utf-8")
    (tmp_path / "folder").mkdir()
    (tmp_path / "train.py").write_text("x", encoding="utf-8")
    assert place_of(about("torch"), tmp_path) == Place("train.py", 1)
    (tmp_path / "README.md").write_text("x", encoding="utf-8")
    assert place_of(about("torch"), tmp_path) == Place("README.md", 1)


def test_a_log_is_a_place_where_it_is_a_file(tmp_path: Path) -> None:
    shown = structs.replace(about("environment"), evidence=(Evidence("log", "x", "train.log:7"),))
    assert place_of(shown, tmp_path) == Place("pyproject.toml", 1)
    (tmp_path / "train.log").write_text("x", encoding="utf-8")
    assert place_of(shown, tmp_path) == Place("train.log", 7)


def test_a_folder_of_that_name_and_a_subject_full_of_signs_are_passed_over(tmp_path: Path) -> None:
    (tmp_path / "requirements.txt").mkdir()
    (tmp_path / "pyproject.toml").write_bytes(b"\xff\x00(((\n" * 3)
    assert place_of(about("a(((b\\"), tmp_path) == Place("pyproject.toml", 1)


def test_a_file_that_was_examined_goes_before_others(tmp_path: Path) -> None:
    """A warning about torchaudio stood at train.yaml:1:1, which names neither."""
    (tmp_path / "requirements.txt").write_text("torchaudio\n", encoding="utf-8")
    (tmp_path / "gpu.txt").write_text(
        "# torchaudio later\ntorch\ntorchaudio==2.8\n", encoding="utf-8"
    )
    assert find_place(about("torchaudio"), tmp_path, ("gpu.txt",)) == (Place("gpu.txt", 3), True)
    assert find_place(about("vllm"), tmp_path, ("gpu.txt",)) == (Place("gpu.txt", 1), False)
    assert find_place(about("torchaudio"), tmp_path) == (Place("requirements.txt", 1), True)
