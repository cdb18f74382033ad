"""What a log names: the package that a file belongs to."""

from __future__ import annotations

import pytest

from fadoctor.explain.named import package_of


@pytest.mark.parametrize(
    ("text", "package"),
    [
        ("/opt/venv/lib/python3.11/site-packages/xformers/_C.so", "xformers"),
        ("/opt/flash_attn_2_cuda.cpython-311-x86_64-linux-gnu.so", "flash_attn"),
        ("flash_attn_2_cuda", "flash_attn"),
        ("/opt/vllm_flash_attn_2_cuda.cpython-310-x86_64-linux-gnu.so", "vllm_flash_attn"),
        ("/opt/vllm/vllm_flash_attn/_vllm_fa2_C.abi3.so", "vllm"),
        ("/opt/bitsandbytes/libbitsandbytes_cuda124.so", "bitsandbytes"),
        ("/opt/torch/lib/libtorch_cuda.so", "torch"),
        ("/opt/deform/_C.so", ""),
        ("libcudart.so.12", ""),
        ("", ""),
    ],
)
def test_the_package_of_a_file_is_known_by_its_path(text: str, package: str) -> None:
    assert package_of(text) == package
