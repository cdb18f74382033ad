"""What follows about AMD's GPUs and a torch for ROCm."""

from __future__ import annotations

from typing import Any

import pytest

from fadoctor.knowledge.matrix.query import Matrix
from fadoctor.model.fact import Absent, Fact, Known, Unknown
from fadoctor.sources.targets.rocm import gfx_of, rocm_facts
from tests.unit.judging.engine.builders import environment, shipped

GPU = {"gpu.count": 1, "gpu[0].vendor": "amd", "gpu[0].gfx": "gfx1101"}
TORCH = {"torch.version": "2.9.1+rocm6.4", "torch.hip": "6.4.43484"}


def found(**facts: Any) -> dict[str, Fact]:
    return rocm_facts(environment(facts), Matrix(shipped().tables))


@pytest.mark.parametrize(
    ("text", "gfx"),
    [
        ("11.0.0", "gfx1100"), ("9.0.10", "gfx90a"), ("10.3.0", "gfx1030"), (" 9.4.2 ", "gfx942"),
        ("11.5.1", "gfx1151"), ("11.0", None), ("", None), ("0.0.0", None), ("11.0.16", None),
        ("11.0.0; rm", None),
    ],
)  # fmt: skip
def test_the_override_is_read_as_rocm_does(text: str, gfx: str | None) -> None:
    assert gfx_of(text) == gfx


def test_programs_see_what_the_override_says() -> None:
    assert found(**GPU)["gpu[0].isa"] == Known("gfx1101", "test")
    said = found(**GPU, **{"env.HSA_OVERRIDE_GFX_VERSION": "11.0.0"})["gpu[0].isa"]
    assert isinstance(said, Known)
    assert said.value == "gfx1100"
    wrong = found(**GPU, **{"env.HSA_OVERRIDE_GFX_VERSION": "navi"})["gpu[0].isa"]
    assert isinstance(wrong, Unknown)


def test_a_torch_of_the_index_is_in_the_table() -> None:
    said = found(**GPU, **TORCH)
    assert isinstance(said["torch.aotriton"], Known)
    assert (said["torch.rocm"].value, said["torch.aotriton"].value) == ("rocm6.4", "0.11.0")  # type: ignore[union-attr] # known
    assert "gfx1101" in said["torch.rocm_archs"].value  # type: ignore[union-attr, operator] # known, a list


def test_the_file_goes_before_the_table() -> None:
    names = ("libtorch_hip.so", "libaotriton_v2.so.0.12.1")
    said = found(**GPU, **TORCH, **{"torch.libraries": names})["torch.aotriton"]
    assert said == Known("0.12.1", "torch/lib/libaotriton_v2.so.0.12.1")


def test_a_torch_without_aotriton_has_none() -> None:
    said = found(**GPU, **TORCH, **{"torch.libraries": ("libtorch_hip.so", "libc10.so")})
    assert isinstance(said["torch.aotriton"], Absent)


def test_one_of_two_releases_is_told_so() -> None:
    version = {"torch.version": "2.10.0+rocm7.1", "torch.hip": "7.1"}
    said = found(**GPU, **version)["torch.aotriton"]
    assert isinstance(said, Unknown)
    assert said.among == ("0.11.0", "0.11.1")


def test_a_build_of_amd_is_not_in_the_table() -> None:
    version = {"torch.version": "2.9.1+rocm7.2.1.lw.gitff65f5bc", "torch.hip": "7.2"}
    said = found(**GPU, **version)
    assert isinstance(said["torch.rocm"], Unknown)
    assert isinstance(said["torch.rocm_archs"], Unknown)
    read = found(**GPU, **version, **{"torch.binary.gfx": ("gfx1101",)})["torch.rocm_archs"]
    assert isinstance(read, Known)
    assert read.value == ("gfx1101",)


def test_another_torch_has_nothing_of_it() -> None:
    said = found(**GPU, **{"torch.version": "2.9.1", "torch.cuda": "12.8"})
    assert all(isinstance(said[f"torch.{n}"], Absent) for n in ("rocm", "aotriton", "rocm_archs"))


def test_a_chip_is_on_a_card_or_in_a_processor() -> None:
    more = {"gpu.count": 3, "gpu[1].gfx": "gfx1036", "gpu[2].gfx": "gfx9999"}
    said = found(**{**GPU, **more, "gpu[1].vendor": "amd", "gpu[2].vendor": "amd"})
    assert isinstance(said["gpu[0].discrete"], Known)
    assert isinstance(said["gpu[1].discrete"], Known)
    assert (said["gpu[0].discrete"].value, said["gpu[1].discrete"].value) == (True, False)
    assert isinstance(said["gpu[2].discrete"], Unknown)
