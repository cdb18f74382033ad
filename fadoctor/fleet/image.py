"""The image of the container that a node runs in, where its runtime tells."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

from fadoctor.model.files import read_file

if TYPE_CHECKING:
    from collections.abc import Mapping

_VARIABLES = ("SLURM_CONTAINER", "APPTAINER_CONTAINER", "SINGULARITY_CONTAINER", "ENROOT_ROOTFS")
_PODMAN = "run/.containerenv"
"""Podman's mark; it holds more than nothing where the container has all rights."""
_IMAGE = re.compile(r'^image="([^"\n]{1,300})"', re.MULTILINE)
_READ = 4_096


def image_of(environ: Mapping[str, str], root: Path = Path("/")) -> str:
    """Return an image's last name, "" where nothing tells: folders are not the node's."""
    found = next((environ[name] for name in _VARIABLES if environ.get(name)), "")
    return (found or _of_podman(root)).rstrip("/").rpartition("/")[2]


def _of_podman(root: Path) -> str:
    match = _IMAGE.search(read_file(root / _PODMAN, _READ) or "")
    return match[1] if match else ""
