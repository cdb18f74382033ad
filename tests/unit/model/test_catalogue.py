"""The catalogue: every name is well formed, has a type and somebody who provides it."""

from __future__ import annotations

import re

import pytest
from packaging.utils import canonicalize_name

from fadoctor.model.catalogue import (
    CONFIG,
    CONTRACTS,
    DERIVED,
    FLEET,
    LATER,
    LOG,
    build_catalogue,
    find_spec,
    generic_name,
)
from fadoctor.model.fact_rows import ENVIRONMENT_VARIABLES
from fadoctor.model.packages import PACKAGES
from fadoctor.sources.probes import PROBES

CATALOGUE = build_catalogue()
TYPES = {"version", "text", "integer", "boolean", "list", "mapping"}


def test_every_fact_is_fully_described() -> None:
    for name, spec in CATALOGUE.items():
        assert spec.name == name
        assert spec.type in TYPES, name
        assert spec.provider in {*PROBES, DERIVED, LATER, LOG, CONFIG, CONTRACTS, FLEET}, name
        assert spec.meaning, name
        assert name.startswith("env.") or re.fullmatch(r"[a-z][a-z0-9_.\[\]]*", name), name


def test_every_probe_provides_something() -> None:
    assert set(PROBES) <= {spec.provider for spec in CATALOGUE.values()}


def test_no_distribution_stands_for_two_packages() -> None:
    names = [name for group in PACKAGES.values() for name in group]
    assert len(names) == len(set(names))
    assert names == [canonicalize_name(name) for name in names]


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("torch.version", "version"),
        ("gpu[0].name", "text"),
        ("gpu[17].compute_capability", "version"),
        ("gpu[].mig", "boolean"),
        ("flash_attn_3.requires", "mapping"),
        ("env.CUDA_HOME", "text"),
        ("env.FLASH_ATTENTION_FORCE_BUILD", "text"),
        ("gpu.name", None),
        ("gpu[x].name", None),
        ("gpu[-1].name", None),
        ("torch[0].version", None),
        ("env.PATH", None),
        ("env.CUDA_HOME_2", None),
        ("env.", None),
        ("", None),
        ("torch", None),
        ("host.os.", None),
    ],
)
def test_names_are_found_by_their_general_form(name: str, expected: str | None) -> None:
    spec = find_spec(CATALOGUE, name)
    assert (spec.type if spec else None) == expected


def test_the_general_form_of_a_name() -> None:
    assert generic_name("gpu[12].name") == "gpu[].name"
    assert generic_name("torch.version") == "torch.version"


def test_variables_are_all_in_the_catalogue() -> None:
    assert {f"env.{name}" for name in ENVIRONMENT_VARIABLES} <= set(CATALOGUE)
    assert all(re.fullmatch(r"[A-Z][A-Z0-9_]+\*?", name) for name in ENVIRONMENT_VARIABLES)
