"""The kinds of configurations: each has a reader, and a row of the page about them."""

from __future__ import annotations

import re
from importlib import import_module
from pathlib import Path

import pytest

from fadoctor.model.catalogue import build_catalogue
from fadoctor.model.errors import InputError
from fadoctor.sources.configs import READERS
from fadoctor.sources.configs.source import Source
from tests.unit.sources.configs.examples import EXAMPLES
from tests.unit.sources.configs.read import read

PAGE = Path(__file__).parents[4] / "docs" / "configurations.md"


def test_every_kind_stands_on_the_page() -> None:
    text = PAGE.read_text(encoding="utf-8")
    assert set(re.findall(r"^\| `([\w-]+)` \|", text, re.MULTILINE)) == READERS.keys()


@pytest.mark.parametrize("kind", READERS)
def test_a_reader_takes_whatever_it_is_forced_to_read(kind: str) -> None:
    reader = import_module(READERS[kind])
    for name, text in (
        ("x.yaml", "a: [1, {b: 2}]\n"),
        ("x.yaml", "- 1\n"),
        ("x", ""),
        ("x.py", ""),
    ):
        source = Source(name, text)
        assert reader.recognises(source) in {True, False}
        try:
            found = reader.read(source)
        except InputError:
            continue
        assert found.file == name


def test_what_is_said_is_in_the_catalogue() -> None:
    known = build_catalogue()
    for files in EXAMPLES.values():
        for name, text in files.items():
            for intent in read(text, name).intents:
                assert intent.name in known, intent
                assert intent.place.line >= 1
