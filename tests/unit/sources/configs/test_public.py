"""Configurations like those that projects publish: read as meant, and nothing is wrong with them.

Each is written anew after the habits of published examples: axolotl, ms-swift, torchtune, verl,
OpenRLHF, vLLM, SGLang, TRL, unsloth's notebooks. Python stands in files that end with ``.txt``: no
tool shall take it for code of ours.
"""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from fadoctor.judging.engine.judge import judge
from fadoctor.knowledge.matrix.load import load_knowledge
from fadoctor.model.environment import Environment
from fadoctor.model.fact import Absent, Fact, Known
from fadoctor.model.finding import Severity
from fadoctor.sources.configs.join import apply_configurations
from tests.unit.sources.configs.read import UNREAD, facts, read

HERE = Path(__file__).parent / "public"
HEALTHY = Path(__file__).parents[3] / "golden" / "linux-a100-healthy" / "facts.json"

FA2 = "flash_attention_2"
MEANT: dict[str, tuple[str | None, ...]] = {
    # file: framework, attention, what it computes in, quantisation
    "axolotl-gemma-full.yaml": ("axolotl", "eager", "bf16", None),
    "axolotl-llama-lora.yml": ("axolotl", FA2, UNREAD, "8bit"),
    "axolotl-mistral-dpo.yaml": ("axolotl", "sdpa", UNREAD, None),
    "axolotl-phi-xformers.yaml": ("axolotl", "xformers", "bf16", None),
    "axolotl-qwen-qlora.yaml": ("axolotl", FA2, "bf16", "4bit"),
    "inference-half.py": ("transformers", None, UNREAD, None),
    "lightning.py": ("transformers", "sdpa", "bf16", None),
    "openrlhf-older-ppo.sh": ("openrlhf", FA2, "bf16", None),
    "openrlhf-sft.sh": ("openrlhf", FA2, "bf16", None),
    "sglang-launch.sh": ("sglang", "flashinfer", "bf16", None),
    "swift-args.json": ("ms-swift", FA2, "bf16", None),
    "swift-grpo.sh": ("ms-swift", FA2, "bf16", None),
    "swift-lora.sh": ("ms-swift", FA2, "bf16", None),
    "swift-qlora.sh": ("ms-swift", "sdpa", "bf16", "4bit"),
    "swift-sample.yaml": ("ms-swift", "sdpa", "fp16", None),
    "training-loop.py": ("transformers", None, "fp16", None),
    "trl-cli.sh": ("transformers", FA2, "bf16", "4bit"),
    "trl-grpo-script.py": ("transformers", UNREAD, UNREAD, None),
    "trl-qlora-dpo.py": ("transformers", "sdpa", "bf16", "4bit"),
    "trl-sft.py": ("transformers", FA2, "bf16", None),
    "tune-launch.sh": ("torchtune", None, "bf16", None),
    "tune-lora-single.yaml": ("torchtune", None, "bf16", None),
    "tune-qlora.yaml": ("torchtune", None, "bf16", "nf4"),
    "unsloth-llama.ipynb": ("unsloth", None, UNREAD, "4bit"),
    "unsloth-vision.ipynb": ("unsloth", None, "bf16", None),
    "verl-grpo.sh": ("verl", FA2, "bf16", None),
    "verl-sdpa.sh": ("verl", "sdpa", "bf16", None),
    "verl-sft.sh": ("verl", FA2, "bf16", None),
    "verl-trainer.yaml": ("verl", FA2, "bf16", None),
    "vllm-awq.sh": ("vllm", None, "fp16", "awq"),
    "vllm-config.yaml": ("vllm", None, "bf16", None),
    "vllm-offline.py": ("vllm", None, UNREAD, None),
    "vllm-serve.sh": ("vllm", None, UNREAD, None),
    "vllm.Dockerfile": ("vllm", None, "bf16", None),
}


def text_of(name: str) -> str:
    file = HERE / name
    return (file if file.is_file() else HERE / f"{name}.txt").read_text()


def environment(**changed: str) -> Environment:
    """Return a healthy A100 with the frameworks installed, and facts changed by name."""
    found = msgspec.json.decode(HEALTHY.read_bytes(), type=Environment)
    values = {"vllm.version": "0.11.0", "unsloth.version": "2026.10.9", **changed}
    more: dict[str, Fact] = {name: Known(value, "a test") for name, value in values.items()}
    return msgspec.structs.replace(found, facts={**found.facts, **more})


def errors(name: str, environment: Environment) -> list[str]:
    """Return the ids of errors that an environment alone does not have."""
    configuration = read(text_of(name), name)
    knowledge = load_knowledge()
    before = {each.fingerprint for each in judge(environment, knowledge).findings}
    found = judge(apply_configurations(environment, [configuration]), knowledge).findings
    return [
        each.rule_id
        for each in found
        if each.severity is Severity.ERROR and each.fingerprint not in before
    ]


def test_every_example_is_listed() -> None:
    assert sorted(MEANT) == sorted(each.name.removesuffix(".txt") for each in HERE.iterdir())


@pytest.mark.parametrize("name", MEANT)
def test_it_is_read_as_it_is_meant(name: str) -> None:
    found = facts((name, text_of(name)))
    keys = ("framework", "attention", "dtype", "quantization")
    assert tuple(found.get(key) for key in keys) == MEANT[name]


@pytest.mark.parametrize("name", MEANT)
def test_nothing_is_wrong_with_it_on_an_a100(name: str) -> None:
    assert errors(name, environment()) == []


ASKING = [name for name, meant in MEANT.items() if meant[1] == FA2]


@pytest.mark.parametrize("name", ASKING)
def test_on_a_v100_without_flash_attn_it_cannot_run(name: str) -> None:
    v100 = environment(**{"gpu[0].compute_capability": "7.0", "gpu[0].name": "Tesla V100"})
    none: dict[str, Fact] = {
        each: Absent("a test") for each in v100.facts if each.startswith("flash_attn.")
    }
    v100 = msgspec.structs.replace(v100, facts={**v100.facts, **none})
    assert "gpu-too-old-fa2" in errors(name, v100)
