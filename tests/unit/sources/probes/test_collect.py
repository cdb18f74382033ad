"""The collector: needs first, side by side otherwise, and one broken probe harms no other."""

from __future__ import annotations

import importlib
import sys
import threading
import types
from typing import TYPE_CHECKING, Any

import pytest

from fadoctor.model.catalogue import build_catalogue, find_spec
from fadoctor.model.environment import Environment, Target
from fadoctor.model.fact import Absent, Known, Unknown
from fadoctor.processes.command import Command, Ending, Result
from fadoctor.sources.probes import PROBES, WAITING, import_path
from fadoctor.sources.probes.collect import collect
from fadoctor.sources.probes.import_path import list_names
from fadoctor.sources.probes.world import World

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

TARGET = Target("environment", "/x", "test")


def refuse(_: Command) -> Result:
    return Result(Ending.NOT_STARTED, 0, "", "no processes in this test", 0)


def world(run: Callable[[Command], Result] = refuse, **changes: Any) -> World:
    return World(TARGET, {}, run, "linux", **changes)


@pytest.fixture
def plant(monkeypatch: pytest.MonkeyPatch) -> Callable[[str, Any], str]:
    def plant_it(name: str, probe: Any) -> str:
        module = types.ModuleType(name)
        module.probe = probe  # type: ignore[attr-defined]  # a planted module
        monkeypatch.setitem(sys.modules, name, module)
        return name

    return plant_it


def test_a_probe_sees_the_facts_of_all_that_it_needs(plant: Callable[[str, Any], str]) -> None:
    first = plant("planted_one", lambda _w, _f: {"a.one": Known(1, "one")})
    second = plant("planted_two", lambda _w, f: {"a.two": Known(len(f), "two")})
    third = plant("planted_three", lambda _w, f: {"a.three": Known(len(f), "three")})
    other = plant("planted_other", lambda _w, f: {"a.other": Known(len(f), "other")})
    found = collect(
        world(),
        {"one": (first, ()), "two": (second, ("one",)), "three": (third, ("two",)),
         "other": (other, ())},
    )  # fmt: skip
    values = {n: f.value for n, f in found.facts.items() if isinstance(f, Known)}
    assert values == {"a.one": 1, "a.two": 1, "a.three": 2, "a.other": 0}


def test_a_broken_probe_leaves_its_facts_unknown(plant: Callable[[str, Any], str]) -> None:
    def breaks(_world: World, _facts: Any) -> Any:
        raise ZeroDivisionError("no\x1b[31m luck")

    name = plant("planted_broken", breaks)
    found = collect(world(), {"host": (name, ()), "driver": ("fadoctor.sources.probes.driver", ())})
    glibc = found.fact("host.glibc")
    assert isinstance(glibc, Unknown)
    assert glibc.reason == "the probe host broke: ZeroDivisionError: no?[31m luck"
    assert not isinstance(found.fact("driver.library"), Unknown)


@pytest.mark.parametrize("with_threads", [True, False])
def test_only_what_waits_for_programs_has_a_thread(
    plant: Callable[[str, Any], str], monkeypatch: pytest.MonkeyPatch, *, with_threads: bool
) -> None:
    """Threads that read files would only take the interpreter's lock from each other."""
    order: list[tuple[str, bool]] = []

    here = threading.current_thread()

    def probe_of(name: str) -> Any:
        def probe(_world: World, _facts: Any) -> dict[str, Any]:
            order.append((name, threading.current_thread() is here))
            return {}

        return probe

    if not with_threads:
        monkeypatch.setattr("fadoctor.processes.beside.start_thread", lambda *_: None)
    probes = {
        "files": (plant("planted_files", probe_of("files")), ()),
        "more": (plant("planted_more", probe_of("more")), ("files",)),
        "program": (plant("planted_program", probe_of("program")), ("files",)),
    }
    collect(world(), probes, {"program"})
    assert sorted(order) == [("files", True), ("more", True), ("program", not with_threads)]
    assert order[0][0] == "files"


@pytest.mark.parametrize("name", sorted(PROBES.keys() - WAITING - {"interpreter"}))
def test_a_probe_that_does_not_wait_starts_no_program(name: str) -> None:
    """That of the interpreter asks as well; it was answered before."""
    asked: list[Command] = []

    def note(command: Command) -> Result:
        asked.append(command)
        return refuse(command)

    importlib.import_module(PROBES[name][0]).probe(world(run=note), {})
    assert asked == []


def test_the_import_path_is_listed_once_for_all_probes(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    listed: list[str] = []

    def note(folder: str, limit: int) -> tuple[tuple[str, ...], str]:
        listed.append(folder)
        return list_names(folder, limit)

    monkeypatch.setattr(import_path, "list_names", note)
    site = str(tmp_path)
    target = Target("site-packages", site, "test", None, (site,), {"site": site})
    collect(World(target, {}, refuse, "linux"))
    assert listed == [site]
    collect(World(target, {}, refuse, "linux"))
    assert listed == [site, site]


def test_nothing_is_said_of_configurations_and_everything_is_sorted() -> None:
    found = collect(world(), {})
    assert [name for name in found.facts if name.startswith("config.")] == []
    assert list(found.facts) == sorted(found.facts)


def test_the_registry_orders_needs_before_those_who_need_them() -> None:
    names = list(PROBES)
    for name, (_, needs) in PROBES.items():
        assert all(names.index(need) < names.index(name) for need in needs)


@pytest.fixture(scope="module")
def here() -> Environment:
    """Return the facts of a machine where nothing can be run."""
    return collect(world())


def test_every_fact_that_a_probe_provides_is_in_the_catalogue(here: Environment) -> None:
    catalogue = build_catalogue()
    assert [name for name in here.facts if find_spec(catalogue, name) is None] == []


def test_every_fact_of_the_catalogue_is_provided(here: Environment) -> None:
    absent_packages = tuple(
        name.removesuffix("version")
        for name, fact in here.facts.items()
        if name.endswith(".version") and isinstance(fact, Absent)
    )
    missing = [
        spec.name
        for spec in build_catalogue().values()
        if spec.provider not in ("later", "derived", "log", "config", "contracts", "fleet")
        and "[]" not in spec.name
        and not spec.name.endswith("*")
        if spec.name not in here.facts and not spec.name.startswith(absent_packages)
    ]
    assert missing == []
