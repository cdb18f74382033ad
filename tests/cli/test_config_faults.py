"""``--config``: what else configurations get wrong."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.cli.configs import (
    LLAMAFACTORY,
    MODEL,
    TRAINER,
    errors,
    settings,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.cli.configs import Told


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
