"""Names of wheels are read wherever a text has them."""

from __future__ import annotations

import pytest

from fadoctor.sources.logs.wheel_names import ENDS, wheel_names

NAME = "flash_attn-2.8.3+cu12torch2.8cxx11abiTRUE-cp312-cp312-linux_x86_64.whl"


@pytest.mark.parametrize(
    ("text", "names"),
    [
        (f"pip install {NAME}", {NAME}),
        (f"https://example.org/v2.8.3/{NAME.replace('+', '%2B')}", {NAME}),
        (f"《{NAME}》在哪里", {NAME}),
        ("pink-1.0-1-py3-none-any.whl, rose-2.0-cp39-abi3-manylinux_2_28_x86_64.whl",
         {"pink-1.0-1-py3-none-any.whl", "rose-2.0-cp39-abi3-manylinux_2_28_x86_64.whl"}),
        ("pip install pink.whl, or pink-1.0.tar.gz", set()),
    ],
)  # fmt: skip
def test_names_of_a_line(text: str, names: set[str]) -> None:
    assert wheel_names([text]) == names


def test_the_middle_of_a_long_text_is_left_out() -> None:
    lines = [""] * ENDS + [NAME] + [""] * ENDS
    assert not wheel_names(lines)
    assert wheel_names([*lines, f"pip install {NAME}"]) == {NAME}


@pytest.mark.parametrize("cut", [20, 32, 41])
def test_a_name_that_a_terminal_breaks_is_whole(cut: int) -> None:
    assert wheel_names([f"https://example.org/v2/{NAME[:cut]}", f"{NAME[cut:]} 下载失败"]) == {NAME}


def test_two_lines_that_end_by_themselves_are_no_name() -> None:
    assert wheel_names(["- flash-attn 2.8.3", f"{NAME} fails"]) == {NAME}
