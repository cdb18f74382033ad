"""What sources and headers say of rows, without an index."""

from __future__ import annotations

import pytest

from tools.refresh.drawn_files import CAPABILITIES, capabilities_of, nvcc_of
from tools.refresh.drawn_texts import has

_BACKEND = """
class Backend:
    @staticmethod
    def get_name() -> str:
        return "FLASHINFER"

    @classmethod
    def supports_compute_capability(cls, capability: DeviceCapability) -> bool:
        return {says}

    def other(self) -> None: ...
"""


@pytest.mark.parametrize(
    ("says", "fits"),
    [
        ("True", set(CAPABILITIES)),
        ("capability.major == 9", {"9.0"}),
        ("capability.major in [9, 10]", {"9.0", "10.0", "10.3"}),
        ("capability >= DeviceCapability(8, 9)", set(CAPABILITIES[4:])),
        (
            "capability >= DeviceCapability(7, 5) and capability <= DeviceCapability(\n 8, 6\n )",
            {"7.5", "8.0", "8.6"},
        ),
        ("cls.asks(capability)", None),
    ],
)
def test_the_gpus_of_a_backend(says: str, fits: set[str] | None) -> None:
    """A form that is not one of the list is not held, rather than guessed."""
    assert capabilities_of(_BACKEND.format(says=says), "FLASHINFER") == fits


def test_a_file_of_another_backend_says_nothing() -> None:
    assert capabilities_of(_BACKEND.format(says="True"), "FLASHMLA") is None


def test_the_package_of_a_toolkit() -> None:
    assert nvcc_of({"toolkit": "12.8"}) == ("nvidia-cuda-nvcc-cu12", ">=12.8,<12.9")
    assert nvcc_of({"toolkit": "13.0"}) == ("nvidia-cuda-nvcc", ">=13.0,<13.1")


def test_a_name_is_a_whole_word() -> None:
    assert has("softcap", "def f(softcap=0.0)")
    assert not has("softcap", "softcapped = 1")
