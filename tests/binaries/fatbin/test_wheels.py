"""Published extensions: the same images as cuobjdump lists, and what their builders recorded."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING

import pytest

from fadoctor.binary.coverage import summarise
from fadoctor.binary.fatbin import read_fatbins
from tests.binaries.fatbin.cuobjdump import dumped, read, without_suffixes
from tests.binaries.fatbin.wheels import files_of

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = [pytest.mark.network, pytest.mark.slow]

XFORMERS = ["0.0.28.post3", "0.0.29.post3", "0.0.30", "0.0.35"]
REAL = [
    *[(f"xformers=={version}", "xformers/_C*.so") for version in XFORMERS],
    ("bitsandbytes==0.45.5", "*_cuda*.so"),
    ("bitsandbytes==0.48.2", "*_cuda*.so"),
    ("bitsandbytes==0.50.2", "*_cuda*.so"),
    ("vllm-flash-attn==2.6.2", "*.so"),
]


@pytest.mark.parametrize(("requirement", "pattern"), REAL, ids=[row[0] for row in REAL])
def test_the_images_are_those_of_cuobjdump(
    wheels: Path, cuobjdump: Path, old_cuobjdump: Path, requirement: str, pattern: str
) -> None:
    files = files_of(requirement, pattern, wheels)
    assert files
    for file in files:
        for relocatable in (False, True):
            mine = read(file, relocatable=relocatable)
            theirs = dumped(cuobjdump, file, relocatable=relocatable)
            if theirs is None:
                theirs = dumped(old_cuobjdump, file, relocatable=relocatable)
            else:
                mine = without_suffixes(mine, "cubin", "f")  # 13.5 prints sm_100 for sm_100f
            assert mine == theirs, file.name
            assert mine.total()


@pytest.mark.parametrize(("requirement", "pattern"), REAL, ids=[row[0] for row in REAL])
def test_a_search_finds_nothing_that_the_wrappers_do_not_name(
    wheels: Path, requirement: str, pattern: str
) -> None:
    for file in files_of(requirement, pattern, wheels):
        assert read_fatbins(file) == read_fatbins(file, thorough=True)


@pytest.mark.parametrize("version", XFORMERS)
def test_the_architectures_are_those_of_the_build(wheels: Path, version: str) -> None:
    (record,) = files_of(f"xformers=={version}", "xformers/cpp_lib.json", wheels)
    (file,) = files_of(f"xformers=={version}", "xformers/_C.so", wheels)
    # "6.0+PTX 7.0 7.5 8.0+PTX 9.0a"
    asked = json.loads(record.read_text())["env"]["TORCH_CUDA_ARCH_LIST"].split()
    found = summarise(read_fatbins(file))
    assert set(found.common) == {word.removesuffix("+PTX") for word in asked}
    ptx = {target for line in found.code for target in re.findall(r"(\S+)\+PTX@", line)}
    assert ptx == {word.removesuffix("+PTX") for word in asked if word.endswith("+PTX")}
