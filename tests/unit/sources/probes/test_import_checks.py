"""What transformers compares while it is imported, out of its sources."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fadoctor.model.environment import Target
from fadoctor.model.fact import Absent, Known, Unknown
from fadoctor.processes.run import run
from fadoctor.sources.probes.import_checks import import_checks
from fadoctor.sources.probes.import_path import read_import_path
from fadoctor.sources.probes.world import World

if TYPE_CHECKING:
    from pathlib import Path

    from fadoctor.model.fact import Fact

CHECK = 'pkgs_to_check_at_runtime = ["python", "tqdm",\n    "huggingface-hub",\n    "gone",\n]\n'
OLD = 'pkgs_to_check_at_runtime = "python tqdm regex".split()\n'
DEPS = """deps = {
    "Pillow": "Pillow>=10.0.1,<=15.0",
    "python": "python>=3.9.0",
    "tqdm": "tqdm>=4.27",
    "regex": "regex!=2019.12.17",
    "huggingface-hub": "huggingface-hub[x]>=0.34.0,<1.0",
}
"""


def read(folder: Path, **files: str) -> Fact:
    package = folder / "transformers"
    package.mkdir()
    (package / "__init__.py").write_text("")
    for name, text in files.items():
        (package / f"dependency_versions_{name}.py").write_text(text)
    target = Target("environment", "x", "x", site=(str(folder),), roots={"site": str(folder)})
    world = World(target, {}, run, "linux")
    return import_checks(world, read_import_path(world), "transformers")


def test_the_names_that_are_compared_with_their_versions(tmp_path: Path) -> None:
    found = read(tmp_path, check=CHECK, table=DEPS)
    assert isinstance(found, Known)
    assert found.value == {"tqdm": ">=4.27", "huggingface-hub": ">=0.34.0,<1.0"}


def test_the_older_form(tmp_path: Path) -> None:
    found = read(tmp_path, check=OLD, table=DEPS)
    assert isinstance(found, Known)
    assert found.value == {"tqdm": ">=4.27", "regex": "!=2019.12.17"}


def test_another_form_is_not_guessed_and_no_table_is_none(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "b").mkdir()
    assert isinstance(read(tmp_path / "a", check="x = deps", table=DEPS), Unknown)
    assert isinstance(read(tmp_path / "b"), Absent)
