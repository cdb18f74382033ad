from __future__ import annotations

import pytest

from fadoctor.model.errors import InputError
from fadoctor.model.place import Place
from fadoctor.sources.manifests.formats.pipfile import read, recognises
from tests.unit.sources.manifests.given import by_name, given, sample, wanted

PYTORCH = "https://download.pytorch.org/whl/cu126"


def test_a_pipfile() -> None:
    manifest = read(sample("Pipfile"))
    assert wanted(manifest) == {
        "torch": "==2.7.1", "flash-attn": "==2.8.3", "transformers": ">=4.51", "trl": "",
        "numpy": "",
    }  # fmt: skip
    found = by_name(manifest)
    assert found["torch"].index == PYTORCH
    assert found["torch"].place == Place("Pipfile", 12, 20)
    assert found["flash-attn"].marker == "sys_platform == 'linux'"
    assert found["trl"].url == "git+https://github.com/huggingface/trl.git@v0.18.0"
    assert [each.value for each in manifest.indexes] == [
        "https://index.example.org/simple",
        PYTORCH,
    ]
    assert manifest.python is not None
    assert manifest.python.value == "==3.11.*"
    assert not manifest.is_complete
    assert (
        "the group dev is not asked for by default: pytest; --group dev takes it"
        in manifest.notes[0]
    )


def test_a_lock() -> None:
    manifest = read(sample("Pipfile.lock"))
    assert manifest.is_complete
    assert wanted(manifest) == {"flash-attn": "==2.8.3", "torch": "==2.7.1+cu126", "trl": ""}
    found = by_name(manifest)
    assert found["torch"].index == PYTORCH
    assert found["torch"].place == Place("Pipfile.lock", 21, 24)
    assert found["flash-attn"].marker == "python_version >= '3.9' and sys_platform == 'linux'"
    assert found["trl"].url.endswith("trl.git@0123456789abcdef0123456789abcdef01234567")
    assert "secret" not in repr(manifest)


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        (
            "[packages]\ntorch = '2.7.1'",
            "given:2 at `packages.torch`: '2.7.1' is not a version range",
        ),
        ("[packages]\ntorch = 2", "given:2 at `packages.torch`: should be text"),
        ("[packages]\n'../x' = '*'", "given:2 at `packages.../x`: '../x' is not the name"),
        ("[[source]]\nname = 'x'", r"given:1 at `source\[0\]`: a source without a url"),
        ("[packages\n", "given:1: no TOML: expected \\]"),
        ('{"default": {"torch": {"version": "2"}}}', "given:1 at `default.torch.version`: '2'"),
        ('{"default": []}', "given:1 at `default`: should be a table"),
        ('{"default": {"torch": {"version": "==2"}}', "given:[12]: not valid YAML: "),
        ('{"default": {"torch": {}, "torch": {}}}', "given:1: this key is duplicated"),
    ],
)
def test_a_fault_names_line_and_key(text: str, problem: str) -> None:
    with pytest.raises(InputError, match=problem):
        read(given(text))


def test_both_are_known() -> None:
    assert recognises("Pipfile", "")
    assert recognises("Pipfile.lock", "")
    assert recognises("saved.json", '{\n    "_meta": {\n  "pipfile-spec": 6')
    assert not recognises("package.json", "{}")


def test_what_is_built_is_built_in_isolation() -> None:
    """Pipenv builds while it locks; what a lock has is built by its pip."""
    asked = by_name(
        read(given('[packages]\ntorch = "*"\nflash-attn = "==2.7.4.post1"\n', "Pipfile"))
    )
    assert (asked["flash-attn"].is_isolated, asked["flash-attn"].isolated_by) == (True, "Pipenv")
    assert not asked["torch"].is_isolated
