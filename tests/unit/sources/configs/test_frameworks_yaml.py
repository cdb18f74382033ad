"""axolotl, ms-swift, torchtune, verl, OpenRLHF, vLLM and SGLang in YAML and JSON."""

from __future__ import annotations

import pytest

from fadoctor.model.errors import InputError
from tests.unit.sources.configs.read import UNREAD, facts, intents, read

AXOLOTL = "base_model: m\ndatasets:\n  - path: d\nmicro_batch_size: 1\nsequence_len: 4096\n"


@pytest.mark.parametrize(
    ("more", "dtype"),
    [
        ("bf16: true\n", "bf16"),
        ("bf16: full\n", "bf16"),
        ("bfloat16: true\nbf16: false\n", "bf16"),
        ("bf16: auto\n", UNREAD),
        ("", UNREAD),  # auto
        ("bf16: auto\nfp16: true\n", "fp16"),
        ("bf16: false\nfp16: true\n", "fp16"),
        ("bf16: false\n", "fp32"),
        ("bf16: false\nload_in_8bit: true\n", "fp16"),
        ("bf16: false\nfloat16: true\n", "fp16"),
        ("bf16: ${BF16}\n", UNREAD),
    ],
)
def test_what_axolotl_computes_in(more: str, dtype: str) -> None:
    assert facts(AXOLOTL + more)["dtype"] == dtype


@pytest.mark.parametrize(
    ("more", "attention"),
    [
        ("flash_attention: true\n", "flash_attention_2"),
        ("sdp_attention: true\n", "sdpa"),
        ("xformers_attention: true\nflash_attention: true\n", "xformers"),
        ("flash_attention: false\neager_attention: true\n", "eager"),
        ("attn_implementation: flash_attention_3\n", "flash_attention_3"),
        ("flash_attention: false\n", None),
        ("flash_attention:\n", None),
    ],
)
def test_attention_of_axolotl(more: str, attention: str | None) -> None:
    assert facts(AXOLOTL + more).get("attention") == attention


def test_every_key_of_axolotl() -> None:
    text = AXOLOTL + (
        "adapter: qlora\nload_in_4bit: true\npeft_use_dora: true\nlora_target_linear: true\n"
        "tf32: true\ngradient_checkpointing: offload\ntrust_remote_code: true\nbf16: auto\n"
    )
    found = {name.removeprefix("config."): value for name, value in intents(text).items()}
    assert found == {
        "framework": "axolotl", "purpose": "training", "adapter": "qlora", "use_dora": True,
        "trust_remote_code": True, "model": "m", "quantization": "4bit",
        "adapter_modules": ("all-linear",), "tf32": True, "gradient_checkpointing": True,
        "bf16": UNREAD, "autocast": UNREAD, "weights_dtype": UNREAD,
            "dtype_chosen": "by torch",
    }  # fmt: skip


def test_a_file_that_axolotl_names_is_asked_for() -> None:
    assert read(AXOLOTL + "deepspeed: configs/zero3.json\n").named == ("configs/zero3.json",)


SWIFT = "model: m\ntrain_type: lora\ndataset: d\n"


@pytest.mark.parametrize(
    ("more", "dtype"),
    [
        ("torch_dtype: bfloat16\n", "bf16"),
        ("torch_dtype: float16\n", "fp16"),
        ("torch_dtype: float32\n", "fp16"),  # autocast in fp16 where no switch is given
        ("torch_dtype: float32\nbf16: true\n", "bf16"),
        ("torch_dtype: float32\nbf16: false\nfp16: false\n", "fp32"),
        ("", UNREAD),
    ],
)
def test_what_ms_swift_computes_in(more: str, dtype: str) -> None:
    assert facts(SWIFT + more)["dtype"] == dtype


def test_every_key_of_ms_swift() -> None:
    text = SWIFT + (
        "attn_impl: flash_attn\nquant_bits: 4\nquant_method: bnb\nuse_dora: true\n"
        "target_modules: all-linear\nbnb_4bit_compute_dtype: bfloat16\ntorch_dtype: bfloat16\n"
    )
    found = facts(text)
    assert found["attention"] == "flash_attention_2"
    assert (found["quantization"], found["compute_dtype"]) == ("4bit", "bf16")
    assert (found["use_dora"], found["adapter_modules"]) == (True, ("all-linear",))
    assert facts(SWIFT + "quant_bits: 8\nquant_method: hqq\n")["quantization"] == "hqq-8bit"


