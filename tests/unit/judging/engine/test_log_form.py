"""Settings are written as the log writes them."""

from __future__ import annotations

import pytest

from fadoctor.judging.engine.log_form import as_the_log_writes
from fadoctor.model.fix import Fix, Safety, Step, StepKind

TEXT = 'lib: attn_impl="sdpa", torch_dtype=torch.float16'


@pytest.mark.parametrize(
    ("line", "text"),
    [
        ("train.py --x 1", 'lib: attn_impl="sdpa", torch_dtype=torch.float16'),
        (
            "train.py --attn_impl flash --torch_dtype=bfloat16",
            "lib: --attn_impl sdpa, --torch_dtype float16",
        ),
        ("  attn_impl: flash", "lib: attn_impl: sdpa, torch_dtype=torch.float16"),
        (
            'load(attn_impl="flash")  # --attn_impl',
            'lib: attn_impl="sdpa", torch_dtype=torch.float16',
        ),
        ("--my_attn_impl flash", 'lib: attn_impl="sdpa", torch_dtype=torch.float16'),
    ],
)
def test_an_argument_becomes_an_option_or_a_line_where_the_log_has_one(
    line: str, text: str
) -> None:
    fix = Fix("a", "A", Safety.SAFE, (Step(StepKind.SETTING, TEXT), Step(StepKind.ADVICE, "x")))
    assert [step.text for step in as_the_log_writes(fix, [line]).steps] == [text, "x"]


@pytest.mark.parametrize(
    ("line", "text"),
    [
        ("torchrun train.py --tf32 True --bf16", "--tf32 False"),
        ("TrainingArguments(tf32=True)", "tf32=False"),
        ("tf32: true", "tf32: false"),
        ("no tf32 here", "tf32: false"),
    ],
)
def test_a_switch_of_yaml_becomes_what_the_log_has(line: str, text: str) -> None:
    fix = Fix("a", "A", Safety.SAFE, (Step(StepKind.SETTING, "tf32: false"),))
    assert [step.text for step in as_the_log_writes(fix, [line]).steps] == [text]


@pytest.mark.parametrize(
    ("line", "texts"),
    [
        ("TrainingArguments(bf16=True)", ["fp16=True", "bf16=False"]),
        ("train.py --bf16 True", ["--fp16 True", "--bf16 False"]),
        ("bf16: true", ["fp16: true", "bf16: false"]),
    ],
)
def test_a_switch_that_the_log_lacks_has_the_form_of_its_neighbour(
    line: str, texts: list[str]
) -> None:
    steps = tuple(Step(StepKind.SETTING, text) for text in ("fp16: true", "bf16: false"))
    fix = as_the_log_writes(Fix("a", "A", Safety.SAFE, steps), [line])
    assert [step.text for step in fix.steps] == texts
