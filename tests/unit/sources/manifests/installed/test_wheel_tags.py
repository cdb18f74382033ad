"""Wheels by their address that are for another platform or Python."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from fadoctor.model.fact import Known
from fadoctor.sources.manifests.installed.fact_names import UNFIT
from fadoctor.sources.manifests.installed.wheel_tags import unfit
from tests.unit.sources.manifests.installed.test_environment import planned, value

if TYPE_CHECKING:
    from pathlib import Path

AT = "https://example.org/"


@pytest.mark.parametrize(
    ("file", "told"),
    [
        ("flash_attn-2.8.3-cp312-cp312-win_amd64.whl", "for win_amd64, and this is linux_x86_64"),
        ("torch-2.8.0-cp312-cp312-manylinux_2_28_aarch64.whl", "for manylinux_2_28_aarch64"),
        ("torch-2.8.0-cp310-cp310-manylinux_2_28_x86_64.whl", "for cp310, and this is cp312"),
        ("xformers-0.0.33-cp313-abi3-manylinux_2_28_x86_64.whl", "for cp313"),
    ],
)
def test_a_file_that_an_installer_refuses_is_told(tmp_path: Path, file: str, told: str) -> None:
    found = value(planned(tmp_path, f"{AT}{file}\n"), UNFIT)
    assert isinstance(found, dict)
    assert told in str(found)


@pytest.mark.parametrize(
    "file",
    [
        "flash_attn-2.8.3+cu12torch2.8cxx11abiTRUE-cp312-cp312-linux_x86_64.whl",
        "torch-2.8.0-cp312-cp312-manylinux1_x86_64.whl",
        "torch-2.8.0-cp312-cp312-manylinux2014_x86_64.manylinux_2_17_x86_64.whl",
        "flash_attn_3-3.0.0-cp39-abi3-linux_x86_64.whl",
        "triton-3.4.0-cp38.cp312-cp38.cp312-manylinux_2_28_x86_64.whl",
        "transformers-4.57.1-py3-none-any.whl",
        "triton-3.4.0-cp312-none-linux_x86_64.whl",
        "ours-1.0-odd-odd-odd.whl",
        f"ours-1.0-cp312-cp312-linux{'_1' * 200}.whl",
    ],
)
def test_one_that_it_takes_is_not(tmp_path: Path, file: str) -> None:
    assert value(planned(tmp_path, f"{AT}{file}\n"), UNFIT) == {}


@pytest.mark.parametrize(
    ("tags", "glibc", "problem"),
    [
        ("cp312-cp312-manylinux_2_39_x86_64", "2.35", "and this is glibc 2.35"),
        ("cp312-cp312-manylinux2014_x86_64", "2.12", "and this is glibc 2.12"),
        ("cp312-cp312-manylinux_2_39_x86_64", "2.39", ""),
        ("cp312-cp312-manylinux_2_39_x86_64.manylinux2014_x86_64", "2.35", ""),
        ("cp312-cp312-linux_x86_64", "2.17", ""),
        ("cp312-cp312-musllinux_1_2_x86_64", "2.17", ""),
    ],
)
def test_the_glibc_of_a_name_is_held_against_that_of_the_system(
    tags: str, glibc: str, problem: str
) -> None:
    found = unfit(f"ours-1.0-{tags}.whl", {"host.glibc": Known(glibc, "a test")})
    assert found.endswith(problem)
    assert bool(found) is bool(problem)


@pytest.mark.parametrize("file", ["", "torch", "torch-2.8.0.tar.gz", "torch-2.8.0-cp312.whl"])
def test_what_has_no_tags_is_refused_nowhere(file: str) -> None:
    assert not unfit(file, {"host.platform": Known("win_amd64", "a test")})