def test_what_a_run_of_ms_swift_leaves() -> None:
    text = (
        '{"model": "m", "tuner_type": "lora", "attn_impl": "flash_attention_2", "bf16": true,'
        ' "fp16": false, "torch_dtype": "torch.bfloat16", "quant_bits": null, "dataset": ["d"]}'
    )
    found = facts(("args.json", text))
    assert (found["framework"], found["dtype"], found["adapter"]) == ("ms-swift", "bf16", "lora")
    assert "quantization" not in found


TUNE = "model:\n  _component_: torchtune.models.llama3.{builder}\noptimizer: {{}}\ndtype: {dtype}\n"


def test_torchtune() -> None:
    found = facts(TUNE.format(builder="qlora_llama3_8b", dtype="bf16"))
    assert (found["framework"], found["dtype"], found["adapter"]) == ("torchtune", "bf16", "lora")
    assert found["quantization"] == "nf4"
    full = facts(TUNE.format(builder="llama3_8b", dtype="fp32"))
    assert (full["dtype"], full.get("adapter")) == ("fp32", None)


VERL = """\
actor_rollout_ref:
  model:
    path: m
    override_config: {{{override}}}
  actor:
    strategy: {strategy}
    fsdp_config:
      model_dtype: {dtype}
"""


@pytest.mark.parametrize(
    ("override", "strategy", "attention"),
    [
        ("", "fsdp", "flash_attention_2"),
        ("attn_implementation: sdpa", "fsdp2", "sdpa"),
        ("", "megatron", None),
    ],
)
def test_attention_of_verl(override: str, strategy: str, attention: str | None) -> None:
    text = VERL.format(override=override, strategy=strategy, dtype="fp32")
    assert facts(text).get("attention") == attention


def test_masters_in_float32_compute_in_bf16() -> None:
    found = facts(VERL.format(override="", strategy="fsdp", dtype="fp32"))
    assert (found["weights_dtype"], found["autocast"], found["dtype"]) == ("fp32", "bf16", "bf16")


def test_openrlhf() -> None:
    nested = "ds:\n  param_dtype: fp16\n  attn_implementation: eager\n  load_in_4bit: true\n"
    found = facts(nested)
    assert (found["framework"], found["dtype"], found["attention"]) == ("openrlhf", "fp16", "eager")
    assert found["quantization"] == "4bit"
    default = facts("ds:\n  zero_stage: 3\n")
    assert (default["dtype"], default["attention"]) == ("bf16", "flash_attention_2")
    older = facts("pretrain: m\nzero_stage: 3\nmax_len: 2048\nbf16: true\nflash_attn: true\n")
    assert (older["dtype"], older["attention"]) == ("bf16", "flash_attention_2")
    without = facts("pretrain: m\nzero_stage: 3\nmax_len: 2048\nbf16: true\n")
    assert "attention" not in without


def test_arguments_of_vllm() -> None:
    text = (
        "model: m\ntensor-parallel-size: 2\nmax-model-len: 8192\ndtype: half\n"
        "attention-backend: FLASHINFER\nkv-cache-dtype: fp8\nquantization: awq\n"
    )
    assert facts(text) == {
        "attention": "FLASHINFER", "dtype": "fp16", "framework": "vllm", "kv_cache_dtype": "fp8",
        "model": "m", "purpose": "inference", "quantization": "awq", "weights_dtype": "fp16",
    }  # fmt: skip
    assert facts(text.replace("FLASHINFER", "flashinfer"))["attention"] == "FLASHINFER"
    assert "attention" not in facts(text.replace("FLASHINFER", "auto"))
    nested = "model: m\ngpu_memory_utilization: 0.9\nattention_config: {backend: TRITON_ATTN}\n"
    assert facts(nested)["attention"] == "TRITON_ATTN"


def test_arguments_of_sglang() -> None:
    text = "model-path: m\ntp-size: 2\nattention-backend: fa3\ndtype: float16\n"
    found = facts(text)
    assert (found["framework"], found["attention"], found["dtype"]) == ("sglang", "fa3", "fp16")


def test_places_and_words_of_the_file() -> None:
    [found] = [i for i in read(AXOLOTL + "flash_attention: true\n").intents if "2" in str(i.value)]
    assert (str(found.place), found.written) == ("train.yaml:6:1", "flash_attention: true")


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("base_model: m\ndatasets: [\n", r"train\.yaml:\d"),
        ("base_model: !!python/object:os.system x\ndatasets: 1\n", r"train\.yaml:1"),
    ],
)
def test_what_is_malformed_is_refused_with_its_place(text: str, problem: str) -> None:
    with pytest.raises(InputError, match=problem):
        read(text)
