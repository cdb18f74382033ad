"""``--config``: the runs of the founding cases, judged before anything runs."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.cli.configs import (
    DEEPSPEED,
    LLAMAFACTORY,
    WEBUI,
    errors,
    settings,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.cli.configs import Told


# Case 000: LLaMA-Factory, "FlashAttention only support fp16 and bf16 data type"


def test_a_llamafactory_run_in_float32_and_its_repair(told: Callable[..., Told]) -> None:
    run = LLAMAFACTORY.format(way="full", attention="fa2")
    found = told({"train.yaml": run})
    finding = found["dtype-fp32-into-fa2"]
    assert finding["severity"] == "error"
    assert finding["locations"][0]["line"] == 7
    assert settings(finding).startswith("LLaMA-Factory: bf16: true")
    assert told({"train.yaml": run + "bf16: true\n"}) == {}


@pytest.mark.parametrize(
    ("way", "compute", "rule", "severity"),
    [
        ("full", "fp32", "dtype-fp32-into-fa2", "error"),
        ("lora", "fp32", "fa2-without-autocast", "warning"),
        ("lora", "bf16", "", ""),
        ("full", "pure_bf16", "", ""),
    ],
)
def test_what_the_webui_saved(
    told: Callable[..., Told], way: str, compute: str, rule: str, severity: str
) -> None:
    found = told({"llamaboard_config.yaml": WEBUI.format(way=way, compute=compute)})
    assert {name: each["severity"] for name, each in found.items()} == (
        {rule: severity} if rule else {}
    )


def test_deepspeed_that_says_otherwise_than_the_run(told: Callable[..., Told]) -> None:
    run = LLAMAFACTORY.format(way="lora", attention="fa2") + "bf16: true\ndeepspeed: ds.json\n"
    found = told({"train.yaml": run, "ds.json": DEEPSPEED.format(bf16="false")})
    finding = found["deepspeed-precision-mismatch"]
    assert finding["severity"] == "error"
    assert {Path(at["file"]).name for at in finding["locations"]} == {"train.yaml", "ds.json"}
    for bf16 in ('"auto"', "true"):
        assert told({"train.yaml": run, "ds.json": DEEPSPEED.format(bf16=bf16)}) == {}


# Case 001: DoRA on a 4-bit base

QDORA = LLAMAFACTORY.format(way="lora", attention="fa2") + (
    "bf16: true\nquantization_bit: 4\nuse_dora: true\nlora_target: {target}\n"
)


@pytest.mark.parametrize(
    ("target", "severity"), [("all", "note"), ("k_proj,v_proj", "error"), ("q_proj,v_proj", "note")]
)
def test_dora_where_the_models_of_transformers_guard(
    told: Callable[..., Told], target: str, severity: str
) -> None:
    found = told({"train.yaml": QDORA.format(target=target)})
    assert {name: each["severity"] for name, each in found.items()} == {
        "dora-fp32-promotion": severity
    }


def test_dora_under_an_unsloth_that_does_not_cast_and_one_that_does(
    told: Callable[..., Told],
) -> None:
    run = QDORA.format(target="all") + "use_unsloth: true\n"
    unsloth = {"unsloth.version": "2025.10.1", "unsloth.distribution": "unsloth"}
    found = told({"train.yaml": run}, facts=unsloth)
    assert found["dora-quantized-unsloth"]["severity"] == "error"
    repaired = told({"train.yaml": run}, facts={**unsloth, "unsloth.version": "2026.7.1"})
    assert "dora-quantized-unsloth" not in repaired
    assert "dora-fp32-promotion" not in repaired
    plain = told({"train.yaml": run.replace("use_dora: true", "use_dora: false")}, facts=unsloth)
    assert "dora-quantized-unsloth" not in plain


# Case 002: Qwen's first generation on a V100

QWEN = json.dumps(
    {
        "architectures": ["QWenLMHeadModel"],
        "model_type": "qwen",
        "hidden_size": 4096,
        "num_attention_heads": 32,
        "use_flash_attn": True,
    }
)
V100 = ("--gpu", "V100", "--driver", "550.54.15")


def test_bf16_and_flash_attention_on_a_v100_and_the_repair(told: Callable[..., Told]) -> None:
    run = "output_dir: out\nmodel_name_or_path: Qwen/Qwen-7B-Chat\nper_device_train_batch_size: 1\n"
    files = {"args.yaml": run + "bf16: true\nfp16: false\n", "config.json": QWEN}
    found = told(files, *V100)
    assert {"gpu-too-old-fa2", "bf16-unsupported-gpu"} <= set(errors(found))
    repaired = {
        "args.yaml": run + "bf16: false\nfp16: true\n",
        "config.json": QWEN.replace('"use_flash_attn": true', '"use_flash_attn": false'),
    }
    assert errors(told(repaired, *V100)) == []


# Cases 001 to 004, as the scripts that people run


UNSLOTH = """\
from trl import SFTConfig, SFTTrainer
from unsloth import FastLanguageModel

