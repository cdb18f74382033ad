"""Workflows, tasks of clouds, containers and recipes: what one machine of them installs."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from fadoctor.model.errors import InputError
from fadoctor.sources.manifests.commands.command_files import read, recognises
from fadoctor.sources.manifests.planned import UNSEEN_BASE, Manifest
from fadoctor.sources.manifests.read import read_manifest
from tests.unit.sources.manifests.given import by_name, given, wanted

if TYPE_CHECKING:
    from pathlib import Path


def of(text: str, name: str = "task.yaml") -> Manifest:
    return read(given(text, name))


def asked(manifest: Manifest) -> dict[str, tuple[str, int]]:
    return {each.name: (each.specifier, each.place.line) for each in manifest.requirements}


WORKFLOW = """\
on: push
env:
  TORCH: "2.6.0"
jobs:
  lint:
    steps:
      - run: pip install ruff mypy pytest
  gpu:
    steps:
      - uses: actions/checkout@v4
      - name: Install
        run: |
          pip install torch==$TORCH
          pip install flash-attn==2.7.4.post1 --no-build-isolation
      - if: matrix.extra
        run: pip install xformers==0.0.20
  other:
    steps:
      - run: pip install torch==${{ matrix.torch }} triton
"""


def test_the_job_that_installs_attention_is_read() -> None:
    manifest = of(WORKFLOW, "gpu.yml")
    assert asked(manifest) == {"torch": ("==2.6.0", 13), "flash-attn": ("==2.7.4.post1", 14)}
    assert any("xformers==0.0.20" in note and "condition" in note for note in manifest.notes)
    assert any("17: other installs apart" in note for note in manifest.notes)
    assert not any("lint" in note for note in manifest.notes)


def test_a_value_of_the_matrix_is_open() -> None:
    text = "jobs:\n  a:\n    steps:\n    - run: pip install torch==${{ matrix.t }} numpy\n"
    manifest = of(text)
    assert asked(manifest) == {"numpy": ("", 4)}
    assert any("is not known" in note for note in manifest.notes)


def test_a_task_has_its_setup_before_what_it_runs() -> None:
    manifest = of("run: |\n  pip install torch==2.7.1\nsetup: |\n  pip install torch==2.6.0 peft\n")
    assert asked(manifest) == {"torch": ("==2.7.1", 2), "peft": ("", 4)}
    assert UNSEEN_BASE in manifest.notes


def test_a_container_brings_its_image() -> None:
    manifest = of(
        "spec:\n  containers:\n  - image: pytorch/pytorch:2.6.0-cuda12.4-cudnn9-devel\n"
        "    command: [bash, -c]\n    args:\n    - pip install flash-attn==2.7.3 && python a.py\n"
    )
    assert asked(manifest) == {
        "torch": ("==2.6.0", 3), "torchvision": ("==0.21.0", 3), "torchaudio": ("==2.6.0", 3),
        "flash-attn": ("==2.7.3", 6),
    }  # fmt: skip
    assert manifest.image is not None


def test_lists_of_packages() -> None:
    manifest = of("python_version: py310\nrequirements:\n- torch==2.1.2\n- ./local\n- -r a.txt\n")
    assert asked(manifest) == {"torch": ("==2.1.2", 3)}
    assert manifest.python is not None
    assert manifest.python.value == "==3.10.*"
    manifest = of("build:\n  python_packages: ['torch==2.4.0']\n  run:\n  - pip install peft\n")
    assert asked(manifest) == {"torch": ("==2.4.0", 2), "peft": ("", 4)}


def test_a_list_without_commands_is_installed_at_once() -> None:
    assert not of("requirements: [torch==2.1.2, peft]\n").is_in_steps
    assert of("requirements: [torch==2.1.2]\nrun: pip install peft\n").is_in_steps


def test_a_target_comes_after_those_that_it_needs() -> None:
    text = (
        "TORCH ?= 2.6.0\nall: torch\n\tpip install flash-attn==2.7.3 \\\n\t  peft\n"
        "torch:\n\t@pip install torch==$(TORCH)\nrocm:\n\tpip install torch==2.5.1 triton\n"
    )
    manifest = of(text, "Makefile")
    assert asked(manifest) == {
        "torch": ("==2.6.0", 6), "flash-attn": ("==2.7.3", 3), "peft": ("", 4),
    }  # fmt: skip
    assert any("7: rocm installs apart from all" in note for note in manifest.notes)


@pytest.mark.parametrize("name", ["a.yml", "Makefile", "justfile", "run.bat"])
def test_where_nothing_installs_it_says_what_was_looked_for(name: str) -> None:
    with pytest.raises(InputError, match="Looked for: pip, uv"):
        of("a: 1\nb:\n  - c\n", name)


def test_names() -> None:
    assert all(recognises(name, "") for name in ("a.yaml", "ci.YML", "Makefile-cuda", "setup.ps1"))
    assert not any(recognises(name, "") for name in ("a.txt", "a.toml", "Dockerfile", "a.sh"))


RAY = """\
kind: RayService
spec:
  serveConfigV2: |
    applications:
      - name: llm
        runtime_env:
          pip: ["vllm==0.4.3", "transformers==4.40.2"]
