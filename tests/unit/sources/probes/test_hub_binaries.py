"""Builds in the Hub's cache that would be taken: their libraries, read and never run."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from fadoctor.model.environment import Target
from fadoctor.model.fact import Absent, Fact, Known, Unknown
from fadoctor.sources.probes.hub_binaries import BUILD_LIMIT, read_builds
from fadoctor.sources.probes.world import World
from tests.binaries.elf_writer import Spec, Symbol
from tests.unit.binary.fatbin_builder import container, elf, image
from tests.unit.sources.probes.dist_info import LINUX, no_process
from tests.unit.sources.probes.test_binaries import NEW, OLD, PADDING, SITE, Machine

if TYPE_CHECKING:
    from pathlib import Path

FLASH = "kernels-community/flash-attn2"
BUILD = "torch212-cxx11-cu130-x86_64-linux"
COMMIT = "0123456789abcdef"
ASKED = f"kernel {FLASH}@v1 {BUILD}"
KEY = f"{FLASH}@v1 {BUILD} 2.12.1"
FOLDER = f"/hub/kernels--kernels-community--flash-attn2/snapshots/{COMMIT}/build/{BUILD}"


class Cache(Machine):
    """A system with torch and a cache of the Hub."""

    def __init__(self, root: Path) -> None:
        super().__init__(root)
        (root / FOLDER.lstrip("/")).mkdir(parents=True)
        (root / FOLDER.lstrip("/") / "metadata.json").write_text(json.dumps({"version": 1}))

    def build(self, *imports: str, name: str = "_flash_attn2_9a.abi3.so") -> None:
        symbols = tuple(Symbol(each) for each in imports)
        self.library(f"{FOLDER}/{name}", Spec(needed=("libc10.so",), imports=symbols))

    def opened(self, *builds: str, **more: Fact) -> dict[str, Fact]:
        facts = LINUX | {"torch.version": Known("2.12.1", "test")}
        facts |= {name.replace("__", "."): fact for name, fact in more.items()}
        below = f"{self.root}{SITE}"
        python = f"{self.root}/venv/bin/python"
        target = Target("environment", "test", "--python", python, (below,), {"site": below})
        world = World(target, {"KERNELS_CACHE": "/hub"}, no_process, "linux", self.root)
        return read_builds(world, facts, builds)


@pytest.fixture
def cache(tmp_path: Path) -> Cache:
    return Cache(tmp_path)


def said(facts: dict[str, Fact], name: str = "hub.loads") -> str:
    fact = facts[name]
    assert isinstance(fact, Known)
    assert isinstance(fact.value, dict)
    return fact.value[KEY]


def test_a_build_that_fits(cache: Cache) -> None:
    cache.build(NEW)
    assert said(cache.opened(ASKED)) == "yes"
    assert said(cache.opened(ASKED), "hub.code") == ""


def test_one_that_the_loader_refuses(cache: Cache) -> None:
    cache.build(OLD)
    text = said(cache.opened(ASKED))
    assert text == f"_flash_attn2_9a.abi3.so: undefined symbol: {OLD}"


def test_a_build_of_old_has_its_library_one_folder_below(cache: Cache) -> None:
    cache.build(OLD, name="flash_attn2/_flash_attn2_9a.abi3.so")
    assert "undefined symbol" in said(cache.opened(ASKED))


def test_the_code_that_it_holds(cache: Cache) -> None:
    code = elf(container(image(architecture=80), image(architecture=90)))
    cache.write(f"{FOLDER}/_flash_attn2_9a.abi3.so", code + PADDING)
    assert said(cache.opened(ASKED), "hub.code") == "unclaimed: 8.0 9.0"


def test_what_cannot_be_told(cache: Cache) -> None:
    assert said(cache.opened(ASKED)) == "? its compiled libraries were not found"
    assert cache.opened() == {}
    other = cache.opened(ASKED, host__os=Known("windows", "test"))
    assert isinstance(other["hub.loads"], Absent)
    cache.write(f"{SITE}/torch/_C.cpython-311-x86_64-linux-gnu.so", b"")
    cache.build(NEW)
    nobody = cache.opened(ASKED, torch__version=Absent("test"))
    assert isinstance(nobody["hub.loads"], Unknown)


@pytest.mark.parametrize(
    "asked",
    [
        f"kernel ../x@v1 {BUILD}", f"kernel {FLASH}@../../v1 {BUILD}", f"kernel {FLASH}@v1 ../..",
        f"kernel {FLASH}@v9 {BUILD}", f"model {FLASH}@v1 {BUILD}",
    ],
)  # fmt: skip
def test_names_lead_nowhere_else(cache: Cache, asked: str) -> None:
    cache.build(OLD)
    loads = cache.opened(asked)["hub.loads"]
    assert isinstance(loads, Known)
    assert isinstance(loads.value, dict)
    assert list(loads.value.values()) == ["? its compiled libraries were not found"]


def test_beside_a_torch_that_does_not_load_nobody_knows(cache: Cache) -> None:
    cache.build(NEW)
    cache.library(f"{SITE}/torch/lib/libtorch_global_deps.so", Spec(needed=("libcudnn.so.9",)))
    assert said(cache.opened(ASKED)) == "? torch itself does not load"


def test_few_builds_are_opened(cache: Cache) -> None:
    many = cache.opened(*(f"kernel {FLASH}@v{n} {BUILD}" for n in range(50)))
    assert isinstance(many["hub.loads"], Known)
    assert isinstance(many["hub.loads"].value, dict)
    assert len(many["hub.loads"].value) == BUILD_LIMIT


def test_a_build_in_a_folder_that_local_kernels_names(cache: Cache) -> None:
    cache.build(OLD)
    snapshot = FOLDER.partition("/build/")[0]
    python = f"{cache.root}/venv/bin/python"
    below = f"{cache.root}{SITE}"
    target = Target("environment", "test", "--python", python, (below,), {"site": below})
    environ = {"LOCAL_KERNELS": f"{FLASH}={snapshot}"}
    world = World(target, environ, no_process, "linux", cache.root)
    facts = LINUX | {"torch.version": Known("2.12.1", "test")}
    found = read_builds(world, facts, [f"local {FLASH}@v1 {BUILD}"])
    assert said(found) == f"_flash_attn2_9a.abi3.so: undefined symbol: {OLD}"
