"""Later commands that replace what earlier ones have installed."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from fadoctor.sources.manifests.images.dockerfile import read
from tests.unit.sources.manifests.given import by_name, given, wanted
from tests.unit.sources.manifests.installed.test_contradicted import of_file
from tests.unit.sources.manifests.installed.test_environment import value

if TYPE_CHECKING:
    from pathlib import Path

    from fadoctor.sources.manifests.planned import Manifest

TORCH = "FROM nvidia/cuda:12.4.1-devel-ubuntu22.04\nRUN pip install torch==2.5.1\n"


def built(*commands: str) -> Manifest:
    return read(given(TORCH + "".join(f"RUN {each}\n" for each in commands), "Dockerfile"))


def test_what_a_package_requires_replaces_what_is_there() -> None:
    """Before, the image was said to hold a torch that pip had replaced."""
    manifest = built("pip install vllm==0.11.0")
    torch = by_name(manifest)["torch"]
    assert torch.specifier == "==2.8.0"
    assert torch.place == by_name(manifest)["vllm"].place
    assert manifest.notes == (
        (
            "Dockerfile:3: vllm==0.11.0 requires torch==2.8.0: an installer replaces torch==2.5.1, "
            "so the one at Dockerfile:2:17 does not stay: ask for torch==2.8.0 there"
        ),
    )


def test_of_a_torch_that_does_not_stay_all_that_comes_with_it_is_named() -> None:
    """Not of the image's own, of which no line asks for anything."""
    said = "pip install torch==2.8.0 torchvision==0.23.0 torchaudio==2.8.0"
    [note, *_] = (
        each for each in built(said, "pip install vllm==0.10.1.1").notes if "torch=" in each
    )
    assert note.endswith("ask for torch==2.7.1 torchvision==0.22.1 torchaudio==2.7.1 there")
    image = "FROM pytorch/pytorch:2.5.1-cuda12.4-cudnn9-devel\nRUN pip install vllm==0.11.0\n"
    assert "does not stay" not in " ".join(read(given(image, "Dockerfile")).notes)


@pytest.mark.parametrize(
    "command",
    [
        "pip install xformers==0.0.29.post1",  # requires the torch that is there
        "pip install --no-deps vllm==0.11.0",
        "pip install vllm==0.11.0 torch==2.5.1",  # pip refuses that itself
        "pip install -c bounds.txt transformers==4.57.1",
        "pip install vllm==99.0",  # nobody knows what it requires
        "pip install xformers --index-url https://download.pytorch.org/whl/cu124",
    ],
)
def test_what_leaves_it_alone(command: str) -> None:
    assert wanted(built(command))["torch"] == "==2.5.1"


@pytest.mark.parametrize("there", ["torch", "'torch>=2.4'"])
def test_what_came_without_a_version_is_what_a_later_command_needs(there: str) -> None:
    """Before, the newest torch was judged, which nothing leaves there."""
    text = f"FROM nvidia/cuda:12.4.1-devel-ubuntu22.04\nRUN pip install {there}\nRUN pip install "
    assert wanted(read(given(f"{text}vllm==0.6.3\n", "Dockerfile")))["torch"] == "==2.4.0"
    assert "torch" not in wanted(read(given(f"{text}'vllm<=0.6.3'\n", "Dockerfile")))


@pytest.mark.parametrize(
    ("command", "python"),
    [
        ("uv venv --python 3.10 /opt/venv", "==3.10.*"),
        ("uv venv -p python3.11", "==3.11.*"),
        ("virtualenv --python=/usr/bin/python3.12 /venv", "==3.12.*"),
        ("python3.9 -m venv /venv", "==3.9.*"),
        ("python3 -m venv /venv", None),
        ("uv venv", None),
        ("uv venv --python $PYTHON", None),
    ],
)
def test_which_python_an_environment_is_made_with(command: str, python: str | None) -> None:
    found = read(given(f"FROM ubuntu:22.04\nRUN {command}\n", "Dockerfile")).python
    assert (found.value if found else None) == python


def test_the_newest_release_takes_another_torch() -> None:
    """Of a torch that nobody chose: one that is chosen is kept, and the open name is told."""
    text = "FROM nvidia/cuda:12.4.1-devel-ubuntu22.04\nRUN pip install torch\nRUN pip install "
    manifest = read(given(f"{text}'vllm<=0.6.3'\n", "Dockerfile"))
    assert "torch" not in wanted(manifest)  # a resolver says which one
    assert "takes another torch" in manifest.notes[0]


@pytest.mark.parametrize(
    "command", ["pip install torch==2.6.0", "pip install -U torch", "pip install vllm==0.11.0"]
)
def test_what_was_compiled_for_a_torch_that_is_gone_is_in_doubt(
    tmp_path: Path, command: str
) -> None:
    commands = f"RUN pip install flash-attn==2.7.4.post1\nRUN {command}\n"
    found = of_file(tmp_path, "Dockerfile", TORCH + commands)
    assert value(found, "flash_attn.version") == "?"
    assert value(found, "flash_attn.distribution") == "flash-attn"
    assert "it was installed for torch==2.5.1" in str(found.fact("flash_attn.version"))


@pytest.mark.parametrize(
    "command",
    [
        "pip install torch==2.6.0 flash-attn==2.7.4",
        "pip install -U torch==2.5.1 transformers",
        "pip install torch==2.5.1+cu124",
        "pip install torch",
    ],
)
def test_what_comes_with_it_or_stays_is_not(tmp_path: Path, command: str) -> None:
    commands = f"RUN pip install flash-attn==2.7.4.post1\nRUN {command}\n"
    found = of_file(tmp_path, "Dockerfile", TORCH + commands)
    assert str(value(found, "flash_attn.version")).startswith("2.7.4")


def test_a_variable_of_the_same_command() -> None:
    assert wanted(built("V=0.21.0 && pip install torchvision==$V"))["torchvision"] == "==0.21.0"
    assert "trl" not in wanted(built("[ -e x ] && V=1; pip install trl==$V"))


@pytest.mark.parametrize(
    "command", ["pip install xformers==0.0.27", "pip install torchvision==0.19.1"]
)
def test_a_companion_leaves_the_torch_that_is_pinned(command: str) -> None:
    """Regression: the plan went back to the companion's torch, and broke what was beside it."""
    manifest = built(command)
    assert wanted(manifest)["torch"] == "==2.5.1"
    assert any("replaces torch==2.5.1" in note for note in manifest.notes)


def test_a_companion_replaces_a_torch_that_nobody_pins() -> None:
    text = "FROM nvidia/cuda:12.4.1-devel-ubuntu22.04\nRUN pip install torch\nRUN pip install "
    found = read(given(f"{text}xformers==0.0.27\n", "Dockerfile"))
    assert wanted(found)["torch"] == "==2.3.1"


def test_all_that_a_release_declares_is_replaced(tmp_path: Path) -> None:
    commands = "RUN pip install tokenizers==0.20.3\nRUN pip install vllm==0.8.5\n"
    found = of_file(tmp_path, "Dockerfile", TORCH + commands)
    assert "installer replaces tokenizers==0.20.3" in " ".join(found.target.notes)
    alone = commands.replace("vllm==0.8.5", "--no-deps vllm==0.8.5")
    found = of_file(tmp_path, "Dockerfile", TORCH + alone)
    assert "installer replaces tokenizers" not in " ".join(found.target.notes)
