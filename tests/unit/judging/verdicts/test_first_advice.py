"""The way that somebody who knows takes first, in the recommendation."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec import structs

from fadoctor.judging.diagnose import diagnose
from fadoctor.model.verdict import Backend, Becomes, Dtype, Origin, Recommendation
from tests.unit.judging.engine.builders import ABSENT, environment, shipped
from tests.unit.judging.verdicts.test_hub_route import EMPTY, EXACT, FA3, FA4, FLASH, THERE

HOPPER = {"gpu[0].compute_capability": "9.0"}
NO_KERNELS = {"kernels.version": ABSENT, "hub.kernels": ABSENT}
LOADED = {
    f"{name}.{noun}": value
    for name in ("flash_attn", "flash_attn_3", "triton")
    for noun, value in (("binary.file", "x.so"), ("binary.failure", ABSENT), ("loads", True))
}


def advice(**facts: Any) -> Recommendation:
    rules = tuple(rule for rule in shipped().rules if rule.area == "hub")
    asked = {name.replace("__", "."): value for name, value in facts.items()}
    world = environment({**THERE, **asked})
    found = diagnose(world, structs.replace(shipped(), rules=rules)).recommendation
    assert found is not None
    return found


def said(facts: dict[str, Any]) -> str:
    found = advice(**facts)
    return f"{found.backend.value}: {found.why}"


def test_a_kernel_in_the_cache_goes_before_torchs_own() -> None:
    found = advice(llamafactory__version=ABSENT)
    assert (found.dtype, found.backend) == (Dtype.BF16, Backend.HUB_FA2)
    assert f"It is torch212-cxx11-cu130-x86_64-linux of {FLASH}@v1, in the cache." in found.why
    assert found.flash_attention_2 == Becomes(Origin.HUB, f"{FLASH}@v1", f"{EXACT}, in the cache")
    named = '"kernels-community/flash-attn2"'
    assert found.settings["transformers"]["attn_implementation"] == named
    assert found.settings["llamafactory"]["flash_attn"] == "sdpa"


def test_a_package_that_works_goes_before_a_kernel_of_the_hub() -> None:
    found = advice(**LOADED, **{"flash_attn.version": "2.8.3", "flash_attn.requires": {}})
    assert found.backend is Backend.FA2
    assert found.flash_attention_2 == Becomes(Origin.PACKAGE, "flash-attn 2.8.3")
    assert "First advice" not in found.why


@pytest.mark.parametrize(
    ("facts", "start", "part"),
    [
        (HOPPER, "hub-fa3: ", "in the cache"),
        ({**EMPTY, **HOPPER}, "hub-fa3: ", "would be downloaded (1.7 GB)"),
        (EMPTY, "sdpa-flash: ", "But hub-fa2: would be downloaded"),
        ({**EMPTY, "env.HF_HUB_OFFLINE": "1"}, "sdpa-flash: ", "HF_HUB_OFFLINE forbids"),
        ({"kernels.version": "0.17.2"}, "sdpa-flash: ", "But hub-fa2: transformers 5.15.1 accepts"),
        ({"gpu[0].compute_capability": "12.1"}, "sdpa-flash: ", ""),
        ({"gpu[0].compute_capability": "7.5"}, "sdpa-efficient: ", ""),
        (NO_KERNELS, "sdpa-flash: ", 'kernels 0.16.2: pip install "transformers[kernels]"'),
        (
            {**NO_KERNELS, "transformers.version": "5.23.0"},
            "sdpa-flash: ", "transformers 5.22.2 has one",
        ),
        ({**NO_KERNELS, "transformers.version": "4.51.3"}, "sdpa-flash: ", ""),
    ],
)  # fmt: skip
def test_what_is_recommended_and_why_not_the_other(
    facts: dict[str, Any], start: str, part: str
) -> None:
    text = said(facts)
    assert text.startswith(start), text
    assert part in text, text


def test_where_no_other_way_is_near_nothing_is_said_of_one() -> None:
    old = said({**NO_KERNELS, "transformers.version": "4.51.3"})
    assert "First advice" not in old
    assert "flash_attention_2" not in old
    turing = said({**NO_KERNELS, "gpu[0].compute_capability": "7.5"})
    assert "Hub" not in turing


def test_inference_with_version_3_is_not_training() -> None:
    v3 = {**EMPTY, "transformers.version": "5.17.0"}
    assert "flash-attn2@v2" in said(v3)
    assert (
        "First advice with transformers 5.17.0 here: flash_attention_2 from the Hub. But"
        in said({**v3, "config.purpose": "inference"})
    )


def test_what_torch_activates_says_how() -> None:
    facts = {**NO_KERNELS, **LOADED, **FA3, **HOPPER, "transformers.version": ABSENT}
    found = advice(**facts)
    assert found.backend is Backend.FA3
    blackwell = {**NO_KERNELS, **LOADED, **FA4, "gpu[0].compute_capability": "10.0"}
    cells = advice(**blackwell, transformers__version=ABSENT)
    assert cells.backend is Backend.FA4


def test_diffusers_is_told_in_its_own_words() -> None:
    there = {**THERE["packages.installed"], "diffusers": "0.42.1"}
    found = advice(packages__installed=there, **HOPPER)
    told = found.settings["diffusers"]
    assert told == {"pipe.transformer.set_attention_backend": '"_flash_3_hub"'}
    assert "trl" not in found.settings
