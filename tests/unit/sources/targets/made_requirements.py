"""Environments of metadata folders alone, out of what releases really require."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING, Any

from tests.plain_yaml import read_plain

if TYPE_CHECKING:
    from pathlib import Path

Distribution = dict[str, Any]


def read_distributions(path: Path) -> dict[str, list[Distribution]]:
    """Return the releases of each distribution."""
    found: dict[str, list[Distribution]] = {}
    for each in read_plain(path):
        found.setdefault(each["name"], []).append(each)
    return found


def enumerate_environments(
    distributions: dict[str, list[Distribution]], number: int
) -> list[list[Distribution]]:
    """Return so many environments, the same ones each time: three to sixteen packages each."""
    found = []
    for seed in range(number):
        dice = random.Random(seed)  # noqa: S311 -- no secret
        names = dice.sample(sorted(distributions), dice.randint(3, 16))
        found.append([dice.choice(distributions[name]) for name in names])
    return found


def write_environment(folder: Path, chosen: list[Distribution]) -> None:
    """Write the metadata folders of some distributions."""
    for each in chosen:
        stem = each["name"].replace("-", "_")
        record = folder / f"{stem}-{each['version']}.dist-info"
        record.mkdir(parents=True)
        lines = ["Metadata-Version: 2.1", f"Name: {each['name']}", f"Version: {each['version']}"]
        lines += [f"Requires-Dist: {line}" for line in each["requires"]]
        (record / "METADATA").write_text("\n".join(lines) + "\n\nText.\n", "utf-8")
        (record / "INSTALLER").write_text("pip\n", "utf-8")
        (record / "RECORD").write_text("", "utf-8")
        if each["name"] == "torch":
            (folder / "torch").mkdir()
            version = f"__version__ = '{each['version']}'\ncuda: str | None = '12.8'\n"
            (folder / "torch" / "version.py").write_text(version, "utf-8")
