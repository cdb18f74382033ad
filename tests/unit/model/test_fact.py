"""Facts and environments: harmless text, and JSON both ways."""

from __future__ import annotations

import re
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fadoctor.model.environment import Environment, Target
from fadoctor.model.fact import Absent, Known, Unknown, printable
from tests.work import examples


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("plain text", "plain text"),
        ("é 日本 Ω", "é 日本 Ω"),
        ("two\nlines\r\n\tand a tab", "two lines   and a tab"),
        ("\x1b[31mred\x1b[0m", "?[31mred?[0m"),
        ("\x9b31m", "?31m"),
        ("a\x00b\x07c\x7f", "a?b?c?"),
        ("\u202eevil\u2066x\u2069", "?evil?x?"),
        ("\u200bzero\u200ewidth\ufeff", "?zero?width?"),
        ("\u2028line\u2029end", "?line?end"),
        (b"caf\xe9".decode("utf-8", errors="surrogateescape"), "caf?"),
        ("", ""),
    ],
)
def test_printable(text: str, shown: str) -> None:
    assert printable(text) == shown


@pytest.mark.parametrize("length", [0, 1, 239, 240])
def test_what_fits_is_kept(length: int) -> None:
    assert printable("x" * length) == "x" * length


@pytest.mark.parametrize("length", [241, 10_000_000])
def test_what_is_too_long_ends_with_dots(length: int) -> None:
    assert printable("x" * length) == "x" * 237 + "..."


def test_no_word_is_cut_in_two() -> None:
    """Half of an address no longer shows that a password stands in it."""
    text = "Looking in indexes: https://bob:swordfishery@example.org/simple"
    for limit in range(30, len(text)):
        assert not re.search(r"swordf\w*\.\.\.", printable(text, limit))


@settings(max_examples=examples(150), deadline=None, database=None)
@given(
    st.text(alphabet=st.characters(categories=("Cc", "Cf", "Cs", "Ll", "Zl", "Zp")), max_size=60)
)
def test_no_text_brings_control_characters_or_more_than_its_share(text: str) -> None:
    shown = printable(text, 20)
    assert len(shown) <= 20
    assert not any(ord(each) < 32 or 0x7F <= ord(each) < 0xA0 for each in shown)
    shown.encode()  # raises where a lone surrogate is left
    assert printable(shown, 20) == shown


@pytest.mark.parametrize("mark", ["\u061c", "\u2060", "\u00ad", "\u180e", "\U000e0041", "\ufff9"])
def test_further_invisible_marks_are_shown(mark: str) -> None:
    assert printable(f"a{mark}b") == "a?b"


FACTS: dict[str, Any] = {
    "host.wsl": Known(value=True, source="uname"),
    "gpu.count": Known(2, "nvidia-smi"),
    "torch.version": Known("2.10", "version.py"),
    "torch.libraries": Known(("a.so", "b.so"), "torch/lib"),
    "torch.requires": Known({"triton": "==3.2.0"}, "METADATA"),
    "host.glibc": Absent("musl"),
    "driver.version": Unknown("nvidia-smi timed out", "nvidia-smi"),
}


def test_an_environment_survives_json() -> None:
    target = Target("environment", "/venv", "--python", roots={"prefix": "/venv"}, may_run=True)
    environment = Environment("0.1.0", target, FACTS, ("--gpu V100",))
    encoded = msgspec.json.encode(environment)
    assert msgspec.json.decode(encoded, type=Environment) == environment
    plain = msgspec.json.decode(encoded)
    assert plain["schema_version"] == 1
    assert plain["facts"]["host.glibc"] == {"state": "absent", "source": "musl"}
    assert plain["facts"]["gpu.count"] == {"state": "known", "value": 2, "source": "nvidia-smi"}


@pytest.mark.parametrize(
    "fact",
    [
        b'{"state": "known", "value": 2.1, "source": "x"}',
        b'{"state": "known", "value": null, "source": "x"}',
        b'{"state": "known", "value": [1], "source": "x"}',
        b'{"state": "known", "value": {"a": ["b"]}, "source": "x"}',
        b'{"state": "known", "source": "x"}',
        b'{"state": "guessed", "value": "x", "source": "x"}',
        b'{"value": "x", "source": "x"}',
        b'"x"',
    ],
)
def test_what_is_no_fact(fact: bytes) -> None:
    with pytest.raises(msgspec.ValidationError):
        msgspec.json.decode(fact, type=Known | Absent | Unknown)


def test_a_fact_that_nobody_provided_is_unknown() -> None:
    environment = Environment("0", Target("facts", "x", "x"), FACTS)
    assert environment.fact("torch.version") == FACTS["torch.version"]
    assert environment.fact("no.fact") == Unknown("it was not read", "no.fact")
