"""The chips for which an image or an archive is made, by its name."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from fadoctor.judging.explain.fixes.made_for import made_for
from fadoctor.model.fact import Known

if TYPE_CHECKING:
    from fadoctor.model.rule import Knowledge


@pytest.mark.parametrize(
    ("text", "chips"),
    [
        ("docker run rocm/vllm:rocm6.4_mi300_ubuntu22.04", ("gfx942",)),
        ("IMAGE=rocm/pytorch:rocm6.3_mi200", ("gfx90a",)),
        ("llama-b5000-bin-win-hip-x64-gfx1030.zip", ("gfx1030",)),
        ("llama-b100-ubuntu-rocm-gfx110X-x64", ("gfx1100", "gfx1101", "gfx1102", "gfx1103")),
        ("hip build with --offload-arch=gfx1030", ()),
        ("rocblas/library/TensileLibrary_lazy_gfx1030.dat of rocm", ()),
        ("amdgcn-amd-amdhsa--gfx1030", ()),
        ("python-gfx1030", ()),
        ("rocm/vllm:latest", ()),
    ],
)
def test_names_say_for_which_chips(knowledge: Knowledge, text: str, chips: tuple[str, ...]) -> None:
    found = made_for([text], knowledge.tables)
    assert (found.value if isinstance(found, Known) else ()) == chips
