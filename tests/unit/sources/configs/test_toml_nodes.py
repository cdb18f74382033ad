"""TOML of trainers: read by the one reader of TOML, with the place of every key."""

from __future__ import annotations

import pytest

from fadoctor.model.errors import InputError
from fadoctor.sources.configs.source import Source
from fadoctor.sources.configs.toml_nodes import read_toml
from fadoctor.syntax.tree import Node, walk

TEXT = """\
# a job
title = "x"
[model]
  attention.kind = "sdpa"
  dtype = "bfloat16"  # of the weights
layers = [1, 2]
[[stages]]
use = {flash = true}
"""


def read(text: str) -> Node:
    return read_toml(Source("a.toml", text))


def test_every_key_has_its_place() -> None:
    places = {".".join(path): (node.line, node.column) for path, node in walk(read(TEXT))}
    assert places == {
        "title": (2, 1),
        "model": (3, 1),
        "model.attention": (4, 3),
        "model.attention.kind": (4, 3),
        "model.dtype": (5, 3),
        "model.layers": (6, 1),
        "stages": (7, 1),
    }


def test_values_are_typed_wherever_they_stand() -> None:
    document = read(TEXT)
    [stage] = document.mapping["stages"].items
    flash = stage.get("use", "flash")
    assert flash is not None
    assert (flash.scalar, flash.line, flash.column) == (True, 8, 16)
    layers = document.get("model", "layers")
    assert layers is not None
    assert [(each.scalar, each.line, each.column) for each in layers.items] == [
        (1, 6, 11),
        (2, 6, 14),
    ]


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("a = 1\nb = \n", "a.toml:2: no TOML"),
        ("a = 1\na = 2\n", "duplicated"),
        ("a." * 45 + "a = 1\n", "levels deep"),
        ("a = [" + "1," * 50_001 + "]\n", "values"),
    ],
)
def test_what_is_no_toml_is_refused_with_its_line(text: str, problem: str) -> None:
    with pytest.raises(InputError, match=problem):
        read(text)
