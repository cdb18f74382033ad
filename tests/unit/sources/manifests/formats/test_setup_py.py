"""What a project's ``setup.py`` asks for, by its syntax tree."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from fadoctor.model.errors import InputError
from fadoctor.model.place import Place
from fadoctor.sources.manifests.chosen import choice_of
from fadoctor.sources.manifests.read import read_manifest, read_source
from tests.unit.sources.manifests.given import by_name, given, wanted

if TYPE_CHECKING:
    from pathlib import Path

TEXT = """import setuptools

deps = ["torch==2.6.0", "flash-attn==2.7.4.post1"]

setuptools.setup(
    name="x",
    install_requires=deps,
    extras_require={"train": ["deepspeed==0.16.4"], "all": found()},
    python_requires=">=3.10",
)
"""


def test_requirements_with_their_places() -> None:
    manifest = read_source(given(TEXT, "setup.py"))

    assert wanted(manifest) == {"torch": "==2.6.0", "flash-attn": "==2.7.4.post1"}
    assert by_name(manifest)["flash-attn"].place == Place("setup.py", 3, 25)
    assert by_name(manifest)["flash-attn"].is_isolated
    assert manifest.python is not None
    assert manifest.python.value == ">=3.10"
    assert [note.partition(": ")[2] for note in manifest.notes] == [
        "the extra train is not asked for by default: deepspeed; --extra train takes it",
        "the extra all is computed: not all of it is read",
    ]


def test_a_chosen_extra() -> None:
    source = given(TEXT, "setup.py", choice_of(("train",), ()))
    assert wanted(read_source(source))["deepspeed"] == "==0.16.4"


@pytest.mark.parametrize(
    "head",
    [
        'with open("requirements.txt") as f:\n    asked = f.read().splitlines()\n',
        "asked = [line for line in open('requirements.txt')]\n",
    ],
)
def test_the_list_beside_is_followed(head: str, tmp_path: Path) -> None:
    (tmp_path / "requirements.txt").write_text("torch==2.6.0\n")
    path = tmp_path / "setup.py"
    path.write_text(f"from setuptools import setup\n{head}setup(install_requires=asked)\n")

    assert wanted(read_manifest(str(path))) == {"torch": "==2.6.0"}


def test_a_list_that_is_not_there_is_noted(tmp_path: Path) -> None:
    path = tmp_path / "setup.py"
    path.write_text('asked = read("requirements.txt")\nsetup(install_requires=asked)\n')

    assert any("requirements.txt is not read" in note for note in read_manifest(str(path)).notes)


def test_a_malformed_requirement_is_noted() -> None:
    manifest = read_source(given('setup(install_requires=["torch==2.6.0", "a b"])\n', "setup.py"))

    assert wanted(manifest) == {"torch": "==2.6.0"}
    assert any("no requirement as PEP 508 has it" in note for note in manifest.notes)


def test_a_script_that_asks_for_nothing_is_refused() -> None:
    with pytest.raises(InputError, match="installs nothing"):
        read_source(given("from setuptools import setup\nsetup(name='x')\n", "setup.py"))


def test_the_lists_that_setuptools_reads(tmp_path: Path) -> None:
    (tmp_path / "requirements.txt").write_text("torch==2.6.0\n")
    path = tmp_path / "pyproject.toml"
    head = '[project]\nname = "x"\ndynamic = ["dependencies"]\n'
    path.write_text(
        f'{head}[tool.setuptools.dynamic]\ndependencies = {{file = ["requirements.txt"]}}\n'
    )
    assert wanted(read_manifest(str(path))) == {"torch": "==2.6.0"}

    path.write_text(head)
    assert any("a build computes them" in note for note in read_manifest(str(path)).notes)


def test_a_blank_before_a_marker_may_be_missing() -> None:
    text = "[project]\ndependencies = [\"x @ git+https://h/x.git@1; python_version > '3'\"]\n"
    found = by_name(read_source(given(text, "pyproject.toml")))["x"]

    assert (found.url, found.marker) == ("git+https://h/x.git@1", 'python_version > "3"')


TABLE = """import re
from setuptools import setup
_asked = [
    "accelerate>=0.26",
    "torch==2.0.1",  # the one of the cluster
    "transformers[sentencepiece]>=4.30,<4.38",
]
asked = {b: a for a, b in (re.findall(r"^(([^!=<>~ ]+)(?:[!=<>~ ].*)?$)", x)[0] for x in _asked)}


def some(*names):
    return [asked[name] for name in names]


extras = {}
extras["torch"] = some("torch", "accelerate")
extras["odd"] = some("nowhere")
extras["all"] = extras["torch"] + ["einops"]
setup(install_requires=[asked["transformers"]], extras_require=extras)
"""


def test_requirements_that_are_looked_up_by_name() -> None:
    """Regression: a project that lists all of them once asked for nothing."""
    manifest = read_source(given(TABLE, "setup.py", choice_of(("torch",), ())))
    assert wanted(manifest) == {
        "transformers": "<4.38,>=4.30",
        "torch": "==2.0.1",
        "accelerate": ">=0.26",
    }
    # where the text of each is, so that a repair can change it
    assert by_name(manifest)["torch"].place == Place("setup.py", 5, 5)
    assert any("the extra odd is computed" in note for note in manifest.notes)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("for x in _asked)", "for x in more)"),
        ('    "accelerate>=0.26",\n', '    f"accelerate>={low}",\n'),
        ("[asked[name] for name in names]", "[asked[name] for name in names if name]"),
    ],
)
def test_a_table_of_another_form_stays_computed(old: str, new: str) -> None:
    assert old in TABLE
    text = TABLE.replace(old, new)
    manifest = read_source(given(text, "setup.py", choice_of(("torch",), ())))
    assert "torch" not in wanted(manifest)
    assert any("the extra torch is computed" in note for note in manifest.notes)
