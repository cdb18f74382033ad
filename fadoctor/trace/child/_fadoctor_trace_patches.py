"""What stands in place of something of the patient's: put there, passed on, undone."""

from __future__ import annotations

import sys
from types import ModuleType
from typing import Any

_LEFT_ALONE = ("torch", "fadoctor")


class Patches:
    """Everything that was patched."""

    def __init__(self, fault: Any) -> None:
        self._fault = fault
        self._made: list[Any] = []
        """(owner, attribute, what stood there before, ours)."""

    def put(self, owner: Any, name: Any, ours: Any) -> None:
        """Put something of ours in place of what stands there."""
        before = getattr(owner, name)
        if isinstance(owner, type):  # what stands in a class may be more than what it gives out
            before = vars(owner).get(name, before)
        try:
            setattr(owner, name, ours)
        except (AttributeError, TypeError) as error:
            self._fault("patching %s" % name, error)
            return
        self._made.append((owner, name, before, ours))

    def rebind(self) -> None:
        """Give those that imported an entry point by name before it was patched the patched one."""
        ours = {id(before): (before, wrapper) for _, _, before, wrapper in self._made}
        wanted = set(ours)
        for name, module in list(sys.modules.items()):
            if name.partition(".")[0] in _LEFT_ALONE or not isinstance(module, ModuleType):
                continue
            if wanted.isdisjoint(map(id, list(vars(module).values()))):
                continue
            for attribute, value in list(vars(module).items()):
                found = ours.get(id(value))
                if found is not None and value is found[0]:
                    self.put(module, attribute, found[1])

    def undo(self) -> None:
        """Put back what was patched, where nobody has patched over it."""
        for owner, name, before, ours in reversed(self._made):
            if getattr(owner, name, None) is ours:
                setattr(owner, name, before)
        self._made = []


def placed(wrapper: Any, owner: Any, name: Any) -> Any:
    """Say where a wrapper is found: whoever pickles the function finds it there, also untraced."""
    if isinstance(owner, ModuleType):
        wrapper.__module__, wrapper.__qualname__ = owner.__name__, name
    return wrapper


def tell_script(wrapper: Any, original: Any) -> None:
    """Let torch.jit.script take a wrapper for the operation, or compile the function, below it."""
    try:
        from torch.jit._builtins import _find_builtin, _register_builtin

        builtin = _find_builtin(original)
        if builtin is not None:
            _register_builtin(wrapper, builtin)
        else:
            setattr(wrapper, "__prepare_scriptable__", lambda: original)
    except Exception:
        pass
