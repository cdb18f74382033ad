"""What stands in place of something of the patient's: put there, passed on, undone."""

from __future__ import annotations

import sys
import threading
from types import ModuleType
from typing import Any

import torch

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

    def holds(self, ours: Any) -> Any:
        """Return whether something of ours is in place."""
        return any(each is ours for _, _, _, each in self._made)

    def undo(self) -> None:
        """Put back what was patched, where nobody has patched over it."""
        for owner, name, before, ours in reversed(self._made):
            if getattr(owner, name, None) is ours:
                setattr(owner, name, before)
        self._made = []


class Alike:
    """Makes a wrapper and what torch tells modes and classes of one function, while they may ask.

    A mode or a class of tensors that takes a function over compares it with the one that stands in
    torch.nn.functional, or looks it up among those that it kept.
    """

    def __init__(self, patches: Any, place: Any, original: Any, wrapper: Any) -> None:
        self._patches = patches
        self._place = place
        """Where the other stands meanwhile: (owner, name, which one)."""
        self._usual = wrapper if place[2] is original else original
        self._wrapper = wrapper
        self._count = 0
        self._lock = threading.Lock()

    def __enter__(self) -> None:
        owner, name, meanwhile = self._place
        with self._lock:
            self._count += 1
            if self._count == 1 and getattr(owner, name, None) is self._usual:
                setattr(owner, name, meanwhile)

    def __exit__(self, *_problem: object) -> None:
        owner, name, meanwhile = self._place
        with self._lock:
            self._count -= 1
            still = self._usual is not self._wrapper or self._patches.holds(self._wrapper)
            if not self._count and still and getattr(owner, name, None) is meanwhile:
                setattr(owner, name, self._usual)


def alike_of(patches: Any, original: Any, wrapper: Any, whole: Any) -> Any:
    """Return what keeps a function of torch.nn.functional one with that of torch's C++, if any.

    In a process that is traced as a whole, who kept the function has kept the wrapper.
    """
    name = getattr(original, "__name__", "")
    if getattr(torch._C._nn, name, None) is not original:
        return []
    inside = (torch._C._nn, name, wrapper)
    outside = (torch.nn.functional, name, original)
    return [Alike(patches, inside if whole else outside, original, wrapper)]


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
