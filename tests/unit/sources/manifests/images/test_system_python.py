"""The Python of an image whose system's own Python is installed."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from fadoctor.sources.manifests.read import read_manifest

if TYPE_CHECKING:
    from pathlib import Path

UBUNTU = "FROM nvidia/cuda:12.4.1-devel-ubuntu22.04\n"
OPEN = "FROM example.org/some/image:1\n"


@pytest.mark.parametrize(
    ("text", "python"),
    [
        (f"{UBUNTU}RUN apt-get update && apt-get install -y python3 python3-pip\n", "==3.10.*"),
        (f"{UBUNTU}RUN apt install -y git \\\n    python3.10 python3-pip\n", "==3.10.*"),
        (f"{UBUNTU}RUN apt-get install -y python3.11 python3.11-venv\n", "==3.11.*"),
        (f"{OPEN}RUN apt-get install -y python3.12-dev\n", "==3.12.*"),
        (f"{OPEN}RUN apt-get install -y python3\n", None),
        (f"{UBUNTU}RUN apt-get install -y python3.11 python3-pip\n", None),  # whose pip is it?
        (
            (
                f"{UBUNTU}RUN apt-get install -y python3.11 python3-pip && "
                "ln -sf /usr/bin/python3.11 /usr/bin/python3\n"
            ),
            "==3.11.*",
        ),
        (
            (
                f"{UBUNTU}RUN apt-get install -y python3.12 python3-pip\nRUN update-alternatives "
                "--install /usr/bin/python3 python3 /usr/bin/python3.12 1\n"
            ),
            "==3.12.*",
        ),
        (  # pip is still that of python3
            (
                f"{UBUNTU}RUN apt-get install -y python3.11 python3-pip && "
                "ln -sf /usr/bin/python3.11 /usr/bin/python\n"
            ),
            None,
        ),
        (f"{UBUNTU}RUN apt-get install -y python3\nRUN conda create -n x\n", None),
        (f"{UBUNTU}RUN apt-get install -y python3\nRUN uv venv\n", None),
        (f"{UBUNTU}RUN apt-get install -y python3\nRUN uv pip install -p 3.12 torch\n", None),
        (
            f"{UBUNTU}RUN apt-get install -y python3\nRUN uv pip install --system torch\n",
            "==3.10.*",
        ),
        (f"{UBUNTU}RUN apt-get install -y git\n", None),
        ("FROM python:3.9-slim\nRUN apt-get install -y python3\n", "==3.9.*"),
    ],
)
def test_the_python_that_a_system_has(tmp_path: Path, text: str, python: str | None) -> None:
    """Regression: no release was chosen for images of CUDA, whose Python apt installs."""
    file = tmp_path / "Dockerfile"
    file.write_text(text)
    found = read_manifest(str(file)).python
    assert (found.value if found else None) == python


@pytest.mark.parametrize(
    ("asked", "refused"),
    [
        ("torch==2.3.1 torchvision==0.18.0", ["torchvision"]),
        ("torch==2.3.1 torchvision==0.18.1", []),
        ("torch torchvision==0.18.0", []),
        ("torch==2.3.1 xformers", []),
    ],
)
def test_a_command_that_rules_itself_out(tmp_path: Path, asked: str, refused: list[str]) -> None:
    """Regression: a plan wrote such a line, as a later command brings the torch that it fits."""
    file = tmp_path / "Dockerfile"
    file.write_text(f"{UBUNTU}RUN pip install {asked}\nRUN pip install xformers==0.0.26.post1\n")
    assert list(read_manifest(str(file)).refused) == refused
