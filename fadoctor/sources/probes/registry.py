"""The registry of Windows as probes see it: handed in, so that a test hands in a recording.

Only keys below HKEY_LOCAL_MACHINE are read, those that are named here, and nothing is written.
"""

from __future__ import annotations

import importlib
import json
import sys
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import msgspec

from fadoctor.model.fact import printable

if TYPE_CHECKING:
    from collections.abc import Iterator

Value = str | int
_MAX_VALUES = 200
_MAX_KEYS = 64
_MAX_TEXT = 1000

WINDOWS = r"SOFTWARE\Microsoft\Windows NT\CurrentVersion"
FILE_SYSTEM = r"SYSTEM\CurrentControlSet\Control\FileSystem"
VC_RUNTIME = r"SOFTWARE\Microsoft\VisualStudio\14.0\VC\Runtimes\X64"
"""Microsoft, "Redistributing Visual C++ Files": Installed, and Version as v14.44.35211.00."""
DISPLAY = r"SYSTEM\CurrentControlSet\Control\Class\{4d36e968-e325-11ce-bfc1-08002be10318}"
"""Microsoft, "System-Defined Device Setup Classes": display adapters, one key for each."""


class Registry(msgspec.Struct, frozen=True):
    """What is asked of the registry."""

    values: Callable[[str], Mapping[str, Value] | None]
    """Names and values of a key; None where it is not there or may not be read."""
    keys: Callable[[str], tuple[str, ...]]
    """The names of the keys below one."""


def live_registry() -> Registry | None:
    """Return the registry of this machine; None where there is none."""
    return registry_of(importlib.import_module("winreg")) if sys.platform == "win32" else None


def registry_of(winreg: Any) -> Registry:
    """Return the registry that a module such as Python's winreg reads."""
    return Registry(
        lambda key: dict(_values(winreg, key)) or None, lambda key: tuple(_keys(winreg, key))
    )


def recorded_registry(text: str) -> Registry:
    r"""Return a registry that was written down: ``{"SYSTEM\\...": {"LongPathsEnabled": 1}}``."""
    data: dict[str, dict[str, Any]] = json.loads(text)
    held = {key.lower(): values for key, values in data.items()}

    def keys(key: str) -> tuple[str, ...]:
        start = key.lower() + "\\"
        below = (name[len(start) :] for name in held if name.startswith(start))
        return tuple(dict.fromkeys(name.partition("\\")[0] for name in below))

    return Registry(lambda key: held.get(key.lower()), keys)


def text_of(values: Mapping[str, Value] | None, name: str) -> str:
    """Return a value as harmless text; "" where it is not there."""
    value = (values or {}).get(name, "")
    return printable(str(value), _MAX_TEXT)


def _values(winreg: Any, key: str) -> Iterator[tuple[str, Value]]:
    try:
        with winreg.OpenKey(winreg.HKEY_LOCAL_MACHINE, key) as opened:
            for index in range(_MAX_VALUES):
                name, value, _ = winreg.EnumValue(opened, index)
                if isinstance(value, str | int):
                    yield name, value
    except OSError:  # also where there are no more
        return


def _keys(winreg: Any, key: str) -> Iterator[str]:
    try:
        with winreg.OpenKey(winreg.HKEY_LOCAL_MACHINE, key) as opened:
            for index in range(_MAX_KEYS):
                yield winreg.EnumKey(opened, index)
    except OSError:
        return
