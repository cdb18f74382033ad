"""Files that describe several environments, of which one is judged: tox, Hatch, nox, clouds."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from fadoctor.sources.manifests.chosen import ManifestRequest
from fadoctor.sources.manifests.read import read_source
from tests.unit.sources.manifests.given import given

if TYPE_CHECKING:
    from fadoctor.sources.manifests.planned import Manifest


def of(text: str, name: str, choice: ManifestRequest | None = None) -> Manifest:
    return read_source(given(text, name, choice))


def asked(manifest: Manifest) -> dict[str, tuple[str, int]]:
    return {each.name: (each.specifier, each.place.line) for each in manifest.requirements}


TOX = """\
[tox]
envlist = lint, py311
[testenv]
deps =
    pytest
    torch==2.6.0
[testenv:lint]
deps = ruff
[testenv:py311]
basepython = python3.11
deps =
    {[testenv]deps}
    xformers==0.0.29.post3 ; sys_platform == "linux"
    other: vllm==0.8.5
commands_pre =
    pip install numpy<2
    pytest
"""


def test_the_environment_of_tox_that_installs_attention() -> None:
    found = of(TOX, "tox.ini")
    assert asked(found) == {
        "pytest": ("", 5), "torch": ("==2.6.0", 6), "xformers": ("==0.0.29.post3", 13),
        "numpy": ("<2", 16),
    }  # fmt: skip
    assert found.python is not None
    assert found.python.value == "==3.11.*"
    assert any("14" in note and "vllm" in note for note in found.notes)


def test_one_call_of_pip_builds_in_isolation() -> None:
    found = of("[testenv]\ndeps =\n  torch==2.6.0\n  flash-attn==2.6.3\n", "tox.ini")
    assert [each.is_isolated for each in found.requirements] == [False, True]


HATCH = """\
[project]
name = "x"
dependencies = ["numpy"]
[tool.hatch.envs.default]
dependencies = ["pytest"]
[tool.hatch.envs.gpu]
python = "3.11"
extra-dependencies = ["torch==2.6.0", "flash-attn==2.6.3"]
[tool.hatch.envs.docs]
detached = true
dependencies = ["mkdocs"]
"""


def test_the_environment_of_hatch_that_installs_attention() -> None:
    found = of(HATCH, "pyproject.toml")
    assert asked(found) == {
        "numpy": ("", 3), "pytest": ("", 5), "torch": ("==2.6.0", 8), "flash-attn": ("==2.6.3", 8),
    }  # fmt: skip
    assert [each.name for each in found.requirements if each.is_isolated] == ["flash-attn"]
    assert found.python is not None
    assert any("the group docs" in note for note in found.notes)


def test_an_environment_of_hatch_that_is_chosen() -> None:
    found = of(HATCH, "pyproject.toml", ManifestRequest(groups=("docs",)))
    assert asked(found) == {"mkdocs": ("", 11)}


def test_sessions_of_nox_are_machines_of_their_own() -> None:
    text = (
        "import nox\n@nox.session\ndef lint(session):\n    session.install('ruff')\n"
        "@nox.session\ndef gpu(session):\n    session.install('torch==2.6.0', 'pytest')\n"
        "    session.install('flash-attn==2.6.3')\n"
    )
    found = of(text, "noxfile.py")
    assert asked(found) == {
        "torch": ("==2.6.0", 7), "pytest": ("", 7), "flash-attn": ("==2.6.3", 8),
    }  # fmt: skip
    assert found.requirements[-1].is_isolated_by_new


CEREBRIUM = """\
[cerebrium.deployment]
python_version = "3.11"
shell_commands = ["pip install numpy"]
[cerebrium.dependencies.pip]
torch = "2.6.0"
transformers = "latest"
"""


def test_packages_of_cerebrium() -> None:
    found = of(CEREBRIUM, "cerebrium.toml")
    assert asked(found) == {"torch": ("==2.6.0", 5), "transformers": ("", 6), "numpy": ("", 3)}


DEVCONTAINER = """\
// https://aka.ms/devcontainer.json
{
  "image": "python:3.11", /* a remark
  */
  "postCreateCommand": "pip install torch==2.6.0", // "pip install x"
}
"""
TERRAFORM = """\
resource "aws_instance" "a" {
  user_data = <<-EOF
    #!/bin/bash
    pip install torch==2.6.0
  EOF
}
"""
MATRIX = """\
jobs:
  a:
    strategy:
      matrix:
        torch: ["2.6.0"]
        python: [3.10, 3.11]
    steps:
      - run: pip install torch==${{ matrix.torch }}
"""


@pytest.mark.parametrize(
    ("name", "text", "line"),
    [
        ("devcontainer.json", DEVCONTAINER, 5),
        ("main.tf", TERRAFORM, 4),
        ("gpu.yml", MATRIX, 8),
    ],
)
def test_commands_in_other_files(name: str, text: str, line: int) -> None:
    assert asked(of(text, name)) == {"torch": ("==2.6.0", line)}
