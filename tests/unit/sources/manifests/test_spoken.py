"""What a text says beside its requirements."""

from __future__ import annotations

import pytest

from fadoctor.sources.manifests.read import read_held

SKIP = "FLASH_ATTENTION_SKIP_CUDA_BUILD"
NAME = "flash_attn-2.8.3+cu12torch2.4cxx11abiTRUE-cp311-cp311-linux_x86_64.whl"
FROM = "https://github.com/Dao-AILab/flash-attention/releases/download/v2.8.3/"


@pytest.mark.parametrize(
    ("setting", "is_set"),
    [
        (f"export {SKIP}=TRUE", True),
        (f'{SKIP}="TRUE" pip install einops', True),
        (f"# without {SKIP} it compiles", False),
        (f"export {SKIP}=FALSE", False),
    ],
)
def test_the_variable_that_skips_a_build_counts_wherever_it_stands(
    setting: str, *, is_set: bool
) -> None:
    found = read_held("make.sh", f"pip install torch==2.6.0\n{setting}\n")
    assert (SKIP in found.variables) is is_set


@pytest.mark.parametrize("address", [FROM + NAME, FROM + NAME.replace("+", "%2B")])
def test_a_wheel_that_was_fetched_has_its_address(address: str) -> None:
    found = read_held("make.sh", f"wget -q {address}\npip install ./{NAME}\n")
    [asked] = [each for each in found.requirements if each.name == "flash-attn"]
    assert asked.url.startswith(FROM)


def test_a_wheel_of_which_nobody_says_where_it_is_from_stays_a_path() -> None:
    found = read_held("make.sh", f"wget {FROM}other-1-py3-none-any.whl\npip install {NAME}\n")
    [asked] = [each for each in found.requirements if each.name == "flash-attn"]
    assert "://" not in asked.url
