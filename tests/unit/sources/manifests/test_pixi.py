from __future__ import annotations

import pytest

from fadoctor.model.errors import InputError
from fadoctor.model.place import Place
from fadoctor.sources.manifests.formats import pixi_lock, pixi_toml
from tests.unit.sources.manifests.given import by_name, given, sample, wanted

LINUX = "sys_platform == 'linux' and platform_machine == 'x86_64'"
MAC = "sys_platform == 'darwin' and platform_machine == 'arm64'"
LOCK = """version: 6
environments:
  default:
    packages:
      linux-64:
      - pypi: a.whl
packages:
- pypi: a.whl
  name: a
  version: '1.0'
"""


def test_what_pixi_would_install() -> None:
    manifest = pixi_toml.read(sample("pixi.toml"))
    assert wanted(manifest) == {
        "torch": ">=2.5,<2.6", "cuda-version": "==12.6.*", "numpy": "", "trl": "", "peft": ">=0.14",
        "flash-attn": "==2.7.4.post1", "transformers": ">=4.48", "xformers": "==0.0.29.*",
    }  # fmt: skip
    found = by_name(manifest)
    assert (found["torch"].build, found["torch"].index) == ("cuda126*", "conda-forge")
    assert found["torch"].place == Place("pixi.toml", 11, 11)
    assert found["transformers"].index == "https://example.org/simple"
    assert found["trl"].url == "git+https://github.com/huggingface/trl.git@abc123"
    assert found["xformers"].marker == LINUX
    assert manifest.python is not None
    assert manifest.python.value == "==3.11.*"
    assert manifest.facts["torch.cuda"].value == "12.6"
    notes = " ".join(manifest.notes)
    assert "the feature serve is not asked for by default: vllm" in notes
    assert "asks for a machine whose driver has CUDA 12" in notes


def test_a_lock() -> None:
    manifest = pixi_lock.read(sample("pixi.lock"))
    assert manifest.is_complete
    torch = {each.build: each.marker for each in manifest.requirements if each.name == "torch"}
    assert torch == {"cuda126_py311hd0e2ea8_309": LINUX, "cpu_generic_py311h7a3d8d8_8": MAC}
    assert "torch.cuda" not in manifest.facts  # it has one on one of the platforms only
    found = by_name(manifest)
    assert (found["einops"].marker, found["transformers"].marker) == ("", "")
    assert found["flash-attn"].marker == LINUX
    assert found["flash-attn"].specifier == "==2.7.4.post1"
    assert found["flash-attn"].requires == ("torch", "einops")
    assert found["flash-attn"].place == Place("pixi.lock", 48, 3)
    assert found["transformers"].files == ("transformers-4.48.0-py3-none-any.whl",)
    assert manifest.python is not None
    assert manifest.python.value == "==3.11.11"
    assert "the environment serve is not asked for" in manifest.notes[0]


def test_a_lock_of_format_5() -> None:
    manifest = pixi_lock.read(sample("pixi-5.pixi.lock"))
    assert wanted(manifest) == {"torch": "==2.4.1"}
    assert manifest.facts["torch.cuda"].value == "11.8"


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        (LOCK.replace("version: 6", "version: 3"), "given:1 at `version`: a lock of an unknown"),
        (LOCK.replace("'1.0'", "new"), r"given:8 at `packages\[0\]`: 'new' is not a version"),
        (LOCK.replace("  name: a\n", ""), r"given:8 at `packages\[0\]`: a package without a name"),
        (LOCK.replace("pypi: a.whl\np", "pypi: b.whl\np"), "there is no record of this package"),
        (LOCK.replace("pypi: a.whl\np", "wheel: a.whl\np"), "given:6 .* neither a package"),
        ("version: 6\nenvironments: 3", "given:2 at `environments`: should be a table"),
        ("version: 6\n environments:", "given:2: not valid YAML: "),
    ],
)  # fmt: skip
def test_a_fault_of_a_lock_names_line_and_key(text: str, problem: str) -> None:
    with pytest.raises(InputError, match=problem):
        pixi_lock.read(given(text))


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("[dependencies]\nnumpy = 2", "given:2 at `dependencies.numpy`: should be text"),
        (
            "[dependencies]\nnumpy = '=>1'",
            "given:2 at `dependencies.numpy`: '=>1' is not a version",
        ),
        (
            "[pypi-dependencies]\na = 'x y'",
            "given:2 at `pypi-dependencies.a`: 'x y' is not a version range",
        ),
        ("[dependencies", "given:1: no TOML: expected \\]"),
    ],
)
def test_a_fault_of_a_manifest_names_line_and_key(text: str, problem: str) -> None:
    with pytest.raises(InputError, match=problem):
        pixi_toml.read(given(text))


def test_both_are_known() -> None:
    assert pixi_toml.recognises("pixi.toml", "")
    assert pixi_lock.recognises("pixi.lock", "")
    assert pixi_lock.recognises("a.lock", "version: 6\nenvironments:\n  default:\n")
    assert not pixi_lock.recognises("uv.lock", "version = 1\n")
