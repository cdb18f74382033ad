"""Facts have words of their own in sentences for people."""

from __future__ import annotations

import pytest

from fadoctor.model.fact_words import all_in_words, in_words


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("torch.binary.cause", "the files of torch"),
        ("flash_attn.version", "the version of flash-attn"),
        ("torch.cuda", "the CUDA of torch"),
        ("vllm.requires", "the requirements of vllm"),
        ("gpu[0].compute_capability", "the GPU"),
        ("package.distribution", "the installed packages"),
        ("env.CUDA_HOME", "the variable CUDA_HOME"),
        ("something.else", "something.else"),
    ],
)
def test_a_fact_is_called_by_the_thing_that_it_is_of(name: str, words: str) -> None:
    assert in_words(name) == words


def test_each_thing_is_named_once() -> None:
    names = ("torch.binary.failure", "torch.binary.cause", "driver.version")
    assert all_in_words(names) == "the files of torch, the driver"
