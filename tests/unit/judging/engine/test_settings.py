"""What frameworks are told: each in its own words, those of its release, and only those at work."""

from __future__ import annotations

import pytest

from fadoctor.judging.engine.fixes import steps_of
from fadoctor.judging.engine.scope import Scope
from fadoctor.judging.engine.settings import (
    OWN_OPTIONS,
    named_frameworks,
    setting_steps,
    shown_frameworks,
)
from fadoctor.knowledge.matrix.load import load_knowledge
from fadoctor.knowledge.matrix.query import Matrix
from fadoctor.model.environment import OF_A_LOG, Environment, Target
from fadoctor.model.fact import Fact, Known
from fadoctor.model.rule import StepTemplate

MATRIX = Matrix(load_knowledge().tables)
WANTED = {"attention": "sdpa", "dtype": "fp16"}


def lines(*shown: str, kind: str = "facts", **facts: str) -> list[str]:
    known: dict[str, Fact] = {
        name.replace("__", "."): Known(value, "test") for name, value in facts.items()
    }
    environment = Environment("0", Target(kind, "test", "test"), known)
    return [step.text for step in setting_steps(WANTED, environment, MATRIX, shown)]


@pytest.mark.parametrize(
    ("version", "line"),
    [
        ("4.37.2", 'attn_implementation="sdpa", torch_dtype=torch.float16'),
        ("4.55.4", 'attn_implementation="sdpa", torch_dtype=torch.float16'),
        ("4.56.0", 'attn_implementation="sdpa", dtype=torch.float16'),
        ("5.23.0", 'attn_implementation="sdpa", dtype=torch.float16'),
        ("4.35.0", "use_flash_attention_2=False, torch_dtype=torch.float16"),
    ],
)
def test_the_words_of_a_release(version: str, line: str) -> None:
    assert lines(transformers__version=version) == [f"transformers: {line}"]


def test_a_text_without_a_release_gets_the_words_of_all() -> None:
    """Older releases refuse the newer words."""
    assert lines("axolotl", kind=OF_A_LOG) == [
        "axolotl: sdp_attention: true, flash_attention: false, fp16: true, bf16: false"
    ]
    assert lines(kind=OF_A_LOG)[-1].endswith('"sdpa", torch_dtype=torch.float16')
    assert lines(kind=OF_A_LOG, transformers__version="4.57.1")[-1].endswith(" dtype=torch.float16")


def test_options_of_a_program_are_advised_for_torchs_attention_alone() -> None:
    """Who was told to turn flash attention on was told to choose torch's own first."""
    world = Environment("0", Target(OF_A_LOG, "test", "test"), {})
    told = {
        name: [step.text for step in setting_steps({"attention": name}, world, MATRIX, ())]
        for name in ("sdpa", "fa2", "eager")
    }
    assert [OWN_OPTIONS in texts for texts in told.values()] == [True, False, False]
    assert all(told.values())


def test_an_option_of_its_own_names_a_framework() -> None:
    assert named_frameworks(["swift sft --attn_impl flash_attn"], MATRIX) == ("ms-swift",)
    assert named_frameworks(["--attn_implementation sdpa"], MATRIX) == ()


def told(settings: dict[str, str], *shown: str) -> list[str]:
    world = Environment("0", Target(OF_A_LOG, "test", "test"), {})
    return [step.text for step in setting_steps(settings, world, MATRIX, shown)]


def test_a_program_is_told_in_its_own_words_what_is_no_fact() -> None:
    """No more than which attention and dtype was said in the words of a program."""
    assert told({"compile": "off"}, "nanogpt") == ["nanoGPT: --compile=False"]
    assert told({"device": "cpu"}, "fastchat") == ["FastChat: --device cpu"]
    assert not told({"compile": "off"})


def test_of_a_program_that_is_read_in_part_a_missing_line_says_nothing() -> None:
    assert OWN_OPTIONS in told({"attention": "sdpa"}, "lightllm")
    assert told({"dtype": "fp16"}, "lightllm") == ["LightLLM: --data_type float16"]


@pytest.mark.parametrize(
    ("line", "wanted"),
    [
        ("nnUNetv2_train 4 3d_fullres 0", ("nnunet",)),
        ("nnunetv2  2.5.1", ()),
        ("I searched [bugs](https://example.org/owner/axolotl/labels/bug)", ("axolotl",)),
        ("as in https://example.org/owner/axolotl/issues/17", ()),
    ],
)
def test_a_command_and_the_form_of_a_report_name_a_program(
    line: str, wanted: tuple[str, ...]
) -> None:
    assert named_frameworks([line], MATRIX) == wanted


def test_a_configuration_says_whose_words_count() -> None:
    facts = {"config__framework": "llamafactory", "transformers__version": "4.57.1"}
    assert lines(**facts) == ["LLaMA-Factory: flash_attn: sdpa, fp16: true, bf16: false"]


def test_vllm_chooses_its_attention_itself() -> None:
    assert lines(config__framework="vllm") == ["vLLM: --dtype half"]


@pytest.mark.parametrize(
    ("log", "wanted"),
    [
        ("/src/llamafactory/train/tuner.py in transformers/trainer.py", "LLaMA-Factory"),
        ("site-packages/vllm/worker.py", "vLLM"),
        (r"C:\\v\\Lib\\site-packages\\unsloth\\trainer.py in transformers\\trainer.py", "unsloth"),
        ("/w/verl/workers/fsdp_workers.py in vllm/worker.py", "verl"),
        ("/src/axolotl/cli/train.py in transformers/trainer.py", "axolotl"),
        ("site-packages/swift/llm/train/sft.py in transformers/trainer.py", "ms-swift"),
        ("sglang/srt/model_executor/model_runner.py in vllm/layers.py", "SGLang"),
        (r"D:\comfy\ldm\modules\attention.py in diffusers/models/a.py", "ComfyUI"),
        ("modules/transformers_modules/Qwen/modeling_qwen.py", "the model's own code"),
        ("site-packages/transformers/trainer.py", "transformers"),
    ],
)
def test_a_log_shows_which_framework_is_at_work(log: str, wanted: str) -> None:
    assert [line.partition(":")[0] for line in lines(*shown_frameworks(log, MATRIX))] == [wanted]


def test_where_nobody_knows_those_are_named_that_have_all_of_it() -> None:
    assert [line.partition(":")[0] for line in lines()] == ["transformers", "LLaMA-Factory"]


@pytest.mark.parametrize(
    ("framework", "kinds"),
    [("vllm", ["setting"]), ("transformers", ["setting", "advice"]), ("", ["setting", "advice"])],
)
def test_advice_for_one_framework_is_not_given_to_another(framework: str, kinds: list[str]) -> None:
    """Who starts vLLM was told about accelerate and a Trainer."""
    facts: dict[str, Fact] = {"config.framework": Known(framework, "test")} if framework else {}
    world = Environment("0", Target("facts", "test", "test"), facts)
    steps = (
        StepTemplate(settings={"dtype": "fp16"}),
        StepTemplate(advice="Set fp16=True, too.", frameworks=("transformers", "unsloth")),
    )
    scope = Scope(world, MATRIX, load_knowledge().rules[0], {})
    found = [each.kind.value for step in steps for each in steps_of(scope, step, ())]
    assert list(dict.fromkeys(found)) == kinds
