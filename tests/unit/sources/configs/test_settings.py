"""Keys by a table: of frameworks without a reader of their own, and of any file."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from fadoctor.model.errors import UnknownKindError
from fadoctor.sources.configs.reading import read_configurations
from tests.unit.sources.configs.read import UNREAD, facts, read

if TYPE_CHECKING:
    from pathlib import Path


ONETRAINER = """{"training_method": "LORA", "model_type": "FLUX_DEV_1", "base_model_name": "b",
"train_dtype": "BFLOAT_16", "weight_dtype": "FLOAT_32", "transformer": {"weight_dtype": "NFLOAT_4"}}
"""


DIFFUSION_PIPE = """pipeline_stages = 1
[model]
type = 'wan'
dtype = 'float16'
transformer_dtype = 'float8'
[adapter]
dtype = 'float32'
"""

QLORA_PIPE = """lora_rank = 4
model_weight_dtype = 'bfloat16'
lora_weight_dtype = 'float32'
"""


@pytest.mark.parametrize(
    ("name", "text", "framework", "dtype"),
    [
        ("a.yaml", "checkpoint_dir: x\nout_dir: y\nprecision: bf16-true\n", "litgpt", "bf16"),
        ("a.yaml", "max_seq_len: 1\nfsdp_config: {}\nprecision: amp_fp16\n", "llm-foundry", "fp16"),
        ("a.yaml", "model: {dtype: float16, model_config: {}}\nparallelism: {dp: 1}\n", "nanotron",
         "fp16"),
        ("a.yaml", "trainer: {precision: bf16-mixed, accelerator: gpu}\n", "lightning", "bf16"),
        ("a.toml", 'network_module = "x"\noutput_name = "o"\nmixed_precision = "bf16"\n', "kohya",
         "bf16"),
        ("a.yml", "pipe-parallel-size: 1\nnum-layers: 2\nfp16: {enabled: true}\n", "gpt-neox",
         "fp16"),
        ("a.json", ONETRAINER, "onetrainer", "bf16"),
        ("a.toml", DIFFUSION_PIPE, "diffusion-pipe", "fp16"),
        ("a.toml", QLORA_PIPE, "qlora-pipe", "bf16"),
        ("a.toml", "[trainer.model]\noptimization_dtype = 'float32'\n[orchestrator]\n[inference]\n",
         "prime-rl", "bf16"),
        ("a.toml", "[trainer.model]\nattn = 'sdpa'\n[orchestrator]\n[inference]\n", "prime-rl",
         "bf16"),
    ],
)  # fmt: skip
def test_frameworks_by_their_keys(name: str, text: str, framework: str, dtype: str) -> None:
    found = facts((name, text))
    assert (found["framework"], found["dtype"]) == (framework, dtype)


def test_any_file_whose_keys_mean_the_same_everywhere() -> None:
    text = "lr: 1\nnet:\n  - attn_implementation: sdpa\n    torch_dtype: torch.bfloat16\n"
    found = read(text)
    assert found.kind == "settings"
    assert found.notes == ("train.yaml: recognised: lines 3, 4",)
    assert facts(text)["weights_dtype"] == "bf16"
    assert facts(text)["attention"] == "sdpa"


@pytest.mark.parametrize(
    "text", ["precision: 4\n", "dtype: int8\n", "use_flash_attn: maybe\n", "a: 1\n"]
)
def test_what_is_none_of_the_words_says_nothing(text: str, tmp_path: object) -> None:
    file = f"{tmp_path}/x.yaml"
    with open(file, "w", encoding="utf-8") as opened:  # noqa: PTH123
        opened.write(text)
    with pytest.raises(UnknownKindError, match="fadoctor found no setting in it"):
        read_configurations([file])


def test_a_variable_leaves_it_open() -> None:
    assert facts("precision: ${P}\n")["dtype"] == UNREAD


def test_float32_weights_may_run_under_autocast() -> None:
    assert facts("torch_dtype: float32\n")["dtype"] == UNREAD


def test_a_switch_that_is_off_is_recognised() -> None:
    assert read("use_flash_attn: false\n").notes == ("train.yaml: recognised: line 1",)
    assert "attention" not in facts("use_flash_attn: false\n")


def test_a_value_that_refers_to_another_key() -> None:
    text = "trainer: {precision: bf16-mixed}\nnet:\n  precision: ${trainer.precision}\n"
    assert facts(text)["autocast"] == "bf16"
    assert facts("net:\n  precision: ${a.b}\n")["autocast"] == UNREAD


def test_what_is_saved_is_not_what_is_computed() -> None:
    text = "save: {dtype: float16}\ntrain:\n  dtype: bf16\n"
    assert facts(text)["weights_dtype"] == "bf16"


@pytest.mark.parametrize(
    ("text", "name", "value"),
    [
        ("bf16_unet: true\n", "weights_dtype", "bf16"),
        ("xformers: true\n", "attention", "xformers"),
        ("optimization_dtype: bfloat16\n", "weights_dtype", "bf16"),
        ("amp_dtype: float16\n", "autocast", "fp16"),
        ("flash_attn: true\n", "attention", "flash_attention_2"),
        ("sage_attn: true\n", "attention", "sageattention"),
        ("attn_mode: sageattn\n", "attention", "sageattention"),
        ("attn_mode: FLASH\n", "attention", "flash_attention_2"),
    ],
)
def test_keys_of_any_file(text: str, name: str, value: str) -> None:
    assert facts(text)[name] == value


@pytest.mark.parametrize(
    ("layers", "attention"),
    [('[[["flash"], 16]]', "flash_attention_2"), ('[[["global"], 16]]', None)],
)
def test_the_layers_of_gpt_neox_name_their_attention(layers: str, attention: str | None) -> None:
    text = (
        f'{{"num-layers": 16, "attention-config": {layers}, "zero_optimization": {{"stage": 1}},\n'
    )
    text += '"pipe-parallel-size": 1, "fp16": {"enabled": true}}'
    found = facts(("neox.yml", text))
    assert (found["framework"], found.get("attention")) == ("gpt-neox", attention)


def test_the_weights_of_a_pipeline_and_of_its_adapter() -> None:
    text = (
        "model_weight_dtype = 'bfloat16'\nlora_weight_dtype = 'bfloat16'\nlora_rank = 4\nlr = 1\n"
    )
    found = facts(("c.toml", text))
    assert (found["framework"], found["weights_dtype"]) == ("qlora-pipe", "bf16")


@pytest.mark.parametrize(
    ("text", "name", "value"),
    [
        ("dtype: bfloat16\ntransformer_dtype: float8\n", "dtype", "bf16"),
        ("dtype: bfloat16\nadapter: {dtype: float32}\n", "dtype", "bf16"),
        ("dtype: bfloat16\nlora_weight_dtype: ${L}\n", "dtype", "bf16"),
        ("transformer_dtype: float8\n", "dtype", UNREAD),
        ("lora_weight_dtype: float16\n", "weights_dtype", "fp16"),
        ("dtype: float32\nmixed_precision_param: bfloat16\n", "dtype", "bf16"),
        ("dtype: float32\nmixed_precision_param: float32\n", "dtype", UNREAD),
    ],
)
def test_weights_that_are_only_kept_do_not_decide(text: str, name: str, value: str) -> None:
    assert facts(text)[name] == value


def test_keys_that_are_written_as_options() -> None:
    assert (
        facts(("m.yaml", "MODEL_ARGS:\n  --num-layers: 2\n  --bf16: true\n"))["autocast"] == "bf16"
    )


@pytest.mark.parametrize(
    ("text", "framework"),
    [
        ("defaults: ../base.yaml\ngrpo: {}\npolicy: {dtensor_cfg: {x: 1}}\n", "nemo-rl"),
        ("trainer: {devices: auto, max_epochs: 2}\nmodel: {class_path: x}\n", "lightning"),
    ],
)
def test_a_known_framework_whose_keys_say_nothing_is_read(
    tmp_path: Path, text: str, framework: str
) -> None:
    file = tmp_path / "a.yaml"
    file.write_text(text)
    [found] = read_configurations([str(file)])
    assert found.notes == (
        f"{file}: of {framework}; none of its keys names a dtype or an attention",
    )
    names = {each.name: each.value for each in found.intents}
    assert names["config.framework"] == framework


def test_short_names_of_flash_attention() -> None:
    assert facts("model_args: {attn_implementation: fa2}\n")["attention"] == "flash_attention_2"


@pytest.mark.parametrize(
    ("text", "name", "value"),
    [
        ("policy_dtype: bfloat16\n", "weights_dtype", "bf16"),
        (
            "training: {mixed_precision: true, mixed_precision_dtype: bfloat16}\n",
            "autocast",
            "bf16",
        ),
        ("flash_attention_2: true\n", "attention", "flash_attention_2"),
    ],
)
def test_keys_of_trainers_without_a_reader(text: str, name: str, value: str) -> None:
    assert facts(text)[name] == value


def test_a_precision_of_storage_is_known_and_decides_nothing() -> None:
    text = "precision: float8_e4m3fn\n"
    assert read(text).notes == ("train.yaml: recognised: line 1",)
    assert not facts(text).keys() & {"autocast", "weights_dtype"}


def test_an_autocast_in_float32_is_none() -> None:
    assert "autocast" not in facts("amp_dtype: float32\nattn_mode: flash\n")


def test_a_switch_with_a_name_says_nothing() -> None:
    assert "attention" not in facts("flash_attn: fa9\namp_dtype: float16\n")


def test_a_script_with_a_loop_of_its_own_is_no_trainer() -> None:
    """It shares some arguments with a trainer, and has the precision of accelerate."""
    found = facts(
        "output_dir: lora\ngradient_accumulation_steps: 2\nmax_train_steps: 9\n"
        'mixed_precision: "bf16"\n'
    )
    assert found["dtype"] == "bf16"


def test_the_attention_of_a_latent_diffusion_is_recognised() -> None:
    text = "model: {params: {network_config: {spatial_transformer_attn_type: softmax-xformers}}}\n"
    assert read(text).kind == "settings"
