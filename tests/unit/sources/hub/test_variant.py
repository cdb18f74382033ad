"""What the name of a build says."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fadoctor.sources.hub.variant import Interface, Variant, parse_variant

STABLE = "torch-stable-abi210-cu130-x86_64-linux"


def test_a_build_for_one_torch() -> None:
    name = "torch28-cxx11-cu128-x86_64-linux"
    assert parse_variant(name) == Variant(
        name, Interface.TORCH, "cuda", (2, 8), True, (12, 8), "x86_64", "linux"
    )


def test_a_build_for_the_stable_abi() -> None:
    assert parse_variant(STABLE) == Variant(
        STABLE, Interface.STABLE_ABI, "cuda", (2, 10), None, (13, 0), "x86_64", "linux"
    )


@pytest.mark.parametrize(
    ("name", "interface", "backend"),
    [
        ("torch213-cpu-aarch64-darwin", Interface.TORCH, "cpu"),
        ("torch29-cxx98-rocm64-x86_64-linux", Interface.TORCH, "rocm"),
        ("tvm-ffi01-cu130-x86_64-linux", Interface.TVM_FFI, "cuda"),
        ("torch-cuda", Interface.PYTHON, "cuda"),
        ("torch-universal", Interface.PYTHON, "universal"),
    ],
)
def test_other_forms(name: str, interface: Interface, backend: str) -> None:
    found = parse_variant(name)
    assert found is not None
    assert (found.interface, found.backend) == (interface, backend)


@pytest.mark.parametrize(
    "name",
    ["", "torch2.6-cu124-x86_64-linux", "torch28-cu-x86_64-linux", "torch28-vulkan-x86_64-linux"],
)
def test_what_kernels_does_not_read_is_no_build(name: str) -> None:
    assert parse_variant(name) is None


@given(st.text(max_size=200))
def test_any_name_is_read_or_refused(name: str) -> None:
    found = parse_variant(name)
    assert found is None or found.name == name
