"""Kernels of the Hub: what loads one gives a module that no import tells of."""

from __future__ import annotations

import functools
import os
from typing import Any

PREFIX = "hub:"
"""Begins the module of an entry point of the Hub; the kernel's name follows."""

LOADER = "hub"
"""Backend of an entry point that is no attention: it gives a kernel's module."""


class Hub:
    """Patches the modules that loaders give, by the name of the kernel."""

    def __init__(self, tracer: Any) -> None:
        self._tracer = tracer
        self._entries: dict[str, list[Any]] = {}

    def add(self, entry: Any) -> None:
        """Take an entry point of a kernel."""
        self._entries.setdefault(entry["module"][len(PREFIX) :], []).append(entry)

    def loader(self, original: Any) -> Any:
        """Return a loader whose modules are patched before anybody has them."""

        def load(*args: Any, **kwargs: Any) -> Any:
            module = original(*args, **kwargs)
            try:
                self.took(module, [*args, *kwargs.values()])
            except Exception as error:
                self._tracer.fault("kernel of the Hub", error)
            return module

        return functools.update_wrapper(load, original)

    def took(self, module: Any, given: Any) -> None:
        """Patch a kernel's module: its name stands in what was asked for, or is its own."""
        words = [str(word) for word in given if isinstance(word, (str, os.PathLike))]
        for word in [*words, getattr(module, "__name__", "")]:
            name = self._name(word)
            for entry in self._entries.get(name, ()):
                self._tracer.patch_entry(entry, module)
            if name:
                return

    def _name(self, word: Any) -> Any:
        """Return the kernel of a repository or a module: owner/flash-attn3, _flash_attn3_1a2b."""
        text = word.rpartition("/")[2].replace("-", "_").strip("_").lower()
        found = [each for each in self._entries if text == each or text.startswith(each + "_")]
        return max(found, key=len, default="")
