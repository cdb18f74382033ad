"""What a log names: the package that a file belongs to."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from fadoctor.judging.explain.named_packages import owner_of, package_of
from fadoctor.knowledge.matrix.query import Matrix
from fadoctor.model.fact import fact_text

if TYPE_CHECKING:
    from fadoctor.model.rule import Knowledge


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


@pytest.mark.parametrize(
    ("file", "owner"),
    [
        ("/v/transformer_engine_torch.cpython-310-x86_64-linux-gnu.so", "transformer-engine"),
        ("/v/site-packages/mmcv/_ext.cpython-311-x86_64-linux-gnu.so", "mmcv"),
        ("D:\\v\\exllamav2_ext.cp312-win_amd64.pyd", "exllamav2"),
        ("_qattn_sm89", "sageattention"),  # as Windows names it
        ("/v/deform/_C.so", ""),
        ("selective_scan_cuda", ""),
        ("", ""),
    ],
)
def test_a_file_of_a_neighbour_is_known_by_a_table(
    knowledge: Knowledge, file: str, owner: str
) -> None:
    found = owner_of(file, Matrix(knowledge.tables))
    assert (fact_text(found, "") if found is not None else "") == owner
