"""What has no file for ARM is not installed there."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING

from fadoctor.judging.explain.explain import explain, read_log

if TYPE_CHECKING:
    from fadoctor.model.finding import Finding
    from fadoctor.model.rule import Knowledge

TEXT = (
    "NotImplementedError: No operator found for `memory_efficient_attention_forward`\n"
    "    xFormers wasn't build with CUDA support\n"
    "torch 2.5.1, {}"
)


def found(where: str, knowledge: Knowledge) -> Finding:
    text = TEXT.format(where).encode()
    return explain(read_log(io.BytesIO(text), "a.txt", knowledge), knowledge).findings[0]


def test_no_release_of_xformers_is_installed_on_arm(knowledge: Knowledge) -> None:
    for where in ("vllm on arm", "uname -m: aarch64", "a GH200"):
        first = found(where, knowledge).fixes[0]
        assert first.id == "without-a-file-for-arm"
        assert "nvcc" in first.steps[0].text


def test_elsewhere_the_release_is_named(knowledge: Knowledge) -> None:
    assert "0.0.29.post1" in found("an x86_64 server", knowledge).fixes[0].title
