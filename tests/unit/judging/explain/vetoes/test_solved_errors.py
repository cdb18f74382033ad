"""An error that a log quotes as over is no cause where another one follows."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.unit.judging.explain.conftest import found

if TYPE_CHECKING:
    from collections.abc import Callable

    from fadoctor.judging.explain.explain import Reading

AMPERE = "RuntimeError: FlashAttention only supports Ampere GPUs or newer."
DTYPE = "RuntimeError: FlashAttention only support fp16 and bf16 data type"


def loud(reading: Reading) -> list[str]:
    return [rule_id for rule_id, severity in found(reading) if severity != "note"]


@pytest.mark.parametrize(
    "quoted",
    [
        f"At first:\n{AMPERE}\n\nOn the other machine:\n{DTYPE}",
        f"{AMPERE}\nThis went away on an A100.\n{DTYPE}",
        f"{AMPERE} (solved by another card)\nnow\n{DTYPE}",
    ],
)
def test_the_error_that_is_left_is_named(read: Callable[[str], Reading], quoted: str) -> None:
    assert loud(read(quoted)) == ["dtype-fp32-into-fa2"]


@pytest.mark.parametrize(
    "log",
    [
        f"{AMPERE}\nThis is not fixed by an upgrade.\nKeyError: 'a'",
        f"{AMPERE}\nThey say that it is fixed in version 2.9.\nKeyError: 'a'",
        f"{AMPERE}\nHow can this be solved?\nKeyError: 'a'",
        f"Earlier it ran.\n{AMPERE}",
        f"{DTYPE}\nI fixed the tokenizer since.",
        f"{DTYPE} A flag can be used to override this check.\nKeyError: 'a'",
        f"They say this should fix the error, but I still get\n{AMPERE}",
        f"This commit improves speed, it says. Before:\n{DTYPE}",
        f"This PR makes it worse.\nAfter:\n{DTYPE}\nHow can I go back?",
        f"This should fix the error:\n{DTYPE}\nIt still does not run.",
        f"The import is solved, but now there is another error: {AMPERE}\nKeyError: 'a'",
    ],
)
def test_what_is_open_or_last_stays_loud(read: Callable[[str], Reading], log: str) -> None:
    assert len(loud(read(log))) == 1


@pytest.mark.parametrize(
    "log",
    [
        "Fixed! The undefined symbol went away with flash-attn 2.7.4.post1.",
        'If you see "nvcc was not found" while flash-attn is built, install the toolkit.',
        'flash-attn 2.8.3 fixes "undefined symbol" beside torch 2.7.',
        f"Ask for the GPU first\n\nThis should solve the error\n\n```\n{AMPERE}\n```\n",
        f"This patch rewords what is raised.\n\nBefore:\n```\n{AMPERE}\n```\nAfter:\nraise Refused",
        "This commit improves messages.\n\nAfter:\nRTX 5090 is not supported by CUDA 12.1.",
        f"This PR fixes the following crash on a V100:\n\n{AMPERE}\n\nby the use of sdpa.",
    ],
)
def test_an_error_that_is_only_told_of_is_none(read: Callable[[str], Reading], log: str) -> None:
    assert loud(read(log)) == []


@pytest.mark.parametrize(
    "log",
    [
        "Is there a release of flash-attn that fixes the undefined symbol with torch 2.7?",
        "Nothing fixes undefined symbol: _ZN3c104cuda9SetDeviceEi in flash_attn_2_cuda.so",
        "If you see this, help: flash_attn_2_cuda.so: undefined symbol: _ZN3c104cuda9SetDeviceEi",
        "flash_attn_2_cuda.so: undefined symbol: _ZN3c104cuda9SetDeviceEi, torch 2.4 fixes it",
    ],
)
def test_who_asks_about_an_error_has_it(read: Callable[[str], Reading], log: str) -> None:
    assert loud(read(log)) == ["abi-undefined-symbol"]
