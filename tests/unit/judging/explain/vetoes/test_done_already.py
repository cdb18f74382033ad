"""A failure for which all is done already goes behind the one that came after it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fadoctor.judging.explain.explain import explain

if TYPE_CHECKING:
    from collections.abc import Callable

    from fadoctor.judging.explain.explain import Reading
    from fadoctor.model.rule import Knowledge

BF16 = (
    "ValueError: Your setup doesn't support bf16/gpu. "
    "You need torch>=1.10, using Ampere GPU with cuda>=11.0"
)
CHANGED = "So I set fp16=True, bf16=False in TrainingArguments."
MEMORY = (
    "torch.cuda.OutOfMemoryError: CUDA out of memory. Tried to allocate 1.00 GiB "
    "(GPU 0; 14.75 GiB total capacity; 12.00 GiB already allocated; 300.00 MiB free)"
)


def told(reading: Reading, knowledge: Knowledge) -> list[tuple[str, str]]:
    return [(each.rule_id, each.severity.value) for each in explain(reading, knowledge).findings]


def test_who_did_it_is_told_of_what_came_next(
    read: Callable[[str], Reading], knowledge: Knowledge
) -> None:
    reading = read(f"{BF16}\n{CHANGED}\n{MEMORY}")
    assert told(reading, knowledge) == [
        ("gpu-memory-too-small", "note"),
        ("hf-bf16-unsupported", "note"),
    ]


def test_it_stays_first_where_it_is_the_last_or_was_not_done(
    read: Callable[[str], Reading], knowledge: Knowledge
) -> None:
    for log in (f"{MEMORY}\n{CHANGED}\n{BF16}", f"{BF16}\n{MEMORY}"):
        assert told(read(log), knowledge)[0] == ("hf-bf16-unsupported", "error")
