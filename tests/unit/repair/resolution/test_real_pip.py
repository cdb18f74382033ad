"""What fadoctor says comes today, held against pip itself over wheels that are metadata alone."""

from __future__ import annotations

import json
import shutil
import subprocess
import zipfile
from typing import TYPE_CHECKING

import pytest

from fadoctor.model.fact import Known
from fadoctor.repair.resolution.resolver_worlds import come_today, picks
from fadoctor.repair.resolution.versions import Versions
from tests.unit.repair.plan.problems import session
from tests.unit.sources.manifests.installed.test_environment import planned

if TYPE_CHECKING:
    from pathlib import Path

NAMES = ("torch", "vllm", "xformers", "torchvision")
WHEEL = "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
PIP = shutil.which("pip")


@pytest.fixture(scope="module")
def house(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with a wheel for each release in the tables, which names its requirements."""
    folder = tmp_path_factory.mktemp("house")
    versions = Versions(planned(folder, "torch\n"), session().matrix)
    for name in NAMES:
        for version in versions.of(name, ""):
            if versions.has_file(name, version):
                needs = versions.requires(name, version).items()
                asked = "".join(f"Requires-Dist: {n}{text}\n" for n, text in needs if n in NAMES)
                text = f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n{asked}"
                with zipfile.ZipFile(folder / f"{name}-{version}-py3-none-any.whl", "w") as file:
                    file.writestr(f"{name}-{version}.dist-info/METADATA", text)
                    file.writestr(f"{name}-{version}.dist-info/WHEEL", WHEEL)
                    file.writestr(f"{name}-{version}.dist-info/RECORD", "")
    return folder


def by_pip(house: Path, *asked: str) -> dict[str, str]:
    argv = [str(PIP), "install", "--dry-run", "--ignore-installed", "--quiet", "--no-index",
            "--find-links", str(house), "--report", "-", *asked]  # fmt: skip
    told = subprocess.run(argv, check=True, capture_output=True, stdin=subprocess.DEVNULL)
    items = [each["metadata"] for each in json.loads(told.stdout)["install"]]
    return {each["name"]: each["version"] for each in items}


@pytest.mark.long
@pytest.mark.thinned
@pytest.mark.skipif(PIP is None, reason="pip is not here")
@pytest.mark.parametrize(
    "asked",
    [
        ("vllm", "torch"), ("vllm", "torchvision", "torch"), ("vllm", "xformers"),
        ("xformers", "torch"), ("torch", "xformers"), ("torch", "torchvision"),
        ("torch<2.9", "vllm"), ("vllm", "torch<2.9"), ("xformers", "torch<2.9"),
    ],
)  # fmt: skip
def test_pip_takes_the_same(asked: tuple[str, ...], house: Path, tmp_path: Path) -> None:
    ours = come_today(planned(tmp_path, "\n".join((*asked, ""))), session().matrix)
    facts = {name: ours.fact(f"{name}.version") for name in NAMES}
    ours_by_name = {n: str(f.value) for n, f in facts.items() if isinstance(f, Known)}
    assert ours_by_name == by_pip(house, *asked)


@pytest.mark.long
@pytest.mark.skipif(PIP is None, reason="pip is not here")
def test_nothing_is_said_surely_that_pip_does_otherwise(house: Path, tmp_path: Path) -> None:
    """Where torch stands first, pip looks through every vllm: which one it takes, nobody knows."""
    assert picks(planned(tmp_path, "torch\nvllm\n"), session().matrix) == {}
    assert by_pip(house, "torch", "vllm")["torch"] == by_pip(house, "vllm", "torch")["torch"]
