"""``--config``: the run that is meant, judged with the environment before anything runs."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

GOLDEN = Path(__file__).parents[1] / "golden"
A100 = str(GOLDEN / "linux-a100-healthy" / "facts.json")

Told = dict[str, dict[str, Any]]
"""Rule id -> finding."""


@pytest.fixture
def told(check: Callable[..., Any], tmp_path: Path) -> Callable[..., Told]:
    """Return what is found of some files, beside the healthy A100 with overlays and other facts."""

    def tell(
        files: Mapping[str, str], *arguments: str, facts: Mapping[str, str | None] = {}
    ) -> Told:
        saved = json.loads(Path(A100).read_text(encoding="utf-8"))
        for name, value in facts.items():
            saved["facts"][name] = (
                {"state": "absent", "source": "a test"}
                if value is None
                else {"state": "known", "value": value, "source": "a test"}
            )
        environment = tmp_path / "facts.json"
        environment.write_text(json.dumps(saved), encoding="utf-8")
        options: list[str] = []
        for name, text in files.items():
            (tmp_path / name).write_text(text, encoding="utf-8")
            options += ["--config", str(tmp_path / name)]
        report = check("--facts", str(environment), *options, *arguments)
        return {finding["rule_id"]: finding for finding in report["findings"]}

    return tell


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


def errors(found: Told) -> list[str]:
    return sorted(name for name, each in found.items() if each["severity"] == "error")


def settings(finding: dict[str, Any]) -> str:
    """Return the settings of the first fix, in the words of the framework."""
    return "; ".join(step["text"] for step in finding["fixes"][0]["steps"])


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


# What else configurations get wrong

TRAINER = "output_dir: out\nper_device_train_batch_size: 1\nmodel_name_or_path: Qwen/Qwen2.5-7B\n"


@pytest.mark.sampled
@pytest.mark.parametrize(
    ("text", "arguments", "facts", "rule", "severity"),
    [
        ("bf16: true\nfp16: true\n", (), {}, "precision-flags-both", "error"),
        ("tf32: true\n", ("--gpu", "V100"), {}, "hf-tf32-unsupported", "error"),
        ("attn_implementation: flash_attn_2\n", (), {}, "hf-attn-impl-typo", "error"),
        ("bf16: true\n", ("--gpu", "T4"), {}, "bf16-unsupported-gpu", "warning"),
        (
            "attn_implementation: flash_attention_2\nbf16: true\n",
            (),
            {"flash_attn.version": None},
            "hf-fa2-not-installed",
            "error",
        ),
        (
            "attn_implementation: flash_attention_2\nfp16: true\n",
            ("--gpu", "T4"),
            {"flash_attn.version": None},
            "gpu-too-old-fa2",
            "error",
        ),
        (
            "attn_implementation: flash_attention_2\ntorch_dtype: float32\nbf16: false\n",
            (),
            {},
            "dtype-fp32-into-fa2",
            "error",
        ),
        (
            "attn_implementation: flash_attention_2\ntorch_dtype: float32\nbf16: true\n",
            (),
            {},
            "fa2-init-dtype-warning",
            "note",
        ),
        ("model_init_kwargs: {torch_dtype: bfloat16}\n", (), {}, "hf-dtype-keyword", "note"),
        (
            "model_init_kwargs: {dtype: bfloat16}\n",
            (),
            {"transformers.version": "4.51.3"},
            "hf-dtype-keyword",
            "error",
        ),
    ],
)
def test_one_fault_each(
    told: Callable[..., Told],
    *,
    text: str,
    arguments: tuple[str, ...],
    facts: dict[str, str | None],
    rule: str,
    severity: str,
) -> None:
    found = told({"args.yaml": TRAINER + text}, *arguments, facts=facts)
    assert (rule, severity) in {(name, each["severity"]) for name, each in found.items()}
    assert found[rule]["locations"][0]["file"].endswith("args.yaml")


@pytest.mark.parametrize(
    "text",
    [
        "attn_implementation: flash_attention_2\nbf16: true\n",
        "attn_implementation: flash_attention_2\ntorch_dtype: bfloat16\nbf16: true\ntf32: true\n",
        "attn_implementation: sdpa\nfp16: true\n",
        "attn_implementation: kernels-community/flash-attn2\nbf16: true\n",
        "packing: true\nattn_implementation: flash_attention_2\n",
        "bf16: true\nload_in_4bit: true\nuse_dora: true\nattn_implementation: sdpa\n",
        "model_init_kwargs: {dtype: bfloat16}\nbf16: true\n",
    ],
)
def test_what_is_right_is_not_spoken_of(told: Callable[..., Told], text: str) -> None:
    assert told({"args.yaml": TRAINER + text, "config.json": MODEL}) == {}


@pytest.mark.parametrize(
    ("name", "text", "line"),
    [
        (
            "a.yaml",
            "base_model: m\ndatasets: []\nsequence_len: 8\nflash_attention: true\nfp16: true\n",
            "axolotl: attn_implementation: sdpa, fp16: true, bf16: false",
        ),
        (
            "s.yaml",
            "model: m\ntrain_type: lora\nattn_impl: flash_attn\ntorch_dtype: float16\n",
            "ms-swift: attn_impl: sdpa, torch_dtype: float16",
        ),
        (
            "lf.yaml",
            LLAMAFACTORY.format(way="lora", attention="fa2") + "fp16: true\n",
            "LLaMA-Factory: flash_attn: sdpa, fp16: true, bf16: false",
        ),
    ],
)
def test_a_fix_speaks_as_the_file_does(
    told: Callable[..., Told], name: str, text: str, line: str
) -> None:
    found = told({name: text}, "--gpu", "T4")
    assert settings(found["gpu-too-old-fa2"]) == line


def test_heads_that_are_too_wide(told: Callable[..., Told]) -> None:
    wide = json.dumps({**json.loads(MODEL), "head_dim": 512})
    run = TRAINER + "attn_implementation: flash_attention_2\nbf16: true\n"
    found = told({"args.yaml": run, "config.json": wide})
    assert errors(found) == ["headdim-limit"]
    names = {Path(at["file"]).name for at in found["headdim-limit"]["locations"]}
    assert names == {"args.yaml", "config.json"}


def test_files_that_disagree(told: Callable[..., Told]) -> None:
    launch = "distributed_type: FSDP\nnum_processes: 8\nmixed_precision: fp16\n"
    found = told({"args.yaml": TRAINER + "bf16: true\n", "accelerate.yaml": launch})
    assert list(found) == ["config-files-disagree"]
    assert len(found["config-files-disagree"]["locations"]) == 2


def test_a_variable_of_the_shell_is_an_intent(check: Callable[..., Any], tmp_path: Path) -> None:
    saved = json.loads(Path(A100).read_text(encoding="utf-8"))
    added = {"vllm.version": "0.9.2", "vllm.distribution": "vllm",
             "env.VLLM_ATTENTION_BACKEND": "FLASH_ATTN"}  # fmt: skip
    for name, value in added.items():
        saved["facts"][name] = {"state": "known", "value": value, "source": "a test"}
    (tmp_path / "facts.json").write_text(json.dumps(saved), encoding="utf-8")
    report = check("--facts", str(tmp_path / "facts.json"), "--gpu", "T4")
    [finding] = [f for f in report["findings"] if f["rule_id"] == "vllm-backend-fallback-turing"]
    assert (finding["severity"], finding["subject"]) == ("warning", "gpu[0]")


@pytest.mark.long
def test_text_names_the_line_and_facts_keep_it(run: Callable[..., Any], tmp_path: Path) -> None:
    file = tmp_path / "train.yaml"
    file.write_text(LLAMAFACTORY.format(way="full", attention="fa2"), encoding="utf-8")
    options = ("--facts", A100, "--config", str(file))
    shown = run("check", "--no-smoke", *options)
    assert shown.returncode == 1
    assert f"at {file}:7:1" in shown.stdout
    saved = run("facts", *options)
    again = tmp_path / "again.json"
    again.write_text(saved.stdout, encoding="utf-8")
    replayed = run("check", "--no-smoke", "--facts", str(again))
    assert f"at {file}:7:1" in replayed.stdout


def test_a_file_that_is_named_in_another_is_asked_for(
    check: Callable[..., Any], tmp_path: Path
) -> None:
    file = tmp_path / "args.yaml"
    file.write_text(TRAINER + "bf16: true\ndeepspeed: ds.json\n", encoding="utf-8")
    other = tmp_path / "other" / "ds.json"
    other.parent.mkdir()
    other.write_text(DEEPSPEED.format(bf16="true"), encoding="utf-8")
    for more, is_asked_for in (((), True), (("--config", str(other)), False)):
        report = check("--facts", A100, "--config", str(file), *more)
        asked = any("ds.json is named in it" in note for note in report["notes"])
        assert asked is is_asked_for


def test_a_file_that_is_named_and_lies_beside_is_read(
    check: Callable[..., Any], tmp_path: Path
) -> None:
    file = tmp_path / "args.yaml"
    file.write_text(TRAINER + "bf16: true\ndeepspeed: ds.json\n", encoding="utf-8")
    (tmp_path / "ds.json").write_text(DEEPSPEED.format(bf16="true"), encoding="utf-8")
    notes = check("--facts", A100, "--config", str(file))["notes"]
    assert any("ds.json, which it names, is read with it" in note for note in notes)


@pytest.mark.parametrize(
    ("name", "text", "problem"),
    [
        ("train.yaml", "stage: sft\nbf16: [true\n", "train.yaml:3: not valid YAML"),
        ("ds.json", '{"bf16": {"enabled": tru}}', "ds.json:1 at `bf16.enabled`: not valid JSON"),
        ("train.yaml", "a: !!python/name:os.system\n", "train.yaml:1 at `a`: the tag"),
        ("notes.yaml", "hello: world\n", "fadoctor found no setting in it"),
    ],
)
def test_a_malformed_file_ends_with_2(
    run: Callable[..., Any], tmp_path: Path, name: str, text: str, problem: str
) -> None:
    (tmp_path / name).write_text(text, encoding="utf-8")
    result = run("check", "--no-smoke", "--facts", A100, "--config", str(tmp_path / name))
    assert result.returncode == 2
    assert problem in result.stderr
    assert result.stdout == ""


def test_a_kind_without_a_file_is_wrong_usage(run: Callable[..., Any]) -> None:
    result = run("check", "--no-smoke", "--facts", A100, "--config-kind", "deepspeed")
    assert result.returncode == 2
    assert "--config-kind needs --config" in result.stderr
