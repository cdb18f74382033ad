"""Trainers, DeepSpeed, accelerate, FSDP, PEFT and models: what each says, and what they come to."""

from __future__ import annotations

import json

import pytest

from fadoctor.model.fact import Known
from fadoctor.sources.configs.join import join, one_run
from tests.unit.sources.configs.examples import EXAMPLES
from tests.unit.sources.configs.read import UNREAD, facts, intents, read

TRAINER = "output_dir: out\nper_device_train_batch_size: 2\nmodel_name_or_path: Qwen/Qwen2.5-7B\n"
MODEL = {
    "architectures": ["Qwen2ForCausalLM"],
    "model_type": "qwen2",
    "hidden_size": 3584,
    "num_attention_heads": 28,
    "torch_dtype": "bfloat16",
    "sliding_window": 131072,
    "use_sliding_window": False,
    "attention_dropout": 0.0,
}


def named(name: str, content: object) -> tuple[str, str]:
    return name, json.dumps(content, indent=2)


@pytest.mark.parametrize(
    ("more", "dtype"),
    [
        ("bf16: true\n", "bf16"),
        ("fp16: true\n", "fp16"),
        ("torch_dtype: float32\nbf16: false\n", "fp32"),
        ("torch_dtype: bfloat16\n", "bf16"),
        ("torch_dtype: auto\n", UNREAD),
        ("packing: true\ntorch_dtype: float32\n", UNREAD),  # TRL takes bf16 by default
        ("packing: true\ntorch_dtype: float32\nbf16: false\nfp16: false\n", "fp32"),
        ("", UNREAD),
    ],
)
def test_what_a_trainer_computes_in(more: str, dtype: str) -> None:
    assert facts(TRAINER + more)["dtype"] == dtype


def test_a_trainer_with_everything() -> None:
    text = TRAINER + (
        "attn_implementation: flash_attention_2\nbf16: true\ntf32: true\nload_in_4bit: true\n"
        "use_peft: true\nuse_dora: true\nlora_target_modules: [k_proj, v_proj]\n"
        "gradient_checkpointing: true\ntorch_compile: false\ntrust_remote_code: true\n"
        "model_init_kwargs: {dtype: bfloat16}\ndeepspeed: ds_z3.json\n"
    )
    found = facts(text)
    assert found == {
        "framework": "transformers",
        "purpose": "training",
        "model": "Qwen/Qwen2.5-7B",
        "attention": "flash_attention_2",
        "dtype": "bf16",
        "autocast": "bf16",
        "bf16": True,
        "tf32": True,
        "quantization": "4bit",
        "adapter": "lora",
        "use_dora": True,
        "adapter_modules": ("k_proj", "v_proj"),
        "gradient_checkpointing": True,
        "compile": False,
        "trust_remote_code": True,
        "weights_dtype": "bf16",
        "dtype_keyword": "dtype",
    }
    assert read(text).named == ("ds_z3.json",)


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        ({"bf16": {"enabled": True}}, ("bf16", True, None)),
        ({"bf16": {"enabled": "auto"}, "fp16": {"enabled": "auto"}}, ("auto", None, None)),
        ({"bf16": {"enabled": False}, "fp16": {"enabled": False}}, ("fp32", False, False)),
        ({"fp16": {"enabled": True, "loss_scale": 0}}, ("fp16", None, True)),
        ({"bfloat16": {"enabled": "true"}}, ("bf16", True, None)),
        ({}, (None, None, None)),
    ],
)
def test_precision_of_deepspeed(content: dict[str, object], expected: tuple[object, ...]) -> None:
    found = facts(named("ds.json", {"zero_optimization": {"stage": 2}, **content}))
    names = ("deepspeed_precision", "deepspeed_bf16", "deepspeed_fp16")
    assert tuple(found.get(name) for name in names) == expected


def test_deepspeed_within_a_trainer_s_file() -> None:
    found = facts(TRAINER + "bf16: true\ndeepspeed: {bf16: {enabled: false}}\n")
    assert (found["deepspeed_bf16"], found["dtype"]) == (False, "bf16")


@pytest.mark.parametrize(
    ("precision", "dtype"), [("bf16", "bf16"), ("fp16", "fp16"), ("'no'", "fp32"), ("no", "fp32")]
)
def test_accelerate_turns_autocast_on_where_the_trainer_is_silent(
    precision: str, dtype: str
) -> None:
    launch = f"distributed_type: MULTI_GPU\nnum_processes: 8\nmixed_precision: {precision}\n"
    found = facts(TRAINER + "torch_dtype: float32\nbf16: false\n", ("accelerate.yaml", launch))
    assert found["dtype"] == dtype
    assert "conflict" not in found


@pytest.mark.parametrize(
    ("value", "more", "dtype"),
    [
        ("bf16", "bf16: false\n", "bf16"),
        ("fp16", "", "fp16"),
        ("no", "bf16: false\n", "fp32"),
        ("fp16", "bf16: true\n", "bf16"),
    ],
)
def test_accelerate_s_variable_counts_where_the_trainer_is_silent(
    value: str, more: str, dtype: str
) -> None:
    beside = {"env.ACCELERATE_MIXED_PRECISION": Known(value, "the environment")}
    joined = join([read(TRAINER + "torch_dtype: float32\n" + more)], dict(beside))
    assert isinstance(found := joined.facts["config.dtype"], Known)
    assert found.value == dtype
    autocast = joined.facts["config.autocast"]
    assert (autocast.value if isinstance(autocast, Known) else "fp32") == dtype


