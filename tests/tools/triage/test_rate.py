"""The counts by which triage's comments are judged."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from tools.triage.rate import main

if TYPE_CHECKING:
    from pathlib import Path

    import pytest

FAILS = "RuntimeError: FlashAttention only supports Ampere GPUs or newer."
OTHER = "The page has a typo."


def test_each_outcome_is_counted(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    labelled = [
        (FAILS, ["gpu-too-old-fa2"]), (FAILS, ["triton-missing"]), (FAILS, []), (OTHER, []),
        (OTHER, ["triton-missing"]),
    ]  # fmt: skip
    path = tmp_path / "issues.jsonl"
    rows = [{"text": text, "categories": ids, "more": 1} for text, ids in labelled]
    path.write_bytes(b"\n".join(map(msgspec.json.encode, rows)) + b"\n\n")
    assert main([str(path)]) == 0
    assert [line.split(maxsplit=1) for line in capsys.readouterr().out.splitlines()] == [
        ["1", "failure: cause, right"],
        ["1", "failure: cause, wrong"],
        ["1", "failure: no comment"],
        ["1", "other: cause, needless"],
        ["1", "other: no comment"],
        ["2", "of 5 issues get a wrong or needless comment: 40.0%"],
    ]
