from __future__ import annotations

import pytest

from fadoctor.model.errors import InputError
from fadoctor.model.place import Place
from fadoctor.sources.manifests.formats.conda_lock import read, recognises
from tests.unit.sources.manifests.given import by_name, given, sample, wanted

LINUX = "sys_platform == 'linux' and platform_machine == 'x86_64'"
ENTRY = """package:
- name: torch
  version: 2.7.1
  manager: pip
  platform: linux-64
"""


def test_a_lock_for_several_platforms() -> None:
    manifest = read(sample("conda-lock.yml"))
    assert manifest.is_complete
    assert wanted(manifest) == {"torch": "==2.5.1", "einops": "==0.8.0"}
    found = by_name(manifest)
    assert found["torch"].build == "cuda126_py311hd0e2ea8_309"
    assert found["torch"].marker == LINUX
    assert found["torch"].place == Place("conda-lock.yml", 28, 9)
    assert found["einops"].marker == ""
    assert found["einops"].files == ("einops-0.8.0-py3-none-any.whl",)
    assert manifest.python is not None
    assert manifest.python.value == "==3.11.11"
    assert manifest.facts["torch.cuda"].value == "12.6"
    assert "other categories need is not asked for by default: pytest" in manifest.notes[0]


def test_an_explicit_list() -> None:
    manifest = read(sample("explicit.txt"))
    assert manifest.is_complete
    assert manifest.kind == "conda explicit list"
    found = by_name(manifest)
    assert found["torch"].specifier == "==2.3.1"
    assert found["torch"].build == "py3.10_cuda12.1_cudnn8.9.2_0"
    assert found["torch"].index == "https://conda.example.org/pytorch"
    assert found["torch"].place == Place("explicit.txt", 6, 1)
    assert found["torch"].marker == LINUX
    assert found["flash-attn"].specifier == "==2.5.9.post1+cu122torch2.3cxx11abiFALSE"
    assert manifest.facts["torch.cuda"].value == "12.1"
    assert manifest.python is not None
    assert manifest.python.value == "==3.10.14"


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        (
            ENTRY.replace("2.7.1", "new"),
            r"given:3 at `package\[0\].version`: 'new' is not a version",
        ),
        (ENTRY.replace("2.7.1", "[2]"), r"given:3 at `package\[0\].version`: should be text"),
        (ENTRY.replace("  version: 2.7.1\n", ""), r"given:2 at `package\[0\]`: a package without"),
        ("package: 3", "given:1 at `package`: should be a list"),
        ("package:\n- name: [\n", "not valid YAML: "),
        ("@EXPLICIT\nhttps://example.org/x.whl", "given:2: no address of a package of conda"),
        ("@EXPLICIT\n# pip a b c", "given:2: no requirement as PEP 508 has it"),
    ],
)
def test_a_fault_names_line_and_key(text: str, problem: str) -> None:
    with pytest.raises(InputError, match=problem):
        read(given(text))


def test_they_are_known() -> None:
    assert recognises("gpu.conda-lock.yml", "")
    assert recognises("lock.yml", "version: 1\nmetadata:\n  content_hash:\n")
    assert recognises("spec-file.txt", "# platform: linux-64\n@EXPLICIT\n")
    assert not recognises("environment.yml", "dependencies:\n")
