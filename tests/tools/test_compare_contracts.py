"""The comparison of predicted imports with real ones."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
import yaml

from fadoctor.knowledge.matrix.load import load_knowledge
from fadoctor.sources.import_names.model import Broken
from fadoctor.sources.import_names.read import entries_of
from tools import compare_contracts

if TYPE_CHECKING:
    from pathlib import Path

BROKEN = Broken("peft", "f", 1, "transformers", "transformers", "Gone", ("import peft",), True)


@pytest.mark.parametrize(
    ("said", "broken", "verdict"),
    [
        ([], None, "silent"),
        ([], BROKEN, "ALARM"),
        (["ImportError: cannot import name 'Gone' from 'transformers' (x)"], BROKEN, "found"),
        (["RuntimeError: x", "ImportError: cannot import name 'Gone' from 'x'"], BROKEN, "found"),
        (["ImportError: cannot import name 'Other' from 'x'"], BROKEN, "other name"),
        (["ImportError: cannot import name 'Gone' from 'x'"], None, "missed"),
        (["ModuleNotFoundError: No module named 'torch._six'"], None, "missed"),
        (["ModuleNotFoundError: No module named 'cloudpickle'"], None, "elsewhere"),
        (["RuntimeError: no GPU"], None, "elsewhere"),
    ],
)
def test_truth_decides(said: list[str], broken: Broken | None, verdict: str) -> None:
    assert compare_contracts.judged("s", "import peft", said, broken).verdict == verdict


def test_a_release_that_has_no_such_module_is_no_contract() -> None:
    """Of what the table names, not every release has all."""
    said = ["ModuleNotFoundError: No module named 'swift.llm'"]
    statement = "from swift.llm import sft_main"
    assert compare_contracts.judged("s", statement, said, None).verdict == "elsewhere"


def test_stacks_name_each_package_once_and_exactly() -> None:
    stacks = yaml.safe_load(compare_contracts.STACKS.read_text())["stacks"]
    assert len({stack["name"] for stack in stacks}) == len(stacks) >= 25
    for stack in stacks:
        names = [each.partition("==")[0] for each in stack["with"]]
        assert len(set(names)) == len(names)
        assert all("==" in each for each in stack["with"])


@pytest.mark.network
@pytest.mark.weekly
@pytest.mark.torch
def test_a_pair_that_breaks_and_a_pair_that_does_not(tmp_path: Path) -> None:
    pytest.importorskip("torch")
    entries = entries_of(load_knowledge().tables["entry-modules"])
    base = ["psutil", "pyyaml", "safetensors", "packaging", "tqdm", "filelock", "fsspec"]
    for version, verdict in (("0.4.0", "found"), ("0.8.5", "silent")):
        pair = [*base, "triton==3.7.1", f"liger-kernel=={version}", "transformers==5.23.0",
                "huggingface-hub==2.4.0", "tokenizers==0.23.3", "regex", "requests",
                "httpx2", "httpcore2", "anyio", "h11", "idna", "truststore"]  # fmt: skip
        rows = compare_contracts.compare("s", pair, tmp_path, entries)
        told = {row.statement: row.verdict for row in rows}
        assert told["import liger_kernel.transformers"] == verdict
        assert "ALARM" not in told.values()
