"""Where extensions lie: what the interpreter would import, in its order."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from fadoctor.model.fact import Fact, Known, Unknown
from fadoctor.sources.probes.extensions import Extension, find_extensions
from fadoctor.sources.probes.metadata import record_size
from tests.unit.sources.probes.dist_info import LINUX, put, world_of

if TYPE_CHECKING:
    from pathlib import Path

SUFFIX = ".cpython-311-x86_64-linux-gnu.so"


def found(*sites: Path, **facts: str) -> dict[str, str]:
    """Return extension -> its file below the first site."""
    known: dict[str, Fact] = {n.replace("__", "."): Known(v, "test") for n, v in facts.items()}
    all_of = [*find_extensions(world_of(*sites), LINUX | known)]
    return {
        each.prefix: each.path.removeprefix(f"{sites[0]}/")
        for each in all_of
        if isinstance(each, Extension) and each.path
    }


@pytest.mark.parametrize(
    ("files", "chosen"),
    [
        ([f"flash_attn_2_cuda{SUFFIX}"], f"flash_attn_2_cuda{SUFFIX}"),
        (["flash_attn_2_cuda.so", "flash_attn_2_cuda.abi3.so"], "flash_attn_2_cuda.abi3.so"),
        (["flash_attn_2_cuda.so", f"flash_attn_2_cuda{SUFFIX}"], f"flash_attn_2_cuda{SUFFIX}"),
        (["flash_attn_2_cuda.cpython-310-x86_64-linux-gnu.so"], ""),
        (["flash_attn_2_cuda_old.so"], ""),
        (["flash_attn_cuda.so"], "flash_attn_cuda.so"),
    ],
)
def test_the_file_is_the_one_that_would_be_imported(
    tmp_path: Path, files: list[str], chosen: str
) -> None:
    for name in files:
        put(tmp_path / name, "x")
    wanted = {"flash_attn.binary": chosen} if chosen else {}
    assert found(tmp_path, flash_attn__version="2.8.3") == wanted


def test_a_package_can_have_several(tmp_path: Path) -> None:
    for name in ("_C.abi3.so", "vllm_flash_attn/_vllm_fa2_C.abi3.so"):
        put(tmp_path / "vllm" / name, "x")
    assert found(tmp_path, vllm__version="0.11.0") == {
        "vllm.binary": "vllm/_C.abi3.so",
        "vllm.fa2": "vllm/vllm_flash_attn/_vllm_fa2_C.abi3.so",
    }


def test_only_packages_that_are_there_are_looked_for(tmp_path: Path) -> None:
    put(tmp_path / f"flash_attn_2_cuda{SUFFIX}", "x")
    assert found(tmp_path) == {}


@pytest.mark.parametrize(
    ("facts", "chosen"),
    [
        ({"torch__cuda": "12.8"}, "bitsandbytes/libbitsandbytes_cuda128.so"),
        ({"torch__cuda": "12.4"}, ""),
        ({}, ""),
        (
            {"torch__cuda": "12.4", "env__BNB_CUDA_VERSION": "126"},
            "bitsandbytes/libbitsandbytes_cuda126.so",
        ),
    ],
)
def test_bitsandbytes_takes_the_library_of_torchs_cuda(
    tmp_path: Path, facts: dict[str, str], chosen: str
) -> None:
    for version in ("126", "128"):
        put(tmp_path / "bitsandbytes" / f"libbitsandbytes_cuda{version}.so", "x")
    wanted = {"bitsandbytes.binary": chosen} if chosen else {}
    assert found(tmp_path, bitsandbytes__version="0.45.0", **facts) == wanted


def test_an_import_path_that_cannot_be_read_is_told(tmp_path: Path) -> None:
    [only] = find_extensions(world_of(tmp_path / "gone"), {"torch.version": Known("2", "t")})
    assert isinstance(only, Unknown)


RECORD = """\
torch/__init__.py,sha256=x,98
torch/_C.so,sha256=y,37912
"torch/odd,name.py",sha256=z,5
torch/RECORD,,
torch/huge.so,sha256=z,99999999999999999999
torch/signed.so,sha256=z,-4
"""


@pytest.mark.parametrize(
    ("path", "size"),
    [
        ("torch/__init__.py", 98),
        ("torch/_C.so", 37912),
        ("torch/RECORD", None),
        ("_C.so", None),
        ("torch/huge.so", None),
        ("torch/signed.so", None),
        ("torch/gone.so", None),
    ],
)
def test_sizes_of_record(path: str, size: int | None) -> None:
    assert record_size(RECORD, path) == size
