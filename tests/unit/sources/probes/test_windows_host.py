"""What Windows says of itself: long paths, Visual C++, the driver, and which WSL this is."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from fadoctor.model.environment import Target
from fadoctor.model.fact import Absent, Known, Unknown
from fadoctor.sources.probes.gpu import probe as gpu_probe
from fadoctor.sources.probes.registry import (
    DISPLAY,
    FILE_SYSTEM,
    VC_RUNTIME,
    WINDOWS,
    recorded_registry,
)
from fadoctor.sources.probes.windows_host import (
    driver_version,
    msvc_facts,
    windows_host_facts,
    wsl_version,
)
from fadoctor.sources.probes.world import World
from tests.unit.sources.probes.dist_info import no_process, put

if TYPE_CHECKING:
    from pathlib import Path

    from fadoctor.model.fact import Fact
    from fadoctor.processes.command import Command, Result

ADAPTER: dict[str, str | int] = {
    "ProviderName": "NVIDIA",
    "DriverDesc": "NVIDIA GeForce RTX 4090",
    "DriverVersion": "32.0.15.7680",
}


def world(root: Path, keys: dict[str, dict[str, str | int]] | None, os: str = "windows") -> World:
    target = Target("environment", "x", "y")
    registry = None if keys is None else recorded_registry(json.dumps(keys))
    return World(target, {}, no_process, os, root, registry=registry)


def value(fact: Fact) -> object:
    assert isinstance(fact, Known), fact
    return fact.value


def test_the_registry_says_it(tmp_path: Path) -> None:
    facts = windows_host_facts(
        world(
            tmp_path,
            {
                WINDOWS: {"CurrentBuildNumber": "26100"},
                FILE_SYSTEM: {"LongPathsEnabled": 1},
                VC_RUNTIME: {"Installed": 1, "Version": "v14.44.35211.00"},
            },
        )
    )
    assert value(facts["host.windows_build"]) == "26100"
    assert value(facts["host.long_paths"]) is True
    assert value(facts["host.vc_runtime"]) == "14.44.35211.00"


def test_what_is_off_or_missing(tmp_path: Path) -> None:
    facts = windows_host_facts(
        world(tmp_path, {FILE_SYSTEM: {"LongPathsEnabled": 0}, VC_RUNTIME: {"Installed": 0}})
    )
    assert value(facts["host.long_paths"]) is False
    assert isinstance(facts["host.vc_runtime"], Absent)
    assert isinstance(facts["host.windows_build"], Unknown)


def test_what_cannot_be_read_is_unknown(tmp_path: Path) -> None:
    assert all(isinstance(f, Unknown) for f in windows_host_facts(world(tmp_path, None)).values())
    hostile: dict[str, dict[str, str | int]] = {
        VC_RUNTIME: {"Installed": 1, "Version": "\x1b[31m; rm -rf"},
        FILE_SYSTEM: {"x": 1},
    }
    facts = windows_host_facts(world(tmp_path, hostile))
    assert isinstance(facts["host.vc_runtime"], Unknown)
    assert value(facts["host.long_paths"]) is False


def test_other_systems_have_none(tmp_path: Path) -> None:
    for facts in (windows_host_facts, msvc_facts):
        assert {type(f) for f in facts(world(tmp_path, None, "linux")).values()} == {Absent}


@pytest.mark.parametrize(
    ("text", "version"),
    [("32.0.15.7680", "576.80"), ("31.0.15.3699", "536.99"), ("32.0.15.6094", "560.94"),
     ("30.0.14.7212", "472.12"), ("32.0.16.1029", "610.29"), ("32.0.15.80", "500.80"), ("", ""),
     ("1.2.3", ""), ("a.b.c.d", "")],
)  # fmt: skip
def test_the_version_of_a_driver(text: str, version: str) -> None:
    assert driver_version(text) == version


@pytest.mark.parametrize(
    ("kernel", "version"),
    [("5.15.167.4-microsoft-standard-WSL2", "2"), ("4.4.0-19041-Microsoft", "1"),
     ("6.6.87.2-microsoft-standard-WSL2+", "2"), ("6.1.0-28-amd64", "")],
)  # fmt: skip
def test_which_wsl(kernel: str, version: str) -> None:
    assert wsl_version(kernel) == version


def test_the_newest_compiler_counts(tmp_path: Path) -> None:
    root = tmp_path / "C:" / "Program Files" / "Microsoft Visual Studio"
    for version in ("14.9.25017", "14.44.35207", "14.38.33130", "99.1.1"):
        tools = root / "2022" / "BuildTools" / "VC" / "Tools" / "MSVC" / version
        put(tools / "bin" / "Hostx64" / "x64" / "cl.exe")
    put(root / "2022" / "Community" / "VC" / "Tools" / "MSVC" / "14.50.1" / "readme.txt")
    found = msvc_facts(world(tmp_path, None))
    assert value(found["toolkit.msvc.version"]) == "14.44.35207"
    assert str(value(found["toolkit.msvc.path"])).endswith("14.44.35207/bin/Hostx64/x64/cl.exe")


def test_without_one_it_is_absent(tmp_path: Path) -> None:
    assert {type(fact) for fact in msvc_facts(world(tmp_path, None)).values()} == {Absent}


def failing(_: Command) -> Result:
    from fadoctor.processes.command import Ending, Result  # noqa: PLC0415 -- the type is enough above

    return Result(Ending.EXITED, 1, "", "no", 0.1)


def gpus(root: Path, keys: dict[str, dict[str, str | int]]) -> dict[str, Fact]:
    target = Target("environment", "x", "y")
    registry = recorded_registry(json.dumps(keys))
    return gpu_probe(World(target, {}, failing, "windows", root, registry=registry), {})


def test_the_registry_knows_the_driver_where_the_driver_does_not_answer(tmp_path: Path) -> None:
    amd: dict[str, str | int] = {
        "ProviderName": "Advanced Micro Devices, Inc.",
        "DriverVersion": "32.0.13031.3015",
    }
    found = gpus(tmp_path, {rf"{DISPLAY}\0000": amd, rf"{DISPLAY}\0001": {**ADAPTER}})
    assert value(found["driver.version"]) == "576.80"
    count = found["gpu.count"]
    assert isinstance(count, Unknown)


def test_two_drivers_are_none(tmp_path: Path) -> None:
    """An adapter that was taken out stays in the registry."""
    old = {**ADAPTER, "DriverVersion": "31.0.15.3699"}
    found = gpus(tmp_path, {rf"{DISPLAY}\0000": old, rf"{DISPLAY}\0001": {**ADAPTER}})
    assert not isinstance(found["driver.version"], Known)
