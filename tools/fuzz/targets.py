"""What is fuzzed: inputs to begin with, how they are damaged, and what reads them."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, NamedTuple

from tools.fuzz.mutation import mutate_bytes, mutate_text

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tools.fuzz.loop import Read
    from tools.fuzz.mutation import Mutate


class Target(NamedTuple):
    """One reader of hostile data."""

    module: str
    """It has ``corpus() -> list[bytes]`` and ``reader(folder) -> Read``."""
    part: str
    mutate: Mutate

    def corpus(self) -> list[bytes]:
        """Return the inputs to begin with."""
        found: list[bytes] = getattr(importlib.import_module(self.module), f"{self.part}_corpus")()
        return found

    def reader(self, folder: Path) -> Read:
        """Return what reads an input, with a folder of its own."""
        made: Callable[[Path], Read] = getattr(
            importlib.import_module(self.module), f"{self.part}_reader"
        )
        return made(folder)


TARGETS = {
    "elf": Target("tools.fuzz.binaries", "elf", mutate_bytes),
    "fatbin": Target("tools.fuzz.binaries", "fatbin", mutate_bytes),
    "pe": Target("tools.fuzz.binaries", "pe", mutate_bytes),
    "yaml": Target("tools.fuzz.documents", "yaml", mutate_text),
    "toml": Target("tools.fuzz.documents", "toml", mutate_text),
    "locks": Target("tools.fuzz.documents", "locks", mutate_text),
    "lists": Target("tools.fuzz.documents", "lists", mutate_text),
    "notebooks": Target("tools.fuzz.documents", "notebooks", mutate_text),
    "records": Target("tools.fuzz.answers", "records", mutate_text),
    "facts": Target("tools.fuzz.answers", "facts", mutate_text),
    "traces": Target("tools.fuzz.answers", "traces", mutate_text),
    "releases": Target("tools.fuzz.answers", "releases", mutate_bytes),
    "contracts": Target("tools.fuzz.sources", "contracts", mutate_text),
}
"""Name -> target."""
