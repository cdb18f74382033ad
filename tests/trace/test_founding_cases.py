"""The founding cases with real libraries: FADOCTOR_TESTS_TRACE names an interpreter with them."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

PYTHON = os.environ.get("FADOCTOR_TESTS_TRACE", "")

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(
        not PYTHON, reason="FADOCTOR_TESTS_TRACE names no interpreter with real libraries"
    ),
]

SCRIPT = Path(__file__).parent / "founding.py"


def traced(tmp_path: Path, case: str) -> dict[str, Any]:
    output = tmp_path / "trace.json"
    argv = [
        sys.executable, "-m", "fadoctor", "trace", "--format", "json", "--output", str(output),
        "--", PYTHON, str(SCRIPT), case,
    ]  # fmt: skip
    environ = {**os.environ, "OMP_NUM_THREADS": "1"}
    subprocess.run(argv, capture_output=True, check=False, timeout=300, env=environ)
    document: dict[str, Any] = json.loads(output.read_text())
    assert [process["faults"] for process in document["processes"]] == [[]]
    return document


@pytest.mark.parametrize(
    ("case", "letters", "kind", "file", "source", "rule"),
    [
        (
            "llamafactory", "qkv", "float32-from-start", "modeling_llama.py",
            "self.embed_tokens(input_ids)", "dtype-fp32-into-fa2",
        ),
        (
            "unsloth_dora", "kv", "promotion", "peft/tuners/lora/dora.py",
            "mag_norm_scale", "dora-fp32-promotion",
        ),
        (
            "x_transformers", "qk", "promotion", "x_transformers/x_transformers.py",
            "freqs", "x-transformers-rotary-fp32",
        ),
    ],
)  # fmt: skip
def test_the_culprit_is_named(  # noqa: PLR0917 -- one case
    tmp_path: Path, case: str, letters: str, kind: str, file: str, source: str, rule: str
) -> None:
    document = traced(tmp_path, case)
    culprits = document["processes"][0]["calls"][0]["culprits"]
    assert "".join(culprits) == letters
    for culprit in culprits.values():
        assert culprit["kind"] == kind
        assert culprit["file"].endswith(file)
        assert source in culprit["source"]
    assert [finding["rule_id"] for finding in document["findings"]] == [rule]
    assert document["exit_code"] == 1


@pytest.mark.parametrize(
    ("case", "backend"),
    [
        ("llamafactory_repaired", "fa2"),
        ("deepscaler", "fa2"),
        ("qwen_v100", "eager"),
        ("unsloth_dora_repaired", "fa2"),
        ("x_transformers_repaired", "sdpa-flash"),
    ],
)
def test_what_is_repaired_is_silent(tmp_path: Path, case: str, backend: str) -> None:
    document = traced(tmp_path, case)
    calls = document["processes"][0]["calls"]
    assert {call["backend"] for call in calls} == {backend}
    assert [call["culprits"] for call in calls if call["culprits"]] == []
    assert document["findings"] == []
    assert document["exit_code"] == 0
