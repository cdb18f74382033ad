"""Configurations, and what `check --config` finds of them beside a healthy A100."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

GOLDEN = Path(__file__).parents[1] / "golden"
A100 = str(GOLDEN / "linux-a100-healthy" / "facts.json")

Told = dict[str, dict[str, Any]]
"""Rule id -> finding."""

LLAMAFACTORY = """\
model_name_or_path: Qwen/Qwen2.5-7B-Instruct
stage: sft
do_train: true
finetuning_type: {way}
template: qwen
dataset: identity
flash_attn: {attention}
"""
WEBUI = """\
top.model_name: Qwen2.5-7B-Instruct
top.finetuning_type: {way}
top.booster: flashattn2
top.quantization_bit: none
train.training_stage: Supervised Fine-Tuning
train.compute_type: {compute}
"""
MODEL = json.dumps(
    {
        "architectures": ["Qwen2ForCausalLM"],
        "model_type": "qwen2",
        "hidden_size": 3584,
        "num_attention_heads": 28,
        "torch_dtype": "bfloat16",
    },
    indent=2,
)
DEEPSPEED = '{{"zero_optimization": {{"stage": 2}},\n "bf16": {{"enabled": {bf16}}}}}\n'
TRAINER = "output_dir: out\nper_device_train_batch_size: 1\nmodel_name_or_path: Qwen/Qwen2.5-7B\n"


def errors(found: Told) -> list[str]:
    return sorted(name for name, each in found.items() if each["severity"] == "error")


def settings(finding: dict[str, Any]) -> str:
    """Return the settings of the first fix, in the words of the framework."""
    return "; ".join(step["text"] for step in finding["fixes"][0]["steps"])