"""


def test_a_list_in_a_file_within_the_file() -> None:
    manifest = read(given(RAY, "service.yaml"))
    assert wanted(manifest) == {"vllm": "==0.4.3", "transformers": "==4.40.2"}
    assert by_name(manifest)["vllm"].place.line == 7


def test_an_installer_that_a_variable_names_is_one() -> None:
    text = (
        "UV ?= uv\nAPP=$(shell sed -n 's/^v = //p' a.toml | tr -d '\"')\n\n"
        "setup: uv # Install\n\t$(UV) pip install torch==2.6.0\n"
    )
    assert asked(of(text, "Makefile")) == {"torch": ("==2.6.0", 5)}


def test_a_definition_of_apptainer_is_an_image_with_what_it_adds() -> None:
    text = (
        "Bootstrap: docker\nFrom: pytorch/pytorch:2.6.0-cuda12.4-cudnn9-devel\n\n"
        "%files\n  pip install x\n%post\n    pip install peft==0.15.2\n"
    )
    manifest = of(text, "train.def")
    assert asked(manifest)["peft"] == ("==0.15.2", 7)
    assert asked(manifest)["torch"][0].startswith("==2.6.0")


@pytest.mark.parametrize(
    "text",
    [
        "python:\n  packages:\n    - torch==2.6.0\n",
        "- hosts: a\n  tasks:\n    - ansible.builtin.pip:\n        name: [torch==2.6.0]\n",
    ],
)
def test_lists_of_bentoml_and_of_ansible(text: str) -> None:
    assert asked(of(text))["torch"][0] == "==2.6.0"


def test_a_list_of_pythons_is_no_list_of_packages() -> None:
    with pytest.raises(InputError):
        of('python: ["3.8", "3.9"]\nname: a\n')


def test_the_commands_of_a_development_container() -> None:
    text = '{"image": "python:3.11", "postCreateCommand": "pip install torch==2.6.0"}\n'
    assert asked(of(text, "devcontainer.json"))["torch"][0] == "==2.6.0"


COMPOSE = """services:
  api:
    build: ./api
  worker:
    build:
      context: .
      dockerfile: docker/worker.Dockerfile
  cache:
    image: redis:7
"""


def test_a_service_that_compose_builds(tmp_path: Path) -> None:
    for place, text in (
        ("api/Dockerfile", "FROM python:3.11\nRUN pip install fastapi\n"),
        ("docker/worker.Dockerfile", "FROM python:3.11\nRUN pip install torch==2.6.0\n"),
    ):
        (tmp_path / place).parent.mkdir()
        (tmp_path / place).write_text(text)
    file = tmp_path / "docker-compose.yml"
    file.write_text(COMPOSE)
    found = read_manifest(str(file))
    assert wanted(found) == {"torch": "==2.6.0"}
    file.write_text(COMPOSE.replace("docker/worker", "$FILE").replace("./api", "./other"))
    with pytest.raises(InputError, match="has no command that installs"):
        read_manifest(str(file))
