"""Which CUDA libraries LD_LIBRARY_PATH puts before torch's own, by files written here."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from fadoctor.model.fact import Absent, Fact, Known
from tests.binaries.elf_writer import Spec
from tests.unit.sources.probes.test_binaries import SITE, SUFFIX, Machine

if TYPE_CHECKING:
    from pathlib import Path

WHEEL = f"{SITE}/nvidia/cudnn/lib"
OTHER = "/usr/local/cuda/lib64"
OWN = Known({"nvidia-cudnn-cu12": "9.10.2.21"}, "test")


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    return Machine(tmp_path)


def torch_needs(machine: Machine, *names: str, rpath: str = "", runpath: str = "") -> None:
    spec = Spec(needed=("libc10.so", *names), rpath=rpath, runpath=runpath)
    machine.library(f"{SITE}/torch/_C{SUFFIX}", spec)


def cudnn(machine: Machine, version: str, rpath: str = "", runpath: str = "") -> None:
    """Put torch's own cuDNN in place, and parts of another one into the toolkit's folder."""
    own = Spec(soname="libcudnn.so.9", rpath=rpath, runpath=runpath)
    machine.put(f"{WHEEL}/libcudnn.so.9", own)
    machine.put(f"{WHEEL}/libcudnn_graph.so.9", Spec(soname="libcudnn_graph.so.9"))
    torch_needs(machine, "libcudnn.so.9", rpath="$ORIGIN/lib:$ORIGIN/../nvidia/cudnn/lib")
    for name in ("libcudnn_graph.so.9", f"libcudnn_graph.so.{version}"):
        machine.put(f"{OTHER}/{name}", Spec(soname="libcudnn_graph.so.9"))


def value(facts: dict[str, Fact], name: str) -> object:
    fact = facts[f"torch.{name}"]
    assert isinstance(fact, (Known, Absent)), fact
    return fact.value if isinstance(fact, Known) else None


def jitlink(machine: Machine, rpath: str = "", runpath: str = "") -> None:
    for folder in (f"{SITE}/nvidia/nvjitlink/lib", OTHER):
        machine.put(f"{folder}/libnvJitLink.so.12", Spec(soname="libnvJitLink.so.12"))
    torch_needs(machine, "libnvJitLink.so.12", rpath=rpath, runpath=runpath)


def test_what_a_runpath_leaves_to_the_variable_is_told(machine: Machine) -> None:
    jitlink(machine, runpath="$ORIGIN/lib:$ORIGIN/../nvidia/nvjitlink/lib")
    facts = machine.read(LD_LIBRARY_PATH=OTHER)
    assert value(facts, "foreign_cuda") == {
        "libnvJitLink.so.12": f"{machine.root}{OTHER}/libnvJitLink.so.12"
    }
    assert value(machine.read(), "foreign_cuda") is None


def test_an_rpath_comes_before_the_variable(machine: Machine) -> None:
    jitlink(machine, rpath="$ORIGIN/lib:$ORIGIN/../nvidia/nvjitlink/lib")
    assert value(machine.read(LD_LIBRARY_PATH=OTHER), "foreign_cuda") is None


def test_what_torch_does_not_bring_has_to_come_from_elsewhere(machine: Machine) -> None:
    """A torch of NVIDIA's images or of conda takes the toolkit's libraries."""
    machine.put(f"{OTHER}/libnvJitLink.so.12", Spec(soname="libnvJitLink.so.12"))
    torch_needs(machine, "libnvJitLink.so.12", runpath="$ORIGIN/lib")
    assert value(machine.read(LD_LIBRARY_PATH=OTHER), "foreign_cuda") is None


def test_parts_of_another_cudnn_come_before_its_own(machine: Machine) -> None:
    cudnn(machine, "9.1.0", runpath="$ORIGIN")
    facts = machine.read(LD_LIBRARY_PATH=f"/gone:{OTHER}", packages__nvidia=OWN)
    assert value(facts, "foreign_cudnn") == "9.1.0"
    assert value(facts, "foreign_cudnn_in") == f"{machine.root}{OTHER}"
    assert value(facts, "foreign_cuda") is None


@pytest.mark.parametrize(
    ("version", "paths", "variable"),
    [
        ("9.10.2", {"runpath": "$ORIGIN"}, OTHER),  # the same release
        ("9.1.0", {"rpath": "$ORIGIN"}, OTHER),  # it looks beside itself first
        ("9.1.0", {"runpath": "$ORIGIN"}, f"{WHEEL}/..:/usr/lib"),
        ("9", {"runpath": "$ORIGIN"}, OTHER),  # nothing says which release it is
    ],
)
def test_nothing_is_said_where_nothing_is_certain(
    machine: Machine, version: str, paths: dict[str, str], variable: str
) -> None:
    cudnn(machine, version, **paths)
    facts = machine.read(LD_LIBRARY_PATH=variable, packages__nvidia=OWN)
    assert value(facts, "foreign_cudnn") is None
