"""The image of a node's container."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from fadoctor.fleet.image import image_of

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.parametrize(
    ("environ", "mark", "image"),
    [
        ({}, None, ""),
        ({}, "", ""),
        ({}, 'engine="podman-4.9"\nimage="quay.io/lab/train:2.8"\nimageid="ab"\n', "train:2.8"),
        ({}, 'imageid="ab"\n', ""),
        ({}, "image=" + '"' * 9_000, ""),
        ({"APPTAINER_CONTAINER": "/home/kim/train.sif"}, None, "train.sif"),
        ({"ENROOT_ROOTFS": "/var/lib/enroot/train/"}, 'image="x/other"', "train"),
        ({"SLURM_CONTAINER": ""}, 'image="x/other"', "other"),
    ],
)
def test_image(environ: dict[str, str], mark: str | None, image: str, tmp_path: Path) -> None:
    if mark is not None:
        (tmp_path / "run").mkdir()
        (tmp_path / "run/.containerenv").write_text(mark)
    assert image_of(environ, tmp_path) == image
