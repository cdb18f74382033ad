from __future__ import annotations

import json

import pytest

from fadoctor.model.errors import InputError
from fadoctor.syntax.notebook import read_notebook
from tests.unit.sources.manifests.given import given


@pytest.mark.parametrize("text", ['{"x": ' + "[" * 100_000, '{"x": ' + '{"a": ' * 100_000])
def test_one_that_is_nested_too_deeply_says_so_in_our_words(text: str) -> None:
    with pytest.raises(InputError) as caught:
        read_notebook(given(text, "a.ipynb"))
    assert caught.value.problem == "is not a notebook: nested too deeply"


def notebook(*cells: str, indent: int | None = 1, between: int = 0) -> str:
    """Return a notebook of these cells, with lines of an output between them."""
    held = [
        {"cell_type": "code", "source": cell, "outputs": [{"text": ["x"] * between}]}
        for cell in cells
    ]
    return json.dumps({"cells": held}, indent=indent)


def test_a_script_in_one_line_of_the_file_stays_one_script() -> None:
    cell = "%%bash\nif true; then\n  pip install \\\n    torch triton \\\n    --pre\nfi\nls |\nwc"
    book = read_notebook(given(notebook(cell, indent=None), "a.ipynb"))
    assert book.shell.split("; ") == [
        "if true", "then   pip install  torch triton  --pre", "fi", "ls | wc",
    ]  # fmt: skip


def test_a_cell_is_found_beyond_long_outputs() -> None:
    text = notebook("import torch", "torch.compile(f)", between=9_000)
    book = read_notebook(given(text, "a.ipynb"))
    assert "torch.compile(f)" in text.split("\n")[book.line(2) - 1]
