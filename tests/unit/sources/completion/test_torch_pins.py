"""Libraries of NVIDIA in another release than the torch of a list pins."""

from __future__ import annotations

import pytest

from fadoctor.model.fact import fact_mapping
from fadoctor.sources.targets.derived import derive
from tests.unit.sources.pasted.reading import matrix, read_environment

TRITON = {"2.4.1": "3.0.0", "2.5.1": "3.1.0", "2.5.1+cu121": "3.1.0"}
SMALL = "filelock 3.17.0|fsspec 2025.2.0|jinja2 3.1.5|networkx 3.4.2|sympy 1.13.1"
OWN = "nvidia-cuda-runtime-cu12 12.4.127|nvidia-nvjitlink-cu12 12.4.127"
OTHERS = "nvidia-cuda-runtime-cu12 12.5.82|nvidia-nvjitlink-cu12 12.5.82"


def unmet(torch: str, libraries: str, before: str = "") -> dict[str, str]:
    rows = [
        *SMALL.split("|"),
        "typing-extensions 4.12.2",
        f"torch {torch}",
        f"triton {TRITON[torch]}",
        *libraries.split("|"),
    ]
    body = "\n".join(f"{name:<27}{version}" for name, version in sorted(map(str.split, rows)))
    text = f"{before}\n$ pip list\n{'Package':<27}Version\n{'-' * 26} --------\n{body}\n"
    found = derive(read_environment(text.encode()), matrix())
    return fact_mapping(found.fact("torch.unmet"))


def test_a_library_of_another_release_is_not_what_torch_pins() -> None:
    """Regression: the message of the loader alone was read, and LD_LIBRARY_PATH blamed."""
    found = unmet("2.5.1", OWN.replace("nvjitlink-cu12 12.4.127", "nvjitlink-cu12 12.1.105"))
    assert found == {"nvidia-nvjitlink-cu12": "(==12.4.127, but 12.1.105 is installed)"}


def test_all_of_them_after_another_package_replaced_them() -> None:
    assert unmet("2.5.1", OTHERS).keys() == {"nvidia-cuda-runtime-cu12", "nvidia-nvjitlink-cu12"}


@pytest.mark.parametrize(
    ("torch", "libraries"),
    [
        ("2.5.1", OWN),
        ("2.5.1+cu121", OWN.replace("12.4.127", "12.1.105")),  # of torch's own index
        ("2.4.1", "nvidia-cuda-runtime-cu12 12.1.105|nvidia-nvjitlink-cu12 12.8.61"),  # no pin
        ("2.5.1", "nvidia-ml-py 12.560.30"),
    ],
)
def test_what_torch_does_not_pin_so_is_no_fault(torch: str, libraries: str) -> None:
    assert unmet(torch, libraries) == {}


def test_the_pins_are_known_where_libraries_of_another_cuda_were_left_behind() -> None:
    """What torch pins decides which of the two comes back into the folder that they share."""
    body = f"torch                      2.5.1\ntriton                     3.1.0\n{OWN}\n"
    left = "nvidia-nvjitlink-cu11 11.7.99"
    rows = "\n".join(sorted([*body.replace("|", "\n").splitlines(), left]))
    listed = f"$ pip list\n{'Package':<27}Version\n{'-' * 26} --------\n{rows}\n"
    needs = fact_mapping(read_environment(listed.encode()).fact("torch.requires"))
    assert needs.get("nvidia-nvjitlink-cu12") == "==12.4.127"
