"""Readable names, and hostile ones."""

from __future__ import annotations

import random
import sys

import pytest

from fadoctor.binary.demangle import Demangler, is_safe
from tests.work import calls_of, which_ends

ERROR = "_ZN3c105ErrorC2ENS_14SourceLocationE"


@pytest.mark.skipif(sys.platform != "linux", reason="libstdc++.so.6 is of Linux")
@pytest.mark.parametrize(
    ("symbol", "text"),
    [
        (ERROR + "Ss", "c10::Error::Error(c10::SourceLocation, std::string)"),
        (
            ERROR + "NSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEEE",
            "c10::Error::Error(c10::SourceLocation, std::__cxx11::string)",
        ),
        ("_Z3fooi", "foo(int)"),
    ],
)
def test_names_in_cpp(symbol: str, text: str) -> None:
    assert Demangler().demangle(symbol) == text


@pytest.mark.parametrize(
    "symbol", ["malloc", "_Z", "_Znot a name", "", "_ZN3c10", "_Z3foo\x1b[31mi"]
)
def test_other_names_stay(symbol: str) -> None:
    assert Demangler().demangle(symbol) == symbol


def test_no_library_leaves_names_as_they_are() -> None:
    assert Demangler("libnot-there.so.9").demangle("_Z3fooi") == "_Z3fooi"


def bomb(levels: int) -> str:
    """Return a name in which each template takes the one before it twice."""
    text = "_Z1f1aI1bS0_E"
    for level in range(levels):
        text += f"1{chr(97 + level % 26)}IS{level + 1}_S{level + 1}_E"
    return text


def test_names_that_explode_are_not_demangled() -> None:
    assert not is_safe(bomb(30))
    assert not is_safe("_Z" + "N" * 2000)
    assert not is_safe("_Z3fooi\n")
    shown = Demangler().demangle("_Z" + "P" * 100_000 + "i")
    assert len(shown) == 2000


def test_what_is_demangled_takes_little_work() -> None:
    demangler, rng = Demangler(), random.Random(1)
    letters = "NEISTKRPJFXLDpabcdijklmnostuvwxyz0123456789_$."
    pieces = ("S_", "S0_", "T_", "Dp", "IT_E", "St", "NSt", "1aI", "E", "3foo", "Ss", "FvvE")
    most = 0
    for _ in range(3000):
        text = "_Z" + "".join(
            rng.choice(pieces) if rng.random() < 0.7 else rng.choice(letters)
            for _ in range(rng.randrange(300))
        )
        for name in (text, bomb(rng.randrange(7))):
            with which_ends():
                most = max(most, calls_of(lambda: demangler.demangle(name)))  # noqa: B023
    assert most < 2_000
