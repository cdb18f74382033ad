"""Variables of the environment: which are set, and which were asked for."""

from __future__ import annotations

from typing import Any, Callable, FrozenSet, Optional, Set


class Variables:
    """Names only: no value is known, but that of one which is not set."""

    def __init__(self, are_set: FrozenSet[str], on_change: Callable[[], None]) -> None:
        self.are_set = are_set
        self.on_change = on_change
        """Called where what runs sets or deletes one."""
        self.asked: Set[str] = set()
        """Those that decided something."""
        self._changed: Set[str] = set()
        self._is_open = False

    def is_set(self, name: Any) -> Optional[bool]:
        """Return whether a variable is set; None where nobody knows."""
        if type(name) is not str or self._is_open or name in self._changed:
            return None
        self.asked.add(name)
        return name in self.are_set

    def change(self, name: Any) -> None:
        """Note that what runs sets or deletes a variable, or any of them."""
        self.on_change()
        if type(name) is str:
            self._changed.add(name)
        else:
            self._is_open = True
