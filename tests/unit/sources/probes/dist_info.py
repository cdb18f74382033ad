"""Build small site-packages trees and the world around them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fadoctor.model.environment import Target
from fadoctor.model.fact import Fact, Known
from fadoctor.sources.probes.world import World

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from fadoctor.processes.command import Command, Result

LINUX: dict[str, Fact] = {
    "host.os": Known("linux", "test"),
    "host.machine": Known("x86_64", "test"),
    "host.kernel": Known("6.1.0", "test"),
    "python.version": Known("3.11.7", "test"),
    "python.implementation": Known("cpython", "test"),
    "python.ext_suffix": Known(".cpython-311-x86_64-linux-gnu.so", "test"),
}
"""Facts of host and interpreter that the probes need."""


def no_process(command: Command) -> Result:
    """Fail: these probes start nothing."""
    raise AssertionError(command.argv)


def world_of(
    *sites: Path,
    home: Path | None = None,
    environ: Mapping[str, str] | None = None,
    os: str = "linux",
) -> World:
    """Return a world whose target has these package folders; the first is ``$site``."""
    roots = {"site": str(sites[0])} if sites else {}
    if home is not None:
        roots["home"] = str(home)
    site = tuple(str(folder) for folder in sites)
    target = Target("environment", "test", "--python", site=site, roots=roots)
    return World(target, environ or {}, no_process, os)


def put(file: Path, content: str | bytes = "") -> Path:
    """Write a file and the folders above it."""
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(content.encode() if isinstance(content, str) else content)
    return file


def add(site: Path, name: str, version: str, headers: str = "", **files: str) -> Path:
    """Record a distribution; `files` are more files of its dist-info (``direct_url`` is JSON)."""
    folder = site / f"{name}-{version}.dist-info"
    put(
        folder / "METADATA",
        f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n{headers}\nThe description.\n",
    )
    for member, content in files.items():
        put(folder / ("direct_url.json" if member == "direct_url" else member), content)
    return folder


def value(facts: Mapping[str, Fact], name: str) -> object:
    """Return the value of a fact that must be Known."""
    fact = facts[name]
    assert isinstance(fact, Known), f"{name}: {fact}"
    return fact.value
