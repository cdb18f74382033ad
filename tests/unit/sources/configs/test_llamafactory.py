"""LLaMA-Factory's arguments, and what its WebUI saves."""

from __future__ import annotations

import pytest

from tests.unit.sources.configs.read import UNREAD, facts, intents, read

RUN = """\
model_name_or_path: Qwen/Qwen2.5-7B-Instruct
stage: sft
do_train: true
finetuning_type: {way}
template: qwen
flash_attn: fa2
"""


@pytest.mark.parametrize(
    ("way", "more", "dtype"),
    [
        ("lora", "bf16: true\n", "bf16"),
        ("full", "bf16: true\n", "bf16"),
        ("full", "fp16: true\n", "fp16"),
        ("full", "bf16: yes\n", "bf16"),
        ("full", "pure_bf16: true\n", "bf16"),
        ("full", "", "fp32"),
        ("freeze", "bf16: false\n", "fp32"),
        ("lora", "", UNREAD),  # loaded in the half precision that the GPU has
        ("full", "bf16: ${PRECISION}\n", UNREAD),
    ],
)
def test_what_attention_is_computed_in(way: str, more: str, dtype: str) -> None:
    assert facts(RUN.format(way=way) + more)["dtype"] == dtype


def test_every_key_becomes_its_intent_with_its_place() -> None:
    text = RUN.format(way="lora") + (
        "bf16: true\nquantization_bit: 4\nuse_dora: true\nlora_target: k_proj,v_proj\n"
        "upcast_layernorm: true\ntf32: true\ndisable_gradient_checkpointing: true\n"
    )
    found = intents(text)
    assert found == {
        "config.framework": "llamafactory",
        "config.purpose": "training",
        "config.attention": "fa2",
        "config.bf16": True,
        "config.autocast": "bf16",
        "config.tf32": True,
        "config.use_dora": True,
        "config.adapter": "lora",
        "config.adapter_modules": ("k_proj", "v_proj"),
        "config.quantization": "4bit",
        "config.upcast_layernorm": True,
        "config.gradient_checkpointing": False,
    }
    [attention] = [each for each in read(text).intents if each.name == "config.attention"]
    assert (str(attention.place), attention.written) == ("train.yaml:6:1", "flash_attn: fa2")


def test_its_second_generation_speaks_as_transformers_does() -> None:
    text = (
        "model: Qwen/Qwen3-4B\nmodel_class: llm\nflash_attn: flash_attention_2\nbf16: true\n"
        "peft_config: {name: lora, target_modules: all}\ndist_config: {name: fsdp2}\n"
        "quant_config: {name: bnb, quantization_bit: 4}\ntrain_dataset: data.yaml\n"
    )
    assert facts(text) == {
        "framework": "transformers",
        "purpose": "training",
        "model": "Qwen/Qwen3-4B",
        "weights_dtype": "auto",
        "attention": "flash_attention_2",
        "autocast": "bf16",
        "dtype": "bf16",
        "adapter": "lora",
        "adapter_modules": ("all",),
        "quantization": "4bit",
    }


def test_a_merge_of_adapters_is_no_training() -> None:
    found = facts("model_name_or_path: m\nadapter_name_or_path: a\ntemplate: q\nexport_dir: out\n")
    assert (found["framework"], found["purpose"]) == ("llamafactory", "inference")


def test_another_method_of_quantisation_is_named() -> None:
    more = "quantization_bit: 4\nquantization_method: hqq\n"
    assert facts(RUN.format(way="lora") + more)["quantization"] == "hqq-4bit"


def test_inference_takes_the_dtype_that_it_is_told() -> None:
    found = facts("template: qwen\ninfer_backend: huggingface\ninfer_dtype: float32\n")
    assert (found["purpose"], found["dtype"]) == ("inference", "fp32")


WEBUI = """\
top.booster: {booster}
top.finetuning_type: {way}
top.model_name: Qwen2.5-7B
top.quantization_bit: {bits}
train.compute_type: {compute}
train.use_dora: true
train.lora_target: ''
"""


@pytest.mark.parametrize(
    ("booster", "compute", "way", "attention", "dtype"),
    [
        ("flashattn2", "bf16", "lora", "fa2", "bf16"),
        ("auto", "fp16", "lora", "auto", "fp16"),
        ("flashattn2", "pure_bf16", "full", "fa2", "bf16"),
        ("flashattn2", "fp32", "full", "fa2", "fp32"),
        ("unsloth", "fp32", "lora", "auto", UNREAD),
    ],
)
def test_what_the_webui_saves(
    booster: str, compute: str, way: str, attention: str, dtype: str
) -> None:
    text = WEBUI.format(booster=booster, compute=compute, way=way, bits="none")
    found = facts(("llamaboard_config.yaml", text))
    assert (found["attention"], found["dtype"]) == (attention, dtype)


def test_the_webui_quantises_and_uses_dora() -> None:
    text = WEBUI.format(booster="flashattn2", compute="bf16", way="lora", bits="'4'")
    found = facts(("llamaboard_config.yaml", text))
    assert (found["quantization"], found["use_dora"]) == ("4bit", True)
    full = WEBUI.format(booster="flashattn2", compute="bf16", way="full", bits="none")
    assert "use_dora" not in facts(("llamaboard_config.yaml", full))
