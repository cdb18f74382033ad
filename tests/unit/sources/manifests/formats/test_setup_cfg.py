"""What setuptools takes from ``setup.cfg``."""

from __future__ import annotations

import pytest

from fadoctor.model.errors import InputError
from fadoctor.model.place import Place
from fadoctor.sources.manifests.chosen import choice_of
from fadoctor.sources.manifests.read import read_source
from tests.unit.sources.manifests.given import by_name, given, wanted

TEXT = """[metadata]
name = x
install_requires = nothing-of-this
[options]
python_requires = >=3.10
install_requires =
    torch==2.6.0
    # a comment
    transformers<4.50; sys_platform == "linux"
packages = find:
[options.extras_require]
serve = vllm==0.8.5
train =
  trl>=0.15
  peft
"""


def test_requirements_with_their_places() -> None:
    manifest = read_source(given(TEXT, "setup.cfg"))
    assert wanted(manifest) == {"torch": "==2.6.0", "transformers": "<4.50"}
    assert by_name(manifest)["torch"].place == Place("setup.cfg", 7, 5)
    assert by_name(manifest)["transformers"].marker == 'sys_platform == "linux"'
    assert manifest.python is not None
    assert manifest.python.value == ">=3.10"
    assert manifest.extras == ("serve", "train")
    assert [note.partition(": ")[2] for note in manifest.notes] == [
        "the extra serve is not asked for by default: vllm; --extra serve takes it",
        "the extra train is not asked for by default: trl, peft; --extra train takes it",
    ]


def test_a_chosen_extra() -> None:
    manifest = read_source(given(TEXT, "setup.cfg", choice_of(("Train",), ())))
    assert wanted(manifest)["trl"] == ">=0.15"
    assert "vllm" not in wanted(manifest)


def test_what_stands_elsewhere_is_noted() -> None:
    text = "[options]\ninstall_requires = file: requirements.txt\n"
    assert "not followed" in read_source(given(text, "setup.cfg")).notes[0]


@pytest.mark.parametrize(
    "text",
    [
        "[options]\ninstall_requires =\n  torch=2\n",
        "[options]\npython_requires = three\n",
        "[options]\n" + "#\n" * 20_001,
        "[options]\ninstall_requires =\n" + "  a\n" * 5_001,
    ],
)
def test_what_is_malformed_or_too_much_is_refused(text: str) -> None:
    with pytest.raises(InputError):
        read_source(given(text, "setup.cfg"))


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("setup.cfg", "[options]\ninstall_requires =\n    trl\n    torch==2.5.1  # in step\n"),
        ("tox.ini", "[testenv]\ndeps =\n    trl\n    torch==2.5.1  # in step\n"),
        (
            "setup.py",
            (
                "from setuptools import setup\n"
                "setup(install_requires=['trl', 'torch==2.5.1  # in step'])\n"
            ),
        ),
    ],
)
def test_a_remark_after_a_requirement(name: str, text: str) -> None:
    assert wanted(read_source(given(text, name))) == {"trl": "", "torch": "==2.5.1"}
