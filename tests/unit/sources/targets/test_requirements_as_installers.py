"""What is said of requirements against what `pip check` and `uv pip check` say of them."""

from __future__ import annotations

import json
import platform
import re
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from fadoctor.knowledge.matrix.load import load_knowledge
from fadoctor.knowledge.matrix.query import Matrix
from fadoctor.model.environment import Target, requirers_in
from fadoctor.model.fact import Known
from fadoctor.model.packages import BYSTANDERS, COMPANIONS, PACKAGES
from fadoctor.processes.run import run
from fadoctor.sources.probes.packages import probe
from fadoctor.sources.probes.world import World
from fadoctor.sources.targets.unmet_requirements import unmet_requirements
from tests.unit.sources.targets.made_requirements import (
    enumerate_environments,
    read_distributions,
    write_environment,
)
from tests.uv import UV

if TYPE_CHECKING:
    from collections.abc import Iterable

NUMBER = 300
HERE = Path(__file__).parent
MATRIX = Matrix(load_knowledge().tables)
STACK = {name for key, names in PACKAGES.items() if key not in BYSTANDERS for name in names}
OURS = {name for names in PACKAGES.values() for name in names} | COMPANIONS

Broken = set[tuple[str, str]]
"""Who requires, and what of it does not hold."""

# The real command, for many folders in one process: each becomes all that there is to import.
PIP = """
import contextlib, io, json, sys
standard, pip, folders = json.loads(sys.argv[1])
sys.path[:] = [*standard, pip]
from pip._internal.cli.main import main
found = {}
for folder in folders:
    sys.path[:] = [folder, *standard, pip]
    said = io.StringIO()
    with contextlib.redirect_stdout(said):
        main(["check", "--disable-pip-version-check"])
    found[folder] = said.getvalue()
print(json.dumps(found))
"""


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    distributions = read_distributions(HERE / "distributions.yaml")
    base = tmp_path_factory.mktemp("made")
    found = []
    for number, chosen in enumerate(enumerate_environments(distributions, NUMBER)):
        folder = base / str(number)
        folder.mkdir()
        write_environment(folder, chosen)
        found.append(folder)
    return found


def of_the_stack(broken: Iterable[tuple[str, str]]) -> Broken:
    return {(asker, needs) for asker, needs in broken if asker in OURS or needs in STACK}


def by_fadoctor(folder: Path) -> Broken:
    target = Target("site-packages", "x", "x", site=(str(folder),), roots={"site": str(folder)})
    host: dict[str, Any] = {
        "host.os": "linux",
        "host.machine": platform.machine(),
        "host.kernel": platform.release(),
        "python.version": platform.python_version(),
        "python.implementation": "cpython",
    }
    facts = {name: Known(value, "test") for name, value in host.items()}
    world = World(target, {}, run, "linux")
    facts |= probe(world, dict(facts))  # type: ignore[arg-type] # facts of a test are Known
    facts["torch.build"] = Known("pypi", "test")
    keys = (*PACKAGES, *requirers_in(facts))
    unmet = unmet_requirements(facts, MATRIX, keys)
    found: Broken = set()
    for key in keys:
        broken = unmet.get(f"{key}.unmet")
        if isinstance(broken, Known) and isinstance(broken.value, dict):
            asker = facts[f"{key}.distribution"]
            assert isinstance(asker, Known)
            found |= {(str(asker.value), needs) for needs in broken.value}
    return found


def normalised(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


# peft 0.17.1 requires accelerate, which is not installed.
# peft 0.17.1 has requirement transformers>=4, but you have transformers 3.0.
_PIP = re.compile(r"^(\S+) \S+ (?:requires|has requirement) ([A-Za-z0-9._-]+)", re.MULTILINE)
OF_NO_METADATA = {
    ("transformers", "accelerate"),
    ("transformers", "peft"),
    ("diffusers", "peft"),
}
"""What a package compares by itself, at import or where it is used, and requires in no metadata."""

# The package `peft` requires `accelerate>=0.21.0`, but it's not installed
_UV = re.compile(r"The package `([^`]+)` requires `([A-Za-z0-9._-]+)")


@pytest.mark.long
def test_as_pip_check_on_100_environments(folders: list[Path], tmp_path: Path) -> None:
    """It would catch a marker, a pre-release, an extra or a name that is taken otherwise."""
    folders = folders[: NUMBER // 3]
    pip = pytest.importorskip("pip")
    (tmp_path / "pip").symlink_to(Path(pip.__file__).parent)
    standard = [sysconfig.get_path("stdlib"), sysconfig.get_config_var("DESTSHARED")]
    asked = json.dumps([standard, str(tmp_path), [str(folder) for folder in folders]])
    done = subprocess.run(
        [sys.executable, "-I", "-S", "-c", PIP, asked], capture_output=True, text=True, check=True
    )
    said = json.loads(done.stdout)
    broken = 0
    for folder in folders:
        theirs = {(normalised(a), normalised(n)) for a, n in _PIP.findall(said[str(folder)])}
        ours = by_fadoctor(folder)
        assert ours - OF_NO_METADATA == of_the_stack(theirs), folder
        broken += bool(theirs)
    assert broken > len(folders) // 2


@pytest.mark.weekly
def test_as_uv_pip_check_on_300_environments(folders: list[Path], tmp_path: Path) -> None:
    if not UV:
        pytest.skip("no uv")
    venv = tmp_path / "venv"
    subprocess.run([UV, "venv", "-q", "--python", sys.executable, str(venv)], check=True)
    [site] = venv.glob("lib/python*/site-packages")
    broken = 0
    for folder in folders:
        shutil.rmtree(site)
        shutil.copytree(folder, site)
        command = [UV, "pip", "check", "--python", str(venv)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        theirs = {(normalised(a), normalised(n)) for a, n in _UV.findall(done.stderr)}
        ours = by_fadoctor(folder)
        assert ours - OF_NO_METADATA == of_the_stack(theirs), folder
        broken += bool(theirs)
    assert broken > NUMBER // 2
