"""Releases for the Python of the target: what an installer does not take is no candidate."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from fadoctor.repair.resolution.versions import Versions
from tests.unit.repair.plan.problems import session
from tests.unit.sources.manifests.installed.test_environment import planned

if TYPE_CHECKING:
    from pathlib import Path


def newest(folder: Path, package: str, python: str, specifier: str = "") -> str:
    tag = f"cp{python.replace('.', '')}"
    environment = planned(folder, "torch\n", python__version=f"{python}.1", python__abi_tag=tag)
    return Versions(environment, session().matrix).of(package, specifier)[0]


@pytest.mark.parametrize("package", ["torch", "torchaudio", "vllm", "transformers"])
def test_an_old_python_gets_an_older_release(tmp_path: Path, package: str) -> None:
    assert newest(tmp_path, package, "3.9") != newest(tmp_path, package, "3.12")


def test_releases_without_pythons_are_for_all(tmp_path: Path) -> None:
    assert newest(tmp_path, "xformers", "3.9") == newest(tmp_path, "xformers", "3.12")


def test_one_wheel_for_every_python_counts_from_the_python_that_it_requires(tmp_path: Path) -> None:
    assert newest(tmp_path, "torchvision", "3.12") == "0.29.2"
    assert newest(tmp_path, "torchvision", "3.9") == newest(tmp_path, "torchvision", "3.9", "<0.29")
