"""Compose and development containers name a Dockerfile, or an image: what it holds is read."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from fadoctor.model.errors import InputError
from fadoctor.sources.manifests.read import read_manifest

if TYPE_CHECKING:
    from pathlib import Path

DOCKERFILE = """ARG TORCH=2.5.1
FROM python:3.11 AS train
ARG TORCH
RUN pip install torch==${TORCH}
FROM python:3.11 AS serve
RUN pip install vllm==0.8.5
"""


def _asked(folder: Path, name: str, text: str) -> dict[str, str]:
    (folder / "docker").mkdir(exist_ok=True)
    (folder / "docker/Dockerfile").write_text(DOCKERFILE)
    file = folder / name
    file.parent.mkdir(exist_ok=True)
    file.write_text(text)
    return {each.name: each.specifier for each in read_manifest(str(file)).requirements}


@pytest.mark.parametrize(
    ("build", "asked"),
    [
        ("build: docker", {"vllm": "==0.8.5"}),
        ("build: {context: ., dockerfile: docker/Dockerfile}", {"vllm": "==0.8.5"}),
        ("build: {context: docker, target: train}", {"torch": "==2.5.1"}),
        ("build: {context: docker, target: train, args: {TORCH: 2.6.0}}", {"torch": "==2.6.0"}),
        ("build: {context: docker, target: train, args: [TORCH=2.7.0]}", {"torch": "==2.7.0"}),
        (
            "build: {context: docker, target: train, args: {TORCH: '${T:-2.4.1}'}}",
            {"torch": "==2.4.1"},
        ),
        ("image: mine:dev\n    build: docker", {"vllm": "==0.8.5"}),
    ],
)
def test_compose_builds_a_dockerfile(tmp_path: Path, build: str, asked: dict[str, str]) -> None:
    text = f"services:\n  gpu:\n    {build}\n    ports: ['80:80']\n"
    assert _asked(tmp_path, "docker-compose.yml", text) == asked


def test_docker_takes_the_name_in_small_letters(tmp_path: Path) -> None:
    (tmp_path / "small").mkdir()
    (tmp_path / "small" / "dockerfile").write_text("FROM vllm/vllm-openai:v0.8.5\n")
    text = "services:\n  gpu:\n    build: small\n"
    assert _asked(tmp_path, "compose.yaml", text)["vllm"] == "==0.8.5"


def test_a_development_container_builds_one_from_its_own_folder(tmp_path: Path) -> None:
    text = '{"build": {"dockerfile": "../docker/Dockerfile", "context": ".."}}'
    assert _asked(tmp_path, ".devcontainer/devcontainer.json", text) == {"vllm": "==0.8.5"}


@pytest.mark.parametrize(
    "image", ["vllm/vllm-openai:v0.10.0", "${IMAGE:-vllm/vllm-openai:v0.10.0}"]
)
def test_a_service_is_what_its_image_holds(tmp_path: Path, image: str) -> None:
    text = f"services:\n  db:\n    image: redis:7\n  gpu:\n    image: {image}\n"
    assert _asked(tmp_path, "compose.yaml", text)["vllm"] == "==0.10.0"


@pytest.mark.parametrize(
    "build",
    ["build: nowhere", "build: {context: docker, target: other}", "build: '${FOLDER}'"],
)
def test_a_dockerfile_that_cannot_be_read_is_no_answer(tmp_path: Path, build: str) -> None:
    with pytest.raises(InputError, match="has no command that installs packages"):
        _asked(tmp_path, "compose.yaml", f"services:\n  gpu:\n    {build}\n")
