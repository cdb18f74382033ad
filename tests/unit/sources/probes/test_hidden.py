"""What PYTHONPATH and the user site hide, on small trees; what they only add to is not hidden."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import msgspec
import pytest

from fadoctor.model.fact import Absent, Fact, Known, Unknown
from fadoctor.sources.probes.packages import probe
from tests.unit.sources.probes.dist_info import LINUX, add, put, value, world_of

if TYPE_CHECKING:
    from pathlib import Path

SITE = "lib/python3.11/site-packages"


class Machine:
    """An environment, a user's home and a folder of modules, each with its packages."""

    def __init__(self, root: Path) -> None:
        self.env, self.home, self.modules = root / "env", root / "home", root / "modules"
        self.site = self.env / SITE
        self.user = self.home / ".local" / SITE
        for folder in (self.site, self.user, self.modules):
            folder.mkdir(parents=True)

    def read(self, *sites: Path, **environ: str) -> dict[str, Fact]:
        world = world_of(*sites, home=self.home, environ=environ)
        roots = {"prefix": str(self.env), "site": str(self.site), "home": str(self.home)}
        target = msgspec.structs.replace(world.target, roots=roots)
        return probe(msgspec.structs.replace(world, target=target), dict(LINUX))


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    made = Machine(tmp_path)
    add(made.site, "torch", "2.8.0")
    put(made.site / "torch" / "__init__.py")
    return made


def assert_nothing_hidden(facts: dict[str, Fact]) -> None:
    assert isinstance(facts["packages.hidden"], Absent)
    assert isinstance(facts["packages.hidden_how"], Absent)
    assert isinstance(facts["torch.hidden_version"], Absent)


def test_another_torch_on_pythonpath_hides_the_environments(machine: Machine) -> None:
    add(machine.modules, "torch", "2.1.2")
    facts = machine.read(machine.modules, machine.site, PYTHONPATH=str(machine.modules))
    assert value(facts, "packages.hidden") == {"torch": "2.1.2 instead of 2.8.0"}
    assert value(facts, "packages.hidden_by") == (str(machine.modules),)
    assert value(facts, "packages.hidden_how") == ("PYTHONPATH",)
    assert value(facts, "torch.version") == "2.1.2"
    assert value(facts, "torch.hidden_version") == "2.8.0"


def test_the_user_site_comes_before_conda(machine: Machine) -> None:
    add(machine.user, "torch", "2.1.2")
    facts = machine.read(machine.user, machine.site)
    assert value(facts, "packages.hidden_by") == (f"~/.local/{SITE}",)
    assert value(facts, "packages.hidden_how") == ("user site",)


def test_a_checkout_on_pythonpath_hides_it_and_nobody_knows_its_version(machine: Machine) -> None:
    put(machine.modules / "torch" / "__init__.py")
    facts = machine.read(machine.modules, machine.site, PYTHONPATH=str(machine.modules))
    assert value(facts, "packages.hidden") == {"torch": "of unknown version instead of 2.8.0"}
    version = facts["torch.version"]
    assert isinstance(version, Unknown)
    assert "first on the path (PYTHONPATH)" in version.reason


@pytest.mark.parametrize("what", ["torch/notes.txt", "src/model.py", "torch.py.bak"])
def test_folders_that_only_add_hide_nothing(machine: Machine, what: str) -> None:
    put(machine.modules / what)
    facts = machine.read(machine.modules, machine.site, PYTHONPATH=str(machine.modules))
    assert_nothing_hidden(facts)
    assert value(facts, "torch.version") == "2.8.0"


def test_pth_files_of_pythonpath_are_not_read(machine: Machine, tmp_path: Path) -> None:
    """site.py reads those of the environment's own folders, also where PYTHONPATH names them."""
    add(tmp_path / "source", "vllm", "0.11.0")
    put(machine.modules / "editable.pth", f"{tmp_path}/source\n")
    facts = machine.read(machine.modules, machine.site, PYTHONPATH=str(machine.modules))
    assert isinstance(facts["vllm.version"], Absent)
    put(machine.site / "editable.pth", f"{tmp_path}/source\n")
    facts = machine.read(machine.site, PYTHONPATH=str(machine.site))
    assert value(facts, "vllm.version") == "0.11.0"


def test_the_same_version_twice_is_no_news(machine: Machine) -> None:
    add(machine.modules, "torch", "2.8.0")
    assert_nothing_hidden(
        machine.read(machine.modules, machine.site, PYTHONPATH=str(machine.modules))
    )


def test_a_package_that_the_environment_does_not_have_is_not_hidden(machine: Machine) -> None:
    add(machine.modules, "flash_attn", "2.7.4")
    assert_nothing_hidden(
        machine.read(machine.modules, machine.site, PYTHONPATH=str(machine.modules))
    )


def test_pythonpath_may_name_the_environments_own_folder(machine: Machine) -> None:
    """A virtual environment hides what the system has: that is what it is for."""
    add(machine.modules, "torch", "2.1.2")
    assert_nothing_hidden(machine.read(machine.site, machine.modules, PYTHONPATH=str(machine.site)))


def test_what_the_system_has_is_not_the_environments_own(machine: Machine, tmp_path: Path) -> None:
    """A virtual environment that sees the system's packages: those of the user come first."""
    system = tmp_path / "usr" / SITE
    add(system, "xformers", "0.0.28")
    add(machine.user, "xformers", "0.0.30")
    facts = machine.read(machine.site, machine.user, system)
    assert value(facts, "xformers.version") == "0.0.30"
    assert isinstance(facts["packages.hidden"], Absent)


def test_two_folders_of_pythonpath_hide_nothing_of_the_environment(
    machine: Machine, tmp_path: Path
) -> None:
    add(machine.modules, "xformers", "0.0.30")
    add(tmp_path / "more", "xformers", "0.0.28")
    path = os.pathsep.join((str(machine.modules), str(tmp_path / "more")))
    facts = machine.read(machine.modules, tmp_path / "more", machine.site, PYTHONPATH=path)
    assert_nothing_hidden(facts)


def test_an_editable_installation_lies_elsewhere(machine: Machine) -> None:
    editable = '{"url": "file:///src", "dir_info": {"editable": true}}'
    add(machine.site, "vllm", "0.11.0", direct_url=editable)
    put(machine.modules / "vllm" / "__init__.py")
    facts = machine.read(machine.modules, machine.site, PYTHONPATH=str(machine.modules))
    assert isinstance(facts["packages.hidden"], Absent)


def test_a_relative_entry_is_another_folder_elsewhere(machine: Machine) -> None:
    add(machine.modules, "torch", "2.1.2")
    facts = machine.read(machine.modules, machine.site, PYTHONPATH="modules:.")
    assert_nothing_hidden(facts)
    assert facts["torch.version"] == Known(
        "2.1.2", f"{machine.modules}/torch-2.1.2.dist-info/METADATA: Version: 2.1.2"
    )
