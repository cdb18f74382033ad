"""Releases that variables hold, in Dockerfiles and scripts."""

from __future__ import annotations

import pytest

from fadoctor.model.place import Place
from fadoctor.repair.resolution.variables import command_on_index, take_variable

CU128 = "https://download.pytorch.org/whl/cu128"


def taken(text: str, at: tuple[int, int], wanted: str, index: str = "") -> str:
    """Return what becomes of a text, "" where nothing is taken from a variable."""
    lines = text.split("\n")
    place = Place("Dockerfile", *at)
    change = ("torch", wanted, index)
    was = take_variable(lines, (place, at[1]), change, lambda _place, _more: None)
    return "\n".join(lines) if was else ""


@pytest.mark.parametrize(
    ("before", "at", "after"),
    [
        ("ARG V=2.2.1\nRUN pip install torch==$V", (2, 17),
         "ARG V=2.7.1+cu128\nRUN pip install torch==$V"),
        ("ARG V=2.2.1\nRUN pip install torch==${V} torchaudio==${V}", (2, 17),
         "ARG V=2.2.1\nRUN pip install torch==2.7.1+cu128 torchaudio==${V}"),
        ("ENV V 2.2.1\nRUN pip install 'torch==${V}'", (2, 17),
         "ENV V 2.7.1+cu128\nRUN pip install 'torch==${V}'"),
        ("ARG V=2.2.1\nARG C=cu121\nRUN pip install torch==${V}+${C}", (3, 17),
         "ARG V=2.7.1\nARG C=cu128\nRUN pip install torch==${V}+${C}"),
        ("ARG V=1\nARG V=2\nRUN pip install torch==${V}", (3, 17),
         "ARG V=1\nARG V=2\nRUN pip install torch==2.7.1+cu128"),
        ("RUN pip install torch==2.2.1", (1, 17), ""),
        ("ARG V=2.2.1\nRUN pip install torch==${V}.post1", (2, 17), ""),
    ],
)  # fmt: skip
def test_a_release_changes_where_its_variable_gets_it(
    before: str, at: tuple[int, int], after: str
) -> None:
    assert taken(before, at, "torch==2.7.1+cu128") == after


@pytest.mark.parametrize(
    ("named", "given", "then"),
    [
        ("https://download.pytorch.org/whl/${C}", "cu121", "cu128"),
        ("${C}", "https://download.pytorch.org/whl/cu121", CU128),
    ],
)
def test_an_index_changes_where_its_variable_gets_it(named: str, given: str, then: str) -> None:
    before = f"ARG V=2.2.1\nARG C={given}\nRUN pip install torch==${{V}} \\\n  --index-url {named}"
    after = before.replace(f"C={given}", f"C={then}").replace("2.2.1", "2.7.1")
    assert taken(before, (3, 17), "torch==2.7.1+cu128", CU128) == after


def test_a_command_whose_index_no_variable_names_gets_another_one() -> None:
    line = "pip install torch==2.7.1"
    assert command_on_index([line], 0, (line, 13), CU128) == (
        f"pip install --extra-index-url {CU128} torch==2.7.1"
    )