model, tokenizer = FastLanguageModel.from_pretrained("m", load_in_4bit=True)
model = FastLanguageModel.get_peft_model(model, target_modules=["q_proj", "v_proj"], use_dora=True)
trainer = SFTTrainer(model=model, args=SFTConfig(bf16=True, output_dir="out"))
trainer.train()
"""
OLD_UNSLOTH = {"unsloth.version": "2025.10.1", "unsloth.distribution": "unsloth"}


def test_a_script_of_unsloth_with_dora_and_its_repairs(told: Callable[..., Told]) -> None:
    found = told({"train.py": UNSLOTH}, facts=OLD_UNSLOTH)
    finding = found["dora-quantized-unsloth"]
    assert finding["severity"] == "error"
    assert {at["line"] for at in finding["locations"]} >= {4, 5}
    newer = told({"train.py": UNSLOTH}, facts={**OLD_UNSLOTH, "unsloth.version": "2026.7.1"})
    plain = told({"train.py": UNSLOTH.replace(", use_dora=True", "")}, facts=OLD_UNSLOTH)
    for repaired in (newer, plain):
        assert not {"dora-quantized-unsloth", "dora-fp32-promotion"} & repaired.keys()


def test_advice_that_does_not_help(told: Callable[..., Told]) -> None:
    advised = UNSLOTH.replace(
        "model, tokenizer",
        "import torch\ntorch.set_default_dtype(torch.bfloat16)\nmodel, tokenizer",
    ).replace("model=model, args", "model=model, bf16=True, fp16=True, args")
    found = told({"train.py": advised}, facts=OLD_UNSLOTH)
    assert found["default-dtype-half"]["severity"] == "warning"
    assert found["trainer-argument-unknown"]["severity"] == "error"


QWEN_LORA = """\
#!/bin/bash
torchrun --nproc_per_node 2 finetune.py \\
    --model_name_or_path Qwen/Qwen-7B-Chat \\
    --bf16 {bf16} --fp16 {fp16} \\
    --output_dir out --per_device_train_batch_size 2 --use_lora
"""


def test_a_launch_on_a_v100_and_its_repair(told: Callable[..., Told]) -> None:
    wrong = {"finetune.sh": QWEN_LORA.format(bf16="True", fp16="False"), "config.json": QWEN}
    found = told(wrong, *V100)
    assert "gpu-too-old-fa2" in errors(found)
    assert found["bf16-unsupported-gpu"]["locations"][0]["line"] in {2, 4}
    right = {
        "finetune.sh": QWEN_LORA.format(bf16="False", fp16="True"),
        "config.json": QWEN.replace('"use_flash_attn": true', '"use_flash_attn": false'),
    }
    repaired = told(right, *V100)
    assert not {"gpu-too-old-fa2", "bf16-unsupported-gpu"} & repaired.keys()


X_TRANSFORMERS = """\
import torch
from x_transformers import Decoder, TransformerWrapper

layers = Decoder(dim=512, depth=6, heads=8, attn_flash=True, rotary_pos_emb=True)
model = TransformerWrapper(num_tokens=256, max_seq_len=1024, attn_layers=layers).cuda()
with torch.autocast("cuda", dtype=torch.bfloat16):
    model(torch.zeros(1, 1024, dtype=torch.long).cuda())
"""


@pytest.mark.parametrize(("version", "is_told"), [("1.30.1", True), ("1.30.2", False)])
def test_rotary_embeddings_of_x_transformers(
    told: Callable[..., Told], version: str, *, is_told: bool
) -> None:
    package = {"x_transformers.version": version, "x_transformers.distribution": "x-transformers"}
    found = told({"train.py": X_TRANSFORMERS}, facts=package)
    assert errors(found) == (["x-transformers-rotary-fp32"] if is_told else [])


VERL = """\
actor_rollout_ref:
  model:
    path: deepseek-ai/DeepSeek-R1-Distill-Qwen-1.5B
  actor:
    strategy: fsdp
    fsdp_config:
      model_dtype: fp32
  rollout:
    name: vllm
    dtype: bfloat16
trainer:
  n_gpus_per_node: 8
"""
VLLM = {"vllm.distribution": "vllm", "vllm.version": "0.12.0"}


def test_float32_masters_of_verl_are_no_error(told: Callable[..., Told]) -> None:
    found = told({"ppo.yaml": VERL})
    assert {name: each["severity"] for name, each in found.items()} == {
        "fa2-init-dtype-warning": "note"
    }
    assert told({"ppo.yaml": VERL.replace("fp32", "bf16")}) == {}


def test_the_variable_that_was_advised_for_it(told: Callable[..., Told]) -> None:
    serve = "export VLLM_ATTENTION_BACKEND=XFORMERS\nvllm serve m --dtype bfloat16\n"
    found = told({"serve.sh": serve}, facts=VLLM)
    finding = found["vllm-backend-removed"]
    assert (finding["severity"], finding["locations"][0]["line"]) == ("error", 1)
    repaired = told({"serve.sh": serve.partition("\n")[2]}, facts=VLLM)
    assert "vllm-backend-removed" not in repaired