@pytest.mark.parametrize("name", [name for name, files in EXAMPLES.items() if len(files) > 1])
def test_the_order_of_files_does_not_matter(name: str) -> None:
    files = list(EXAMPLES[name].items())
    assert facts(*files) == facts(*reversed(files))


def test_the_trainer_overrules_accelerate_and_both_are_named() -> None:
    launch = "distributed_type: FSDP\nnum_processes: 8\nmixed_precision: fp16\n"
    found = facts(TRAINER + "bf16: true\n", ("accelerate.yaml", launch))
    assert found["dtype"] == "bf16"
    assert found["conflict"] == (
        "autocast: bf16: true in train.yaml but mixed_precision: fp16 in accelerate.yaml",
    )


def test_a_model_s_configuration() -> None:
    assert facts(named("config.json", MODEL)) == {
        "model_type": "qwen2",
        "head_dim": 128,
        "checkpoint_dtype": "bf16",
        "dropout": "0.0",
    }


@pytest.mark.parametrize(
    ("more", "name", "value"),
    [
        ({"head_dim": 256}, "head_dim", 256),
        ({"use_sliding_window": True}, "sliding_window", 131072),
        ({"attn_logit_softcapping": 50.0}, "softcap", "50.0"),
        ({"attn_implementation": "eager"}, "attention", "eager"),
        ({"use_flash_attn": True}, "attention", "flash_attention_2"),
        ({"use_flash_attn": "auto"}, "attention", None),
        ({"kv_lora_rank": 512}, "head_dim", None),
        (
            {"kv_lora_rank": 512, "qk_nope_head_dim": 128, "qk_rope_head_dim": 64, "head_dim": 64},
            "head_dim",
            192,
        ),
        ({"head_dim": None, "hidden_size": 4096, "num_attention_heads": 32}, "head_dim", 128),
        ({"text_config": {"d_model": 384, "decoder_attention_heads": 6}}, "head_dim", 64),
        # Saved without what is the default of the class.
        (
            {
                "text_config": {
                    "model_type": "gemma3_text",
                    "hidden_size": 3840,
                    "num_attention_heads": 16,
                }
            },
            "head_dim",
            256,
        ),
        ({"text_config": {"model_type": "gemma3_text", "hidden_size": 2560}}, "head_dim", 256),
        ({"text_config": {"model_type": "llama"}}, "head_dim", 128),
        ({"dtype": "float32"}, "checkpoint_dtype", "fp32"),
        ({"quantization_config": {"quant_method": "awq", "bits": 4}}, "quantization", "awq"),
        ({"quantization_config": {"load_in_4bit": True}}, "quantization", "4bit"),
        ({"quantization_config": {"quant_method": "bitsandbytes"}}, "quantization", UNREAD),
        ({"text_config": {"head_dim": 512}, "architectures": ["X"]}, "head_dim", 512),
    ],
)
def test_what_a_model_says(more: dict[str, object], name: str, value: object) -> None:
    assert facts(named("config.json", {**MODEL, **more})).get(name) == value


def test_the_checkpoint_decides_where_the_run_says_auto() -> None:
    found = facts(TRAINER + "torch_dtype: auto\n", named("config.json", MODEL))
    assert found["dtype"] == "bf16"


def test_an_adapter_that_is_loaded_brings_its_own_configuration() -> None:
    adapter = {"peft_type": "LORA", "use_dora": True, "target_modules": ["v_proj", "k_proj"]}
    found = facts(TRAINER + "bf16: true\nuse_dora: false\n", named("adapter_config.json", adapter))
    assert (found["use_dora"], found["adapter_modules"]) == (True, ("v_proj", "k_proj"))
    assert found["conflict"] == (
        "use_dora: use_dora: false in train.yaml but use_dora: true in adapter_config.json",
    )


def test_fsdp_says_little() -> None:
    content = {
        "transformer_layer_cls_to_wrap": ["LlamaDecoderLayer"],
        "activation_checkpointing": True,
    }
    assert intents(json.dumps(content), "fsdp.json") == {"config.gradient_checkpointing": True}


def test_two_files_of_equal_weight_that_disagree_leave_it_open() -> None:
    found = facts(("a.yaml", TRAINER + "bf16: true\n"), ("b.yaml", TRAINER + "fp16: true\n"))
    assert found["autocast"] == UNREAD
    assert found["dtype"] == UNREAD
    assert "conflict" in found


def test_a_server_beside_a_training_is_another_run() -> None:
    """The server's backend stood beside the training's attention, as if one run had both."""
    server = read("vllm serve ada/llama --dtype half --attention-backend FLASHINFER\n", "serve.sh")
    training = read("stage: sft\ntemplate: llama3\nflash_attn: fa2\nbf16: true\n")
    adapter = read(json.dumps({"peft_type": "LORA"}), "adapter_config.json")
    kept, notes = one_run([server, training, adapter])
    assert kept == (training, adapter)
    assert notes == ("serve.sh is about a server: judge it in a run of its own",)
    assert one_run([server, adapter]) == ((server, adapter), ())


def test_a_model_that_is_only_named_has_the_type_of_its_name() -> None:
    found = facts(("s.sh", "vllm serve openai/gpt-oss-20b\n"))
    assert found["model_type"] == "gpt_oss"
    assert "model_type" not in facts(("s.sh", "vllm serve acme/gpt-oss-20b-ft\n"))


def test_the_part_of_a_model_that_sees() -> None:
    sees = '"vision_config": {"model_type": "timm_wrapper"}'
    text = '{"architectures": ["A"], "model_type": "a", ' + sees + "}"
    assert facts(("config.json", text))["vision_type"] == "timm_wrapper"
