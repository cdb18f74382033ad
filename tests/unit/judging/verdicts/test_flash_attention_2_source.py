"""What flash_attention_2 of transformers really is: a package, a kernel of the Hub, an error."""

from __future__ import annotations

from typing import Any

import pytest

from fadoctor.model.verdict import Becomes, Origin
from fadoctor.report.words import becomes_text
from tests.unit.judging.engine.builders import ABSENT, UNREAD
from tests.unit.judging.verdicts.test_first_advice import LOADED, NO_KERNELS, advice
from tests.unit.judging.verdicts.test_hub_route import EMPTY, EXACT, FA4, FLASH, TAKES_V4

PACKAGE: dict[str, Any] = {**LOADED, "flash_attn.version": "2.8.3", "flash_attn.requires": {}}
OLD: dict[str, Any] = {**LOADED, "flash_attn.version": "2.1.0", "flash_attn.requires": {}}
V1 = f"{FLASH}@v1"


@pytest.mark.parametrize(
    ("facts", "text"),
    [
        ({}, f"{V1} from the Hub ({EXACT}, in the cache)"),
        (PACKAGE, ""),
        ({**PACKAGE, "gpu[0].compute_capability": "7.5"}, ""),
        # The newest transformers takes flash-attn from 2.3.3 on, else the kernel.
        (OLD, f"{V1} from the Hub"),
        ({**OLD, **NO_KERNELS}, "fails: transformers 5.15.1 accepts flash-attn >=2.3.3, not"),
        ({**OLD, "torch.hip": "6.4", "torch.cuda": ABSENT}, ""),
        ({"torch.hip": "6.4", "torch.cuda": ABSENT}, "not known: the Hub's kernel for NVIDIA"),
        (NO_KERNELS, f"fails: flash-attn is not installed, and kernels, which would fetch {FLASH}"),
        ({"kernels.version": UNREAD}, "not known: "),
        ({"flash_attn.version": UNREAD}, "not known: "),
        ({"kernels.version": "0.17.2"}, f"fails ({V1}): transformers 5.15.1 accepts kernels >="),
        ({**EMPTY, "env.HF_HUB_OFFLINE": "1"}, f"fails ({V1}): not in the cache, and HF_HUB"),
        (
            {**EMPTY, "torch.version": "2.14.1"},
            f"{V1} from the Hub, or an error: none of its",
        ),
        (TAKES_V4, f"{FLASH}@v4 from the Hub, or an error: it would be downloaded, and the tabl"),
        ({"transformers.version": "4.55.4"}, "fails: flash-attn is not installed, and it uses"),
        ({"transformers.version": "5.99.0"}, "not known: this release was not read"),
    ],
)
def test_what_is_said_of_it(facts: dict[str, Any], text: str) -> None:
    said = becomes_text(advice(**facts))
    said = said.replace("flash_attention_2 fails here", "flash_attention_2 here: fails", 1)
    assert said.removeprefix("flash_attention_2 here: ").startswith(text), said
    assert bool(text) == bool(said), said


def test_its_own_package_is_named_with_how_it_comes_out() -> None:
    found = advice(**{**PACKAGE, "gpu[0].compute_capability": "7.5"}).flash_attention_2
    assert found == Becomes(Origin.PACKAGE, "flash-attn 2.8.3", "fails: gpu-too-old-fa2")


def test_a_release_without_that_name_has_nothing_to_say() -> None:
    assert advice(transformers__version="4.33.0").flash_attention_2 is None
    assert advice(transformers__version=ABSENT).flash_attention_2 is None


def test_flash_attn_4_may_be_taken_for_flash_attn() -> None:
    facts = {**NO_KERNELS, **LOADED, **FA4, "transformers.version": "5.3.0"}
    found = advice(**facts).flash_attention_2
    assert found == Becomes(Origin.UNKNOWN, "", "flash-attn-4 has the import name of flash-attn")
    assert "kernels, which" in becomes_text(advice(**{**facts, "transformers.version": "5.4.0"}))


def test_of_two_gpus_the_worse_one_counts() -> None:
    t4 = {"name": "T4", "visible": True, "vendor": "nvidia", "compute_capability": "7.5"}
    counts = {"gpu.count": 2, "gpu.visible_count": 2}
    other = {f"gpu[1].{noun}": value for noun, value in t4.items()} | counts
    found = advice(**other).flash_attention_2
    assert found is not None
    assert found.origin is Origin.ERROR
    assert found.detail.startswith("on gpu[1]: ")
