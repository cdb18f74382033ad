"""What is pasted: of what is there, whole, and behind its label where there is room."""

from __future__ import annotations

import pytest

from fadoctor.model.fact import Absent, Fact, Known, Unknown
from fadoctor.model.verdict import Backend, Dtype, Recommendation
from fadoctor.report.environment_text import with_gpus_alike
from fadoctor.report.paper import Paper
from fadoctor.report.style import Style
from fadoctor.report.words import frameworks_here, pasted_settings, setting_text, use_text

ADVICE = Recommendation(
    Dtype.FP16, Backend.SDPA_EFFICIENT,
    {"transformers": {"attn_implementation": '"sdpa"'}, "vllm": {"--dtype": "half"}}, "Why.",
)  # fmt: skip
HERE, GONE, OPEN = Known("4.57.1", "test"), Absent("test"), Unknown("not read", "test")


@pytest.mark.parametrize(
    ("transformers", "vllm", "labels"),
    [
        (HERE, GONE, ["transformers 4.57.1"]),
        (GONE, HERE, ["vllm 4.57.1"]),
        (HERE, HERE, ["vllm 4.57.1"]),  # it requires transformers, which nobody sets there
        (HERE, OPEN, ["transformers 4.57.1"]),
        (OPEN, GONE, ["transformers"]),
        (OPEN, OPEN, ["transformers", "vllm"]),
        (GONE, GONE, []),
    ],
)
def test_no_line_for_what_is_not_there(transformers: Fact, vllm: Fact, labels: list[str]) -> None:
    facts = {"transformers.version": transformers, "vllm.version": vllm}
    assert [label for label, _ in pasted_settings(ADVICE, facts)] == labels


def test_a_file_that_asks_for_an_attention_alone_gets_the_words_of_transformers() -> None:
    facts: dict[str, Fact] = {
        "transformers.version": GONE,
        "vllm.version": GONE,
        "config.attention": HERE,
    }
    assert [label for label, _ in pasted_settings(ADVICE, facts)] == ["transformers"]


def test_a_server_speaks_alone_and_its_line_is_a_command() -> None:
    advice = Recommendation(
        Dtype.BF16, Backend.FA4,
        {"transformers": {"dtype": "torch.bfloat16"},
         "sglang": {"--dtype": "bfloat16", "--attention-backend": "fa3"}}, "Why.",
    )  # fmt: skip
    facts: dict[str, Fact] = {"transformers.version": HERE, "sglang.version": HERE}
    line = ("sglang 4.57.1", "--dtype bfloat16 --attention-backend fa3")
    assert pasted_settings(advice, facts) == (line,)
    assert use_text(advice.dtype, advice.backend, facts) == "Use bfloat16 in SGLang"


@pytest.mark.parametrize(
    ("framework", "settings", "line"),
    [
        ("axolotl", {"attn_implementation": "sdpa", "fp16": "true"},
         "attn_implementation: sdpa, fp16: true"),
        ("ms-swift", {"--attn_impl": "sdpa", "--torch_dtype": "float16"},
         "--attn_impl sdpa --torch_dtype float16"),
        ("diffusers", {"pipe.transformer.set_attention_backend": '"native"'},
         'pipe.transformer.set_attention_backend("native")'),
    ],
)  # fmt: skip
def test_settings_have_the_form_of_their_framework(
    framework: str, settings: dict[str, str], line: str
) -> None:
    """A method of a pipeline was assigned to, and keys of a YAML file stood with "="."""
    assert setting_text(framework, settings) == line


@pytest.mark.parametrize(("width", "count"), [(80, 1), (40, 2)])
def test_what_is_pasted_is_never_broken(width: int, count: int) -> None:
    paper = Paper(Style(width=width))
    paper.paste("transformers 4.57.1", 'attn_implementation="sdpa", dtype=torch.float16')
    assert len(paper.lines) == count
    assert paper.lines[-1].endswith('attn_implementation="sdpa", dtype=torch.float16')


@pytest.mark.parametrize("width", [40, 44, 47, 50])
def test_a_command_within_a_sentence_is_never_broken(width: int) -> None:
    paper = Paper(Style(width=width))
    paper.line("This is what one does about it: `fadoctor fix --dry-run` shows the plan.")
    assert sum("`fadoctor fix --dry-run`" in line for line in paper.lines) == 1
    assert max(map(len, paper.lines)) <= width


def test_a_private_character_is_no_space() -> None:
    paper = Paper(Style())
    paper.line("a\ue000b")
    assert paper.lines == ["a?b"]


def test_gpus_of_which_the_same_is_said_are_one_line() -> None:
    lines = ["host", "GPU 0: A, 80 GiB", "GPU 1: A, 80 GiB", "GPU 2: B", "Packages: torch"]
    assert list(with_gpus_alike(lines)) == [
        "host", "GPU 0-1: A, 80 GiB", "GPU 2: B", "Packages: torch",
    ]  # fmt: skip
    assert list(with_gpus_alike(["GPU: none"])) == ["GPU: none"]


def test_the_framework_that_is_configured_or_trains_comes_first() -> None:
    settings = {**ADVICE.settings, "unsloth": {"dtype": "torch.float16"}}
    advice = Recommendation(Dtype.FP16, Backend.SDPA_EFFICIENT, settings, "Why.")
    here = {f"{name}.version": HERE for name in ("transformers", "vllm", "unsloth")}
    trained = [label for label, _ in pasted_settings(advice, here)]
    assert trained == ["unsloth 4.57.1", "transformers 4.57.1", "vllm 4.57.1"]
    served: dict[str, Fact] = {**here, "config.framework": Known("vllm", "serve.sh")}
    assert [label for label, _ in pasted_settings(advice, served)] == ["vllm 4.57.1"]
    nowhere: dict[str, Fact] = {
        "transformers.version": GONE,
        "config.framework": Known("unsloth", "train.py"),
    }
    assert [label for label, _ in pasted_settings(advice, nowhere)] == ["unsloth"]


def test_a_framework_that_a_file_asks_for_in_any_release_is_spoken_to() -> None:
    """A file with `vllm` alone got settings of LLaMA-Factory and unsloth beside those of vLLM."""
    asked: dict[str, Fact] = {
        "vllm.distribution": Known("vllm", "a file"),
        "vllm.version": Unknown("open", "a file"),
    }
    settings = {name: {"--dtype": "half"} for name in ("transformers", "vllm", "unsloth")}
    advice = Recommendation(Dtype.FP16, Backend.VLLM_FA, settings, "")
    assert frameworks_here(advice, asked) == {"vllm": "vllm"}
