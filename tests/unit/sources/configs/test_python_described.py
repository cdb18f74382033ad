"""Runs that a script describes for something else to start."""

from __future__ import annotations

import pytest

from tests.unit.sources.configs.read import facts

MODEL = """import torch
from transformers import AutoModelForCausalLM
model = dict(llm=dict(type=AutoModelForCausalLM.from_pretrained, torch_dtype=torch.bfloat16,
                      attn_implementation="flash_attention_2"))
"""
JOB = """from sagemaker.huggingface import HuggingFace
given = {"bf16": True, "attn_implementation": "flash_attention_2"}
HuggingFace(entry_point="run.py", hyperparameters=given).fit()
"""


@pytest.mark.parametrize(("text", "dtype"), [(MODEL, "weights_dtype"), (JOB, "autocast")])
def test_a_run_that_something_else_starts(text: str, dtype: str) -> None:
    found = facts(("a.py", text))
    assert (found["attention"], found[dtype]) == ("flash_attention_2", "bf16")


def test_other_mappings_and_other_jobs_say_nothing() -> None:
    text = "dict(type=load, torch_dtype='bfloat16')\nHuggingFace(hyperparameters={'bf16': True})\n"
    assert "weights_dtype" not in facts(("a.py", text))
    assert "autocast" not in facts(("a.py", text))
