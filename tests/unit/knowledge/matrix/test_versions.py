"""Versions and ranges: pre-releases, local parts, what is no version, what is too long."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fadoctor.knowledge.matrix.versions import (
    is_in,
    parse_range,
    parse_specifier,
    parse_version,
    version_part,
)
from tests.work import examples


@pytest.mark.parametrize(
    ("version", "range_text", "expected"),
    [
        ("2.6.0", ">=2.6,<2.8", True),
        ("2.6", ">=2.6.0,<2.8", True),
        ("2.8.0", ">=2.6,<2.8", False),
        ("2.7.4.post1", ">=2.6,<2.8", True),
        ("2.8.0.post1", ">=2.6,<2.8", False),
        ("2.6.0+cu124", ">=2.6,<2.8", True),
        ("2.10.0", ">=2.6,<2.8", False),
        ("2.7.4.post1", "==2.7.4", False),
        ("2.7.4+cu12", "==2.7.4", True),
        ("2.7.4", "==2.7.4+cu12", False),
        ("2.7.9", "~=2.7.4", True),
        ("2.8.0", "~=2.7.4", False),
        ("2.9", "~=2.7", True),
        # A pre-release of a bound lies on neither side of it, one in between lies within.
        ("2.6.0a0+nv25.01", ">=2.6", False),
        ("2.6.0a0+nv25.01", "<2.6", False),
        ("2.6.0.dev20241101", ">=2.6", False),
        ("2.6.0.dev20241101", "<2.6", False),
        ("2.6.0rc1", ">=2.5,<2.7", True),
        ("2.6.0rc1", "*", True),
        ("9999", ">=2.7.3", True),
        ("1!1.0", ">=2.6", True),
        ("2.6", ">=2.6, <2.8", True),
        ("2.6", " >= 2.6 ", True),
        ("weird", ">=2.6", None),
        ("", ">=2.6", None),
        ("2.6", ">2.6", None),
        ("2.6", "<=2.6", None),
        ("2.6", "!=2.6", None),
        ("2.6", "===2.6", None),
        ("2.6", "==2.*", None),
        ("2.6", "2.6", None),
        ("2.6", "", None),
        ("2.6", ">=2.6,", None),
        ("2.6", ">=2.6 <2.8", None),
        ("2.6", "*,>=2.6", None),
        ("2.6", ">=", None),
        ("2.6", "~=2", None),
        ("2.6", ">=2.6;<2.8", None),
    ],
)
def test_ranges(version: str, range_text: str, expected: bool | None) -> None:  # noqa: FBT001
    assert is_in(version, range_text) is expected


@pytest.mark.parametrize(
    ("text", "major", "minor", "base", "local"),
    [
        ("2.10.0+cu128", "2", "2.10", "2.10.0", "cu128"),
        ("12", "12", "12.0", "12", None),
        ("12.4", "12", "12.4", "12.4", None),
        ("525.60.13", "525", "525.60", "525.60.13", None),
        ("2.6.0a0+nv25.01", "2", "2.6", "2.6.0a0", "nv25.1"),
        ("2.7.4.post1", "2", "2.7", "2.7.4.post1", None),
        ("v2.6.0", "2", "2.6", "2.6.0", None),
        ("1!2.6", "2", "2.6", "1!2.6", None),
    ],
)
def test_parts(text: str, major: str, minor: str, base: str, local: str | None) -> None:
    parts = [version_part(text, part) for part in ("major", "minor", "base", "local")]
    assert parts == [major, minor, base, local]


@pytest.mark.parametrize("text", ["", " ", "weird", "cu128", "2.6.", "2..6", "-1", "2.6 beta", "∞"])
def test_what_is_no_version(text: str) -> None:
    assert parse_version(text) is None
    assert version_part(text, "major") is None


@pytest.mark.parametrize(
    "text", ["1" * 10_000_000, "1." * 5_000_000, "=" * 10_000_000, ">=1," * 250_000, "1" * 101]
)
def test_huge_texts_are_refused_at_once(text: str) -> None:
    assert parse_version(text) is None
    assert parse_range(text) is None
    assert is_in(text, ">=1") is None
    assert version_part(text, "base") is None


@pytest.mark.parametrize(
    ("text", "allows", "forbids"),
    [
        ("", "1.0a1", None),
        ("==3.2.0", "3.2.0", "3.2.1"),
        (">2.5,<=2.7,!=2.6", "2.7", "2.6"),
        ("==2.*", "2.9", "3.0"),
        (">=2.0a0", "2.0a1", "1.9"),
        ("<3", "2.9rc1", "3.0rc1"),
    ],
)
def test_specifiers_of_requirements(text: str, allows: str, forbids: str | None) -> None:
    specifier = parse_specifier(text)
    assert specifier is not None
    assert specifier.contains(allows, prereleases=True)
    assert forbids is None or not specifier.contains(forbids, prereleases=True)


@pytest.mark.parametrize(
    "text", ["about 2", "2.6", ">=", "@ https://e.org/x", "x" * 501, ">=1," * 200]
)
def test_what_is_no_specifier(text: str) -> None:
    assert parse_specifier(text) is None


@settings(max_examples=examples(150), deadline=None, database=None)
@given(st.text(max_size=40) | st.from_regex(r"[0-9.+!a-z<>=~,*-]{0,30}"), st.text(max_size=20))
def test_no_text_raises(version: str, range_text: str) -> None:
    assert is_in(version, range_text) in {True, False, None}
    assert is_in(range_text, version) in {True, False, None}
    parse_specifier(version)
    assert version_part(version, "local") is None or parse_version(version) is not None
