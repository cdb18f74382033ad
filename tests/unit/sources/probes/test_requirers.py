"""What is read of distributions beside the packages of the catalogue."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fadoctor.model.environment import Target
from fadoctor.model.fact import Fact, Known, Unknown
from fadoctor.processes.run import run
from fadoctor.sources.probes.packages import probe
from fadoctor.sources.probes.world import World
from tests.cli.environments import add_package, make_environment

if TYPE_CHECKING:
    from pathlib import Path

HOST: dict[str, Fact] = {
    "host.os": Known("linux", "test"),
    "host.machine": Known("x86_64", "test"),
    "python.version": Known("3.11.7", "test"),
}


def read(site: Path) -> dict[str, object]:
    target = Target("environment", "x", "x", site=(str(site),), roots={"site": str(site)})
    facts = probe(World(target, {}, run, "linux"), dict(HOST))
    return {
        name: fact.value if isinstance(fact, Known) else fact
        for name, fact in facts.items()
        if name.startswith("requirer")
    }


def test_who_requires_a_part_of_the_stack_counts_for_that_part(tmp_path: Path) -> None:
    site = make_environment(tmp_path)
    add_package(site, "torchmetrics", "1.8.2", "Torch>=2.0", "rich>=10", 'trl; extra == "rl"')
    add_package(site, "pandas", "2.3.0", "numpy>=1.26")
    add_package(site, "torch-like", "1.0", "torch-geometric>=2")
    found = read(site)
    assert found["requirer.count"] == 1
    assert found["requirer[0].distribution"] == "torchmetrics"
    assert found["requirer[0].requires"] == {"torch": ">=2.0"}


def test_what_belongs_to_the_stack_counts_whole(tmp_path: Path) -> None:
    site = make_environment(tmp_path)
    add_package(site, "axolotl", "0.19.0", "trl==1.9.0", "fire", 'mamba-ssm; extra == "mamba"')
    found = read(site)
    assert found["requirer[0].requires"] == {"trl": "==1.9.0", "fire": ""}


def test_a_marker_that_cannot_be_decided_is_not_guessed(tmp_path: Path) -> None:
    site = make_environment(tmp_path)
    add_package(site, "odd", "1.0", 'torch; platform_version == "7"')
    assert isinstance(read(site)["requirer[0].requires"], Unknown)


def test_words_behind_the_headers_are_no_requirement(tmp_path: Path) -> None:
    site = make_environment(tmp_path)
    record = add_package(site, "notes", "1.0")
    text = (record / "METADATA").read_text("utf-8")
    (record / "METADATA").write_text(f"{text}\n\nRequires-Dist: torch\n", "utf-8")
    assert read(site)["requirer.count"] == 0
