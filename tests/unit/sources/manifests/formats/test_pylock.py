from __future__ import annotations

import pytest
from packaging.markers import Marker

from fadoctor.model.errors import InputError
from fadoctor.model.place import Place
from fadoctor.sources.manifests.formats.pylock import read, recognises
from tests.unit.sources.manifests.given import by_name, given, sample

ENTRY = '[[packages]]\nname = "torch"\nversion = "2.7.1"\n'
LINUX = {"sys_platform": "linux"}


def test_a_lock() -> None:
    manifest = read(sample("pylock.toml"))
    assert manifest.is_complete
    assert manifest.python is not None
    assert manifest.python.value == ">=3.11"
    found = by_name(manifest)
    assert found["torch"].specifier == "==2.7.1+cu128"
    assert found["torch"].index == "https://download.pytorch.org/whl/cu128"
    assert found["torch"].place == Place("pylock.toml", 16, 8)
    assert found["torch"].files == (
        "torch-2.7.1+cu128-cp311-cp311-manylinux_2_28_x86_64.whl",
        "torch-2.7.1+cu128-cp312-cp312-win_amd64.whl",
    )
    assert found["flash-attn"].files == ()
    assert found["trl"].url.endswith("trl.git@0123456789abcdef0123456789abcdef01234567")
    assert found["peft"].url == "https://example.org/peft-0.15.2.zip"
    assert (found["finetune"].url, found["finetune"].specifier) == (".", "")


def test_extras_and_groups_are_settled_in_the_markers() -> None:
    found = by_name(read(sample("pylock.toml")))
    asked = {
        name: not each.marker or Marker(each.marker).evaluate(LINUX) for name, each in found.items()
    }
    assert [name for name, holds in asked.items() if not holds] == ["sphinx", "vllm"]


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        (ENTRY.replace("2.7.1", ""), r"given:3 at `packages\[0\].version`: '' is not a version"),
        (ENTRY + "marker = 'x'", r"given:4 at `packages\[0\].marker`: 'x' is not a marker"),
        (ENTRY + "wheels = {}", r"given:4 at `packages\[0\].wheels`: should be a list"),
        (ENTRY + "vcs = 'git'", r"given:4 at `packages\[0\].vcs`: should be a table"),
        ("[[packages]]\nversion = '1'", r"given:1 at `packages\[0\]`: a package without a name"),
        ("requires-python = '3'", "given:1 at `requires-python`: '3' is not a version range"),
        ("packages = [\n", "given:2: no TOML: expected a value"),
    ],
)
def test_a_fault_names_line_and_key(text: str, problem: str) -> None:
    with pytest.raises(InputError, match=problem):
        read(given(text))


def test_it_is_known_by_the_names_of_the_standard() -> None:
    assert recognises("pylock.toml", "")
    assert recognises("pylock.gpu.toml", "")
    assert recognises("locked.toml", 'lock-version = "1.0"\ncreated-by = "pip"\n')
    assert not recognises("pylock.a.b.toml", "")
