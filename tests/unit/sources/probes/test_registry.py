"""The registry of Windows: read through a module like winreg, or from a recording."""

from __future__ import annotations

import json
import sys
from contextlib import contextmanager
from typing import TYPE_CHECKING

import pytest

from fadoctor.sources.probes.registry import (
    live_registry,
    recorded_registry,
    registry_of,
    text_of,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

_KEYS: dict[str, dict[str, object]] = {
    r"A\B": {"Name": "text", "Number": 7, "Bytes": b"x"},
    r"A\B\0000": {"Name": "first"},
    r"A\B\0001": {"Name": "second"},
}


class FakeWinreg:
    """What Python's winreg gives of three keys."""

    HKEY_LOCAL_MACHINE = 1

    @contextmanager
    def OpenKey(self, root: int, key: str) -> Iterator[str]:  # noqa: N802 -- as winreg calls it
        assert root == self.HKEY_LOCAL_MACHINE
        if key not in _KEYS:
            raise FileNotFoundError(key)
        yield key

    def EnumValue(self, key: str, index: int) -> tuple[str, object, int]:  # noqa: N802
        items = list(_KEYS[key].items())
        if index >= len(items):
            raise OSError("no more data")
        return (*items[index], 1)

    def EnumKey(self, key: str, index: int) -> str:  # noqa: N802
        below = [name[len(key) + 1 :] for name in _KEYS if name.startswith(f"{key}\\")]
        if index >= len(below):
            raise OSError("no more data")
        return below[index]


@pytest.mark.parametrize("live", [True, False])
def test_both_ways_read_the_same(*, live: bool) -> None:
    text = json.dumps({k: {n: v for n, v in r.items() if n != "Bytes"} for k, r in _KEYS.items()})
    registry = registry_of(FakeWinreg()) if live else recorded_registry(text)
    assert registry.values(r"A\B") == {"Name": "text", "Number": 7}
    assert registry.keys(r"A\B") == ("0000", "0001")
    assert registry.values(r"A\C") is None
    assert registry.keys(r"A\C") == ()


def test_text_is_made_harmless() -> None:
    assert text_of({"x": "a\x1b[31mb"}, "x") == "a?[31mb"
    assert text_of(None, "x") == ""


@pytest.mark.skipif(sys.platform == "win32", reason="there it is the real one")
def test_other_systems_have_none() -> None:
    assert live_registry() is None
