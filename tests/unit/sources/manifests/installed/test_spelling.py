"""A pin without its last zeros is the release of an index, which spells it out."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from fadoctor.model.fact import Known
from tests.unit.sources.manifests.installed.test_environment import planned

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.parametrize(
    ("line", "fact", "version"),
    [
        ("torch==2.6", "torch.version", "2.6.0"),
        ("torch==2.6+cu124", "torch.version", "2.6.0+cu124"),
        ("triton==3.2", "triton.version", "3.2.0"),
        ("vllm==0.8", "vllm.version", "0.8.0"),
        ("transformers==5.23", "transformers.version", "5.23.0"),
        ("unsloth==2024.9", "unsloth.version", "2024.9"),  # the index has no third number here
        ("torch==2.6.0", "torch.version", "2.6.0"),
        ("torch==9.6", "torch.version", "9.6"),  # no table knows it, so nothing is added
    ],
)
def test_a_pin_is_spelled_as_the_index_spells_it(
    line: str, fact: str, version: str, tmp_path: Path
) -> None:
    found = planned(tmp_path, f"{line}\n").fact(fact)
    assert isinstance(found, Known)
    assert found.value == version


def test_what_no_table_has_stays_as_it_is(tmp_path: Path) -> None:
    assert planned(tmp_path, "rich==13.0\n").pinned == {"rich": "13.0"}
