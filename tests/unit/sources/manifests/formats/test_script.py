"""Scripts that say in a comment what they require."""

from __future__ import annotations

import pytest

from fadoctor.model.errors import InputError
from fadoctor.model.place import Place
from fadoctor.sources.manifests.formats.script import read, recognises
from fadoctor.sources.manifests.read import read_source
from tests.unit.sources.manifests.given import by_name, given, wanted

HEAD = '#!/usr/bin/env -S uv run --script\n"""Fine-tune."""\n'
BLOCK = """# /// script
# requires-python = ">=3.11,<3.13"
# dependencies = [
#   "torch==2.8.0",
#   "flash-attn>=2.7",
# ]
#
# [tool.uv.sources]
# torch = { index = "pt" }
# [[tool.uv.index]]
# name = "pt"
# url = "https://download.pytorch.org/whl/cu128"
# explicit = true
# ///
"""


def test_the_block_with_the_places_of_the_file() -> None:
    manifest = read(given(HEAD + BLOCK + "import torch\n", "train.py"))
    assert manifest.kind == "script"
    assert wanted(manifest) == {"torch": "==2.8.0", "flash-attn": ">=2.7"}
    found = by_name(manifest)
    assert found["torch"].place == Place("train.py", 6, 5)
    assert found["torch"].index == "https://download.pytorch.org/whl/cu128"
    assert manifest.python is not None
    assert (manifest.python.value, manifest.python.place.line) == (">=3.11,<3.13", 4)
    assert not manifest.is_complete


def test_what_is_one() -> None:
    assert recognises("train.py", "")
    assert recognises("train", "#!/usr/bin/env python\n# /// script\n")
    assert not recognises("train", "# /// script\n")
    assert read_source(given(BLOCK, "train.py")).kind == "script"


def test_an_end_in_the_midst_of_a_block_ends_nothing() -> None:
    text = '# /// script\n# dependencies = ["torch"]\n# x = """\n# ///\n# """\n# ///\n'
    assert wanted(read(given(text, "a.py"))) == {"torch": ""}


def test_blocks_of_other_kinds_are_left_alone() -> None:
    text = "# /// other\n# dependencies = [\n# ///\n\n" + BLOCK
    assert by_name(read(given(text, "a.py")))["torch"].place.line == 8


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("import torch\n", "has no block"),
        ('# /// script\n# dependencies = ["torch"]\nimport torch\n', "has no block"),
        (f"{BLOCK}\n{BLOCK}", "a second block # /// script, after that of line 1"),
        ('# /// script\n# dependencies = "torch"\n# ///\n', "should be a list"),
        ("# /// script\n# dependencies = [\n# ///\n", "no TOML"),
        ('# /// script\n# dependencies = ["torch=2"]\n# ///\n', "no requirement"),
    ],
)
def test_what_is_none_is_refused(text: str, problem: str) -> None:
    with pytest.raises(InputError, match=problem):
        read(given(text, "a.py"))
