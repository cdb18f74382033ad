"""One fault each, in scripts and in the words of each framework, and the neighbour without it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import msgspec
import pytest

from fadoctor.judging.engine.judge import judge
from fadoctor.knowledge.matrix.load import load_knowledge
from fadoctor.model.environment import Environment
from fadoctor.model.fact import Absent, Fact, Known
from fadoctor.sources.configs.join import apply_configurations
from tests.unit.sources.configs.read import read

if TYPE_CHECKING:
    from fadoctor.model.finding import Finding

HEALTHY = Path(__file__).parents[3] / "golden" / "linux-a100-healthy" / "facts.json"
V100 = {"gpu[0].compute_capability": "7.0", "gpu[0].name": "Tesla V100-SXM2-16GB"}
T4 = {"gpu[0].compute_capability": "7.5", "gpu[0].name": "Tesla T4", "vllm.version": "0.9.2"}


def judged(file: str, text: str, changed: dict[str, str | None]) -> list[Finding]:
    """Return what a configuration adds to the findings about a machine."""
    found = msgspec.json.decode(HEALTHY.read_bytes(), type=Environment)
    facts: dict[str, Fact] = {
        name: Absent("a test") if value is None else Known(value, "a test")
        for name, value in changed.items()
    }
    machine = msgspec.structs.replace(found, facts={**found.facts, **facts})
    knowledge = load_knowledge()
    before = {each.fingerprint for each in judge(machine, knowledge).findings}
    asked = apply_configurations(machine, [read(text, file)])
    found_now = judge(asked, knowledge).findings
    return [each for each in found_now if each.fingerprint not in before]


def without(prefix: str) -> dict[str, str | None]:
    """Return the changes that take a package away."""
    found = msgspec.json.decode(HEALTHY.read_bytes(), type=Environment)
    return {name: None for name in found.facts if name.startswith(f"{prefix}.")}


HF = "import torch\nfrom transformers import *\nfrom peft import LoraConfig\n"
LOAD = HF + "m = AutoModelForCausalLM.from_pretrained('x', {})\n"
FA2 = "attn_implementation='flash_attention_2'"
QLORA = "quantization_config=BitsAndBytesConfig(load_in_4bit=True), " + FA2
TRAINER = "from transformers import Trainer\nTrainer({})\n"
VLLM = "from vllm import LLM\nLLM('m', attention_backend='{}')\n"
VERL = "python -m verl.trainer.main_ppo "
SDPA = "+actor_rollout_ref.model.override_config.attn_implementation=sdpa\n"
OPENRLHF = "deepspeed --module openrlhf.cli.train_sft "
TRAIN = "TrainingArguments('o', {})\n"
DORA = (
    LOAD.format(QLORA)
    + "LoraConfig(use_dora=True, target_modules={})\n"
    + TRAIN.format("bf16=True")
)
SINKS = "export VLLM_ATTENTION_BACKEND=FLASH_ATTN\n"
SGLANG = "python -m sglang.launch_server --model-path m --attention-backend "
AXOLOTL = "base_model: m\ndatasets: [{path: d}]\nbf16: true\n"
SWIFT = "swift sft --model m --torch_dtype bfloat16 "

FAULTS: list[tuple[str, str, str, str, dict[str, str | None]]] = [
    # rule, file, fault, neighbour, machine
    ("precision-flags-both", "a.py", HF + TRAIN.format("bf16=True, fp16=True"),
     HF + TRAIN.format("bf16=True"), {}),
    ("trainer-argument-unknown", "a.py", TRAINER.format("model=m, bf16=True"),
     TRAINER.format("model=m"), {}),
    ("default-dtype-half", "a.py",
     "import torch\ntorch.set_default_dtype(torch.bfloat16)\nloss.backward()\n",
     "import torch\ntorch.set_default_dtype(torch.float32)\nloss.backward()\n", {}),
    ("hf-attn-impl-typo", "a.py", LOAD.format("attn_implementation='flash_attn_2'"),
     LOAD.format("attn_implementation='sdpa'"), {}),
    ("dtype-fp32-into-fa2", "a.py",
     LOAD.format("dtype=torch.float32, " + FA2) + "m.generate()\n",
     LOAD.format("dtype=torch.bfloat16, " + FA2) + "m.generate()\n", {}),
    ("dtype-fp32-into-fa2", "a.py",
     LOAD.format("dtype=torch.float32, " + FA2) + TRAIN.format("bf16=False, fp16=False"),
     LOAD.format("dtype=torch.float32, " + FA2) + TRAIN.format("bf16=True"), {}),
    ("dora-fp32-promotion", "a.py", DORA.format("['k_proj', 'v_proj']"),
     DORA.format("['k_proj', 'v_proj']").replace("use_dora=True", "use_dora=False"), {}),
    ("hf-fa2-not-installed", "a.py", LOAD.format(FA2),
     LOAD.format("attn_implementation='sdpa'"), without("flash_attn")),
    ("gpu-too-old-fa2", "a.py", LOAD.format(FA2), LOAD.format("attn_implementation='sdpa'"),
     {**without("flash_attn"), **V100}),
    ("bf16-unsupported-gpu", "a.py", HF + TRAIN.format("bf16=True"), HF + TRAIN.format("fp16=True"),
     dict(V100)),
    ("hf-tf32-unsupported", "a.py", HF + TRAIN.format("tf32=True"), HF + TRAIN.format("tf32=False"),
     dict(V100)),
    ("vllm-backend-unknown", "serve.py", VLLM.format("FLASH"),
     VLLM.format("FLASHINFER"), {"vllm.version": "0.11.0"}),
    ("vllm-backend-unknown", "run.sh", "vllm serve m --attention-backend FLASH\n",
     "vllm serve m --attention-backend FLASHINFER\n", {"vllm.version": "0.11.0"}),
    ("vllm-backend-deprecated", "run.sh",
     "export VLLM_ATTENTION_BACKEND=FLASHINFER\nvllm serve m\n",
     "vllm serve m --attention-backend FLASHINFER\n", {"vllm.version": "0.13.0"}),
    ("vllm-backend-deprecated", "Dockerfile",
     "FROM x\nENV VLLM_ATTENTION_BACKEND=FLASHINFER\nCMD vllm serve m\n",
     "FROM x\nCMD vllm serve m\n", {"vllm.version": "0.13.0"}),
    ("fp8-unsupported-gpu", "a.yaml", AXOLOTL + "fp8: true\n", AXOLOTL, {}),
    ("hf-attn-impl-typo", "a.yaml", AXOLOTL + "attn_implementation: flash_attn\n",
     AXOLOTL + "attn_implementation: xformers\n", {}),
    ("hf-fa2-not-installed", "a.yaml", AXOLOTL + "flash_attention: true\n",
     AXOLOTL + "sdp_attention: true\n", without("flash_attn")),
    ("hf-fa2-not-installed", "a.sh", SWIFT + "--attn_impl flash_attn\n",
     SWIFT + "--attn_impl sdpa\n", without("flash_attn")),
    ("precision-flags-both", "a.sh", SWIFT + "--bf16 true --fp16 true\n",
     SWIFT + "--bf16 true\n", {}),
    ("hf-fa2-not-installed", "a.sh", VERL + "a.b=c\n",
     VERL + SDPA, without("flash_attn")),
    ("hf-fa2-not-installed", "a.sh", OPENRLHF + "--ds.zero_stage 3\n",
     OPENRLHF + "--ds.attn_implementation eager\n",
     without("flash_attn")),
    ("bf16-unsupported-gpu", "recipe.yaml",
     "model: {_component_: torchtune.models.x.y}\noptimizer: {}\ndtype: bf16\n",
     "model: {_component_: torchtune.models.x.y}\noptimizer: {}\ndtype: fp32\n", dict(V100)),
    ("vllm-attention-option-missing", "serve.py", VLLM.format("FLASH_ATTN"),
     "from vllm import LLM\nLLM('m')\n", {"vllm.version": "0.8.5"}),
    ("vllm-sinks-need-fa3", "run.sh", SINKS + "vllm serve openai/gpt-oss-20b\n",
     SINKS + "vllm serve Qwen/Qwen3-8B\n", {"vllm.version": "0.11.0"}),
    ("sglang-backend-unsupported", "run.sh", SGLANG + "fa3\n", SGLANG + "flashinfer\n",
     {"sglang.version": "0.5.3", "gpu[0].compute_capability": "12.0"}),
    ("hf-fa2-not-installed", "run.bat", "python main.py --use-flash-attention\n",
     "python main.py --use-pytorch-cross-attention\n", without("flash_attn")),
    ("hf-fa2-not-installed", "a.py", LOAD.format("attn_implementation='flash_attention_3'"),
     LOAD.format("attn_implementation='sdpa'"),
     {"flash_attn_3.version": None, "kernels.version": None, "transformers.version": "4.57.1"}),
]  # fmt: skip


@pytest.mark.parametrize(
    ("rule", "file", "fault", "changed"),
    [(rule, file, fault, changed) for rule, file, fault, _, changed in FAULTS],
)
def test_a_fault_is_found_where_it_stands(
    rule: str, file: str, fault: str, changed: dict[str, str | None]
) -> None:
    found = [each for each in judged(file, fault, changed) if each.rule_id == rule]
    assert found
    assert {place.file for each in found for place in each.locations} == {file}


@pytest.mark.parametrize(
    ("rule", "file", "neighbour", "changed"),
    [(rule, file, neighbour, changed) for rule, file, _, neighbour, changed in FAULTS],
)
def test_its_neighbour_has_none(
    rule: str, file: str, neighbour: str, changed: dict[str, str | None]
) -> None:
    assert rule not in [each.rule_id for each in judged(file, neighbour, changed)]


@pytest.mark.parametrize(
    "text",
    [
        "export VLLM_ATTENTION_BACKEND=FLASH_ATTN\nvllm serve m\n",
        "VLLM_ATTENTION_BACKEND=FLASH_ATTN vllm serve m --dtype half\n",
    ],
)
def test_a_backend_that_a_t4_does_not_have(text: str) -> None:
    found = judged("serve.sh", text, dict(T4))
    assert any("FLASH_ATTN" in each.message or "vllm" in each.rule_id for each in found), found


def test_what_a_script_computes_is_unknown_and_no_finding() -> None:
    text = LOAD.format("dtype=pick(), attn_implementation=pick()") + TRAIN.format("bf16=pick()")
    machine = {**without("flash_attn"), **V100}
    assert [e.rule_id for e in judged("a.py", text, machine) if e.severity.value == "error"] == []


AUTO = "base_model: m\ndatasets: [{path: d}]\nbf16: auto\n"


@pytest.mark.parametrize(
    ("cc", "torch", "is_told"),
    [("7.5", "2.6.0", True), ("7.5", "2.2.0", False), ("8.0", "2.6.0", False)],
)
def test_auto_is_bfloat16_where_torch_counts_emulation(cc: str, torch: str, is_told: bool) -> None:  # noqa: FBT001
    machine = {"gpu[0].compute_capability": cc, "torch.version": torch}
    found = [
        each
        for each in judged("a.yaml", AUTO, dict(machine))
        if each.rule_id == "bf16-unsupported-gpu"
    ]
    assert [place.line for each in found for place in each.locations] == [3] * is_told
