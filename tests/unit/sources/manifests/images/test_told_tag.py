"""What the words of a tag say, of images that no table has."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from fadoctor.sources.manifests.images.told_tag import told_by_tag
from fadoctor.sources.manifests.planned import speaks_of_image
from fadoctor.sources.manifests.read import read_manifest

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.parametrize(
    ("tag", "said"),
    [
        ("th2.6.0-cu124-devel", "2.6.0 12.4"),
        ("py311-torch2.7.1-cuda12.8.1", "2.7.1 12.8 3.11"),
        ("pytorch_2.5.1_cu121_python3.10", "2.5.1 12.1 3.10"),
        ("v3-pt25-cu124-flash_attn2.7.4.post1", "2.5.* 12.4 2.7.4.post1"),
        ("torch2.8-cu129-fa2.8.3-cxx11abi1", "2.8.* 12.9 2.8.3"),
        ("pt251-cu118", "2.5.1 11.8"),
        # neighbours: the release is the image's own, or nothing says which build of torch it is
        ("2.6.0-cuda12.6-cudnn9-runtime", ""),
        ("torch2.6.0", ""),
        ("cu124-py311", ""),
        ("torch2.6.0-rocm6.2-py310", ""),
        ("torch2.6.0-cpu-cu124", ""),
        ("torch2.7.0.dev20250301-cu128", ""),
        ("torchtune0.6.1-cu124", ""),
        ("script25-cu124", ""),
    ],
)
def test_words_are_read_apart(tag: str, said: str) -> None:
    assert " ".join(told_by_tag(tag).values()) == said


def test_the_rest_of_such_an_image_stays_open(tmp_path: Path) -> None:
    """The release in a tag is one of GitHub, of which PyPI has a second upload alone."""
    file = tmp_path / "Dockerfile"
    file.write_text("FROM lab/train:th2.6.0-cu124-flashattn2.7.4\nRUN pip install einops\n")
    found = read_manifest(str(file))
    asked = {each.name: each for each in found.requirements}
    assert {name: each.specifier for name, each in asked.items()} == {
        "torch": "==2.6.0", "torchvision": "==0.21.0", "torchaudio": "==2.6.0",
        "flash-attn": "==2.7.4.post1", "einops": "",
    }  # fmt: skip
    assert asked["torch"].index.endswith("/cu124")
    assert any(map(speaks_of_image, found.notes))
