"""The founding cases with real libraries: FADOCTOR_TESTS_TRACE names an interpreter with them."""

from __future__ import annotations

import os
from pathlib import Path
from typing import NamedTuple

import msgspec
import pytest

from fadoctor.knowledge.matrix.load import load_knowledge
from fadoctor.model.trace import TracedProcess, TraceReport
from fadoctor.proof.trace.join import find
from tests.trace import routes

PYTHON = os.environ.get("FADOCTOR_TESTS_TRACE", "")

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(
        not PYTHON, reason="FADOCTOR_TESTS_TRACE names no interpreter with real libraries"
    ),
]

SCRIPT = Path(__file__).parent / "founding.py"
WAYS = {"generate": "kv", "offload": "kv", "checkpoint": "k", "checkpoint_reentrant": "k",
        "infer_in_thread": "kv"}  # fmt: skip
"""Ways to a layer whose keys are normed in float32, and what is wrong there: the cache of
transformers holds values in the dtype of its keys."""


class Seen(NamedTuple):
    """A case that has ended."""

    process: TracedProcess
    exit_code: int

    @property
    def rules(self) -> list[str]:
        return [finding.rule_id for finding in find((self.process,), load_knowledge())]


@pytest.fixture(scope="module")
def seen(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Seen]:
    """All cases, forked off one process that imports the libraries once."""
    output = tmp_path_factory.mktemp("trace") / "trace.json"
    run, document = routes.run_traced(output, (PYTHON, str(SCRIPT)))
    assert run.returncode == document["exit_code"] == 0, run.stderr.decode()[-2000:]
    report = msgspec.convert(document, TraceReport)
    assert {process.faults for process in report.processes} == {()}
    by_pid = {process.pid: process for process in report.processes}
    lines = [line.split() for line in run.stdout.decode().splitlines()]
    return {name: Seen(by_pid[int(pid)], int(code)) for name, pid, code in lines}


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
    seen: dict[str, Seen], case: str, letters: str, kind: str, file: str, source: str, rule: str
) -> None:
    call = next(call for call in seen[case].process.calls if call.culprits)
    assert "".join(call.culprits) == letters
    for culprit in call.culprits.values():
        assert culprit.kind == kind
        assert culprit.file.endswith(file)
        assert source in culprit.source
    assert seen[case].rules == [rule]
    assert seen[case].exit_code == 1


@pytest.mark.parametrize("way", WAYS)
def test_the_module_is_named_whichever_way_leads_to_it(seen: dict[str, Seen], way: str) -> None:
    first, second = seen[way].process.calls
    assert (first.module, first.culprits) == ("model.layers.0.self_attn", {})
    assert second.module == "model.layers.1.self_attn"
    assert "".join(second.culprits) == WAYS[way]
    culprit = second.culprits["k"]
    assert (culprit.kind, culprit.module) == ("promotion", "model.layers.1.self_attn.k_norm")
    assert culprit.file.endswith("models/qwen3/modeling_qwen3.py")
    assert culprit.because == "weight: float32"
    if "v" in second.culprits:
        assert second.culprits["v"].source.startswith("self.values = torch.cat(")
        assert second.culprits["v"].because == "values: float32, it is empty"
    assert seen[way].rules == ["fa2-mixed-qkv-dtype"]
    assert seen[way].exit_code == 1


@pytest.mark.parametrize(
    ("case", "backend"),
    [
        ("llamafactory_repaired", "fa2"),
        ("deepscaler", "fa2"),
        ("qwen_v100", "eager"),
        ("unsloth_dora_repaired", "fa2"),
        ("x_transformers_repaired", "sdpa-flash"),
        *((f"{way}_repaired", "fa2") for way in WAYS),
    ],
)
def test_what_is_repaired_is_silent(seen: dict[str, Seen], case: str, backend: str) -> None:
    calls = seen[case].process.calls
    assert {call.backend for call in calls} == {backend}
    assert [call.culprits for call in calls if call.culprits] == []
    assert seen[case].rules == []
    assert seen[case].exit_code == 0


def test_accelerate_launch(tmp_path: Path) -> None:
    launch = (PYTHON, "-m", "accelerate.commands.launch", "--cpu", "--num_processes", "1")
    run, document = routes.run_traced(tmp_path / "trace.json", (*launch, str(routes.PATIENT)))
    assert run.returncode == 0, run.stderr.decode()[-2000:]
    assert b"refused" in run.stdout
    assert routes.named(document) == [routes.FOUND]
