"""The pins of an extra count where something is there that nothing but the extra installs."""

from __future__ import annotations

import pytest

from fadoctor.model.fact import Known, fact_mapping
from fadoctor.sources.targets.used_extras import used_extras
from tests.unit.sources.pasted.reading import matrix


@pytest.mark.parametrize(
    ("version", "there", "pinned"),
    [
        ("0.4.10.post1", {"sgl-kernel": "0.2.8", "torch": "2.8.0"}, {"torch", "sgl-kernel"}),
        ("0.4.10.post1", {"torch": "2.8.0"}, set()),
        # it requires its torch itself since then
        ("0.5.6", {"sgl-kernel": "0.3.18.post2", "torch": "2.9.1"}, {"torch", "sgl-kernel"}),
    ],
)
def test_pins_of_a_used_extra(version: str, there: dict[str, str], pinned: set[str]) -> None:
    facts = {
        "sglang.version": Known(version, "test"),
        "sglang.requires": Known({"aiohttp": ""}, "its METADATA"),
        "packages.installed": Known({"sglang": version, **there}, "test"),
    }
    needs = fact_mapping(used_extras(facts, matrix()).get("sglang.requires"))
    assert needs.keys() & there.keys() == pinned
    assert not needs or "aiohttp" in needs
