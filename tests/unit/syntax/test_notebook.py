from __future__ import annotations

import pytest

from fadoctor.model.errors import InputError
from fadoctor.syntax.notebook import read_notebook
from tests.unit.sources.manifests.given import given


@pytest.mark.parametrize("text", ['{"x": ' + "[" * 100_000, '{"x": ' + '{"a": ' * 100_000])
def test_one_that_is_nested_too_deeply_says_so_in_our_words(text: str) -> None:
    with pytest.raises(InputError) as caught:
        read_notebook(given(text, "a.ipynb"))
    assert caught.value.problem == "is not a notebook: nested too deeply"
