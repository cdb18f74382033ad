"""CUDA builds of torch: gigabytes, so only those that FADOCTOR_TESTS_TORCHES names are read.

It holds interpreters whose environment has one, separated by a colon.
"""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from fadoctor.binary.coverage import summarise
from fadoctor.binary.fatbin import read_fatbins
from tests.binaries.fatbin.cuobjdump import dumped, read, without_suffixes

PYTHONS = os.environ.get("FADOCTOR_TESTS_TORCHES", "").split(":")

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(PYTHONS == [""], reason="FADOCTOR_TESTS_TORCHES names no interpreter"),
]


def ask(python: str, expression: str) -> str:
    done = subprocess.run(
        [python, "-c", f"import torch; print({expression})"],
        capture_output=True, text=True, check=True, timeout=300,
    )  # fmt: skip
    return done.stdout.strip()


def library(python: str) -> Path:
    return Path(ask(python, "torch.__file__")).parent / "lib" / "libtorch_cuda.so"


@pytest.mark.parametrize("python", PYTHONS)
def test_the_architectures_are_what_torch_says(python: str) -> None:
    # "sm_50 sm_60 sm_70 sm_75 sm_80 sm_86 sm_90"
    flags = ask(python, "torch._C._cuda_getArchFlags()").split()
    found = summarise(read_fatbins(library(python))).common
    machine = [flag for flag in flags if flag.startswith("sm_")]
    assert {"sm_" + target.replace(".", "") for target in found} == set(machine)


@pytest.mark.parametrize("python", PYTHONS)
def test_a_search_finds_nothing_that_the_wrappers_do_not_name(python: str) -> None:
    for file in library(python).parent.glob("libtorch_cuda*.so"):
        assert read_fatbins(file) == read_fatbins(file, thorough=True)


@pytest.mark.network
@pytest.mark.parametrize("python", PYTHONS)
def test_the_images_are_those_of_cuobjdump(
    python: str, cuobjdump: Path, old_cuobjdump: Path
) -> None:
    file = library(python)
    mine = read(file)
    theirs = dumped(cuobjdump, file)
    if theirs is None:
        assert mine == dumped(old_cuobjdump, file)
    else:
        assert without_suffixes(mine, "cubin", "f") == theirs
