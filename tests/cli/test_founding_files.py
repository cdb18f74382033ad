"""The five founding cases as files: what their users run, with the packages that they have.

``founding_files`` holds the configuration or the script of each; ``.txt`` is not part of its name.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.cli.conftest import Run

    Tell = Callable[..., str]

HERE = Path(__file__).parent / "founding_files"
NEWER = ("torch 2.6.0+cu124", "flash-attn 2.7.4.post1", "accelerate 1.6.0")
UNSLOTH = (
    "torch 2.4.1+cu121", "transformers 4.45.2", "flash-attn 2.6.3", "peft 0.13.2", "trl 0.11.4",
    "bitsandbytes 0.44.1", "xformers 0.0.28.post1",
)  # fmt: skip
QWEN = ("torch 2.2.2+cu121", "transformers 4.37.2", "flash-attn 2.5.7", "deepspeed 0.14.0")
XT = "torch 2.3.0+cu121"


@pytest.fixture
def told(run: Run, tmp_path: Path) -> Tell:
    """Return what is told of a file beside packages on a GPU, as text."""

    def tell(name: str, gpu: str, *packages: str, **changed: str) -> str:
        text = next(HERE.glob(f"{name}*")).read_text(encoding="utf-8")
        for old, new in changed.items():
            assert old in text
            text = text.replace(old, new)
        (tmp_path / name).write_text(text, encoding="utf-8")
        (tmp_path / "facts.txt").write_text("\n".join(packages) + "\n", encoding="utf-8")
        given = ("--facts", "facts.txt", "--config", name, "--gpu", gpu, "--driver", "550.54.15")
        return run("check", *given, "--python-version", "3.11", cwd=tmp_path).stdout

    return tell


@pytest.mark.sampled(every=3)
@pytest.mark.parametrize(
    ("name", "gpu", "packages", "first", "repair"),
    [
        ("lf_webui.yaml", "A100", (*NEWER, "transformers 4.51.3", "llamafactory 0.9.2"),
         "FlashAttention gets float32 tensors", "bf16: true"),
        ("fp32_default.py", "A100", (*NEWER, "transformers 4.51.3"),
         "FlashAttention gets float32 tensors", "torch_dtype=torch.bfloat16"),
        ("fp32_default.py", "A100", (*NEWER, "transformers 4.57.1"),
         "FlashAttention gets float32 tensors", "dtype=torch.bfloat16"),
        ("unsloth_dora.py", "A100", (*UNSLOTH, "unsloth 2024.10.7"),
         "DoRA on a quantized base, with an unsloth that does not cast", "unsloth"),
        ("finetune_lora_ds.sh", "V100", QWEN,
         "bfloat16 is asked for on a GPU that does not have it", "torch.float16"),
        ("xt.py", "A100", (XT, "x-transformers 1.30.1"),
         "The rotary embedding of x-transformers returns float32", "x-transformers==1.30.2"),
        ("deepscaler.sh", "A100", (*NEWER, "transformers 4.57.1", "vllm 0.12.0"),
         "vLLM no longer has the attention backend", "vllm"),
    ],
)  # fmt: skip
def test_the_first_line_says_that_it_fails(
    told: Tell, name: str, gpu: str, packages: tuple[str, ...], *, first: str, repair: str
) -> None:
    text = told(name, gpu, *packages)
    assert text.startswith(f"✗ {first}")
    assert repair in text[text.index("error: ") :].partition("fix: ")[2]


@pytest.mark.sampled(every=3)
@pytest.mark.parametrize(
    ("name", "gpu", "packages", "changed"),
    [
        ("lf_webui.yaml", "A100", (*NEWER, "transformers 4.51.3", "llamafactory 0.9.2"),
         {"\nbf16: false": "\nbf16: true"}),
        ("fp32_default.py", "A100", (*NEWER, "transformers 5.0.0"), {}),
        ("unsloth_dora.py", "A100", (*UNSLOTH, "unsloth 2024.10.7"),
         {"use_dora=True": "use_dora=False"}),
        ("xt.py", "A100", (XT, "x-transformers 1.30.2"), {}),
        ("deepscaler.sh", "A100", (*NEWER, "transformers 4.51.3", "vllm 0.8.5"), {}),
    ],
)  # fmt: skip
def test_what_is_repaired_or_harmless_is_no_error(
    told: Tell, name: str, gpu: str, packages: tuple[str, ...], changed: dict[str, str]
) -> None:
    assert "error: " not in told(name, gpu, *packages, **changed)


def test_the_line_of_the_script_is_named(told: Tell) -> None:
    text = told("xt.py", "A100", XT, "x-transformers 1.30.1")
    assert "at xt.py:" in text.partition("error: ")[2].partition("why: ")[0]
