"""What people type is taken: a text for `explain`, torch's dtypes, a wish with its version."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.cli.environments import add_torch, make_environment

if TYPE_CHECKING:
    from pathlib import Path

    from tests.cli.conftest import Run

OLD_GPU = "RuntimeError: FlashAttention only supports Ampere GPUs or newer."


def test_explain_takes_a_text(run: Run) -> None:
    """It was "RuntimeError: FlashAttention only ...: No such file or directory"."""
    result = run("explain", OLD_GPU)
    assert result.returncode == 1
    assert "The GPU is too old for FlashAttention-2" in result.stdout
    assert run("explain", f"Traceback:\n  in x\n{OLD_GPU}\n").returncode == 1


@pytest.mark.parametrize(
    "name",
    ["nofile", "no.log", "/no/such/dir/x.log", "../my logs/train run.log", r"C:\my logs\x.txt"],
)
def test_a_missing_log_is_named_as_such(run: Run, name: str) -> None:
    result = run("explain", name)
    assert result.returncode == 2
    assert f"{name}: No such file or directory" in result.stderr


def test_a_log_goes_before_a_text_of_the_same_name(run: Run, tmp_path: Path) -> None:
    (tmp_path / "train run").write_text(f"{OLD_GPU}\n")
    assert "(1 line)" in run("explain", "train run", cwd=tmp_path).stdout


@pytest.mark.parametrize("name", ["bfloat16", "torch.bfloat16", "BF16", "half", "float32"])
def test_torch_names_dtypes_too(run: Run, tmp_path: Path, name: str) -> None:
    make_environment(tmp_path / "env")
    result = run("smoke", "--list", "--dtype", name, "--python", str(tmp_path / "env"))
    assert result.returncode == 0, result.stderr


@pytest.mark.parametrize("wish", ["vllm==0.15.0", "vllm == 0.15.0", "vllm[audio]==0.15.0"])
def test_a_wish_may_name_its_version(run: Run, tmp_path: Path, wish: str) -> None:
    """It was "not a package in fadoctor's tables", in a list that has it."""
    make_environment(tmp_path / "env")
    result = run("fix", "--dry-run", "--python", str(tmp_path / "env"), "--python-version", "3.12",
                 "--gpu", "H100", "--driver", "580.65.06", "--want", wish)  # fmt: skip
    assert "vllm==0.15.0" in result.stdout, result.stderr
    assert "torch==2.9.1" in result.stdout


def test_a_version_that_is_there_and_not_wished_is_replaced(run: Run, tmp_path: Path) -> None:
    add_torch(make_environment(tmp_path / "env"), "2.9.1", "12.8")
    base = ("fix", "--dry-run", "--python", str(tmp_path / "env"), "--python-version", "3.12",
            "--gpu", "H100", "--driver", "580.65.06", "--want")  # fmt: skip
    assert "torch==2.8.0" in run(*base, "torch==2.8.0").stdout
    assert "torch==2.8" not in run(*base, "torch>=2.9").stdout


@pytest.mark.long
def test_a_wish_that_no_release_meets_is_not_met(run: Run, tmp_path: Path) -> None:
    make_environment(tmp_path / "env")
    base = ("fix", "--dry-run", "--python", str(tmp_path / "env"), "--gpu", "H100", "--driver",
            "580.65.06", "--want")  # fmt: skip
    result = run(*base, "vllm==99")
    assert "No known release helps." in result.stdout
    assert run(*base, "vllm==abc").returncode == 2
    assert "not a package in fadoctor's tables" in run(*base, "vlm==0.15.0").stderr


def test_a_target_that_is_no_environment_is_said_to_be_missing(run: Run, tmp_path: Path) -> None:
    """It complained about `--python`, which nobody had typed."""
    (tmp_path / "train.yaml").write_text("bf16: true\n")
    for name, words in (("nofile", "nofile: file not found"), ("train.yaml", "--config")):
        result = run("check", name, cwd=tmp_path)
        assert result.returncode == 2
        assert words in result.stderr
        assert "--python" not in result.stderr


def test_a_trace_is_written_in_the_form_of_its_ending(run: Run, tmp_path: Path) -> None:
    page = tmp_path / "trace.html"
    run("trace", "--output", str(page), "--", "true")
    assert page.read_text().startswith("<!doctype html>")
    assert run("trace", "--output", str(tmp_path / "x.pdf"), "--", "true").returncode == 2
