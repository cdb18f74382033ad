"""``--config``: files, the lines that are named of them, and wrong usage."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tests.cli.configs import (
    A100,
    DEEPSPEED,
    LLAMAFACTORY,
    TRAINER,
)

if TYPE_CHECKING:
    from collections.abc import Callable


def test_a_variable_of_the_shell_is_an_intent(check: Callable[..., Any], tmp_path: Path) -> None:
    saved = json.loads(Path(A100).read_text(encoding="utf-8"))
    added = {"vllm.version": "0.9.2", "vllm.distribution": "vllm",
             "env.VLLM_ATTENTION_BACKEND": "FLASH_ATTN"}  # fmt: skip
    for name, value in added.items():
        saved["facts"][name] = {"state": "known", "value": value, "source": "a test"}
    (tmp_path / "facts.json").write_text(json.dumps(saved), encoding="utf-8")
    report = check("--facts", str(tmp_path / "facts.json"), "--gpu", "T4")
    [finding] = [f for f in report["findings"] if f["rule_id"] == "vllm-backend-fallback-turing"]
    assert (finding["severity"], finding["subject"]) == ("warning", "gpu[0]")


@pytest.mark.long
def test_text_names_the_line_and_facts_keep_it(run: Callable[..., Any], tmp_path: Path) -> None:
    file = tmp_path / "train.yaml"
    file.write_text(LLAMAFACTORY.format(way="full", attention="fa2"), encoding="utf-8")
    options = ("--facts", A100, "--config", str(file))
    shown = run("check", "--no-smoke", *options)
    assert shown.returncode == 1
    assert f"at {file}:7:1" in shown.stdout
    saved = run("facts", *options)
    again = tmp_path / "again.json"
    again.write_text(saved.stdout, encoding="utf-8")
    replayed = run("check", "--no-smoke", "--facts", str(again))
    assert f"at {file}:7:1" in replayed.stdout


def test_a_file_that_is_named_in_another_is_asked_for(
    check: Callable[..., Any], tmp_path: Path
) -> None:
    file = tmp_path / "args.yaml"
    file.write_text(TRAINER + "bf16: true\ndeepspeed: ds.json\n", encoding="utf-8")
    other = tmp_path / "other" / "ds.json"
    other.parent.mkdir()
    other.write_text(DEEPSPEED.format(bf16="true"), encoding="utf-8")
    for more, is_asked_for in (((), True), (("--config", str(other)), False)):
        report = check("--facts", A100, "--config", str(file), *more)
        asked = any("ds.json is named in it" in note for note in report["notes"])
        assert asked is is_asked_for


def test_a_file_that_is_named_and_lies_beside_is_read(
    check: Callable[..., Any], tmp_path: Path
) -> None:
    file = tmp_path / "args.yaml"
    file.write_text(TRAINER + "bf16: true\ndeepspeed: ds.json\n", encoding="utf-8")
    (tmp_path / "ds.json").write_text(DEEPSPEED.format(bf16="true"), encoding="utf-8")
    notes = check("--facts", A100, "--config", str(file))["notes"]
    assert any("ds.json, which it names, is read with it" in note for note in notes)


@pytest.mark.parametrize(
    ("name", "text", "problem"),
    [
        ("train.yaml", "stage: sft\nbf16: [true\n", "train.yaml:3: not valid YAML"),
        ("ds.json", '{"bf16": {"enabled": tru}}', "ds.json:1 at `bf16.enabled`: not valid JSON"),
        ("train.yaml", "a: !!python/name:os.system\n", "train.yaml:1 at `a`: the tag"),
        ("notes.yaml", "hello: world\n", "fadoctor found no setting in it"),
    ],
)
def test_a_malformed_file_ends_with_2(
    run: Callable[..., Any], tmp_path: Path, name: str, text: str, problem: str
) -> None:
    (tmp_path / name).write_text(text, encoding="utf-8")
    result = run("check", "--no-smoke", "--facts", A100, "--config", str(tmp_path / name))
    assert result.returncode == 2
    assert problem in result.stderr
    assert result.stdout == ""


def test_a_kind_without_a_file_is_wrong_usage(run: Callable[..., Any]) -> None:
    result = run("check", "--no-smoke", "--facts", A100, "--config-kind", "deepspeed")
    assert result.returncode == 2
    assert "--config-kind needs --config" in result.stderr
