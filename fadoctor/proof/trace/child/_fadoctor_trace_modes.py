"""Where the function mode stands: at the bottom of each thread's stack, and off when told so.

A mode that nobody entered by a with-statement may be taken out at any moment, as long as those
above it stay in their order.
"""

from __future__ import annotations

import functools
import sys
import threading
from typing import Any

import torch
from _fadoctor_trace_table import PLAIN
from torch.overrides import _pop_mode, _push_mode


def _stack() -> Any:
    return torch._C._len_torch_function_stack()


def asked_by_others(modes: Any, args: Any, kwargs: Any) -> bool:
    """Return whether another mode, or a class of tensors, is told of a call."""
    given = [each for each in (*args, *kwargs.values()) if isinstance(each, torch.Tensor)]
    kinds = {type(each) for each in given}.difference(PLAIN)
    if not kinds.isdisjoint(_no_values()):
        return False
    return bool(kinds) or _stack() > modes.there()


def _no_values() -> Any:
    """Return the classes of an export or a compiler, which keep what they are told."""
    fake = sys.modules.get("torch._subclasses.fake_tensor")
    functional = sys.modules.get("torch._subclasses.functional_tensor")
    found = (getattr(fake, "FakeTensor", None), getattr(functional, "FunctionalTensor", None))
    return {each for each in found if each is not None}


class Modes:
    """Puts one mode into threads, and takes it out."""

    def __init__(self, mode: Any) -> None:
        self.mode = mode
        self._local = threading.local()
        self._hook: Any = None
        self._lock = threading.Lock()
        self._within = 0
        self._asker: Any = None

    def push(self) -> None:
        """Put the mode at the bottom of this thread's stack, once."""
        local = self._local.__dict__
        if local.get("there") or local.get("aside") or not self.mode.active:
            return
        above = [_pop_mode() for _ in range(_stack())]
        _push_mode(self.mode)
        for each in reversed(above):
            _push_mode(each)
        self._local.there = True

    def there(self) -> bool:
        """Return whether the mode stands in this thread's stack."""
        return bool(self._local.__dict__.get("there"))

    def ensure(self) -> None:
        """Put the mode into a thread that began before we came, where nothing else is."""
        if not getattr(self._local, "there", False) and not _stack():
            self.push()

    def remove(self) -> Any:
        """Take the mode out of this thread; False where an operation holds it just now."""
        if not getattr(self._local, "there", False):
            return True
        if self.mode.held:
            return False
        above = [_pop_mode() for _ in range(_stack())]
        found = any(each is self.mode for each in above)
        for each in reversed(above):
            if each is not self.mode:
                _push_mode(each)
        if found:
            self._local.there = False
        return found

    def step_aside(self, frame: Any) -> bool:
        """Leave this thread until the frame that says so has ended: compiled code guards modes.

        False where another frame has said so before.
        """
        if self._local.__dict__.get("aside"):
            return False
        self._local.aside = frame
        self.remove()
        return True

    def come_back(self, frame: Any) -> None:
        """Return to this thread, if it is that frame which ends."""
        if self._local.__dict__.get("aside") == frame:
            self._local.aside = None
            if not _stack():
                self.push()

    def return_to(self, token: Any) -> None:
        """Return to this thread below whatever is there, if it was left for the same reason."""
        if self._local.__dict__.get("aside") == token:
            self._local.aside = None
            self.push()

    def retire(self) -> None:
        """Take the mode out for good: now, or when the next module is called."""
        if self.remove() or self._hook is not None:
            return

        def hook(_module: Any, _args: Any) -> None:
            if self.remove() and self._hook is not None:
                self._hook.remove()
                self._hook = None

        self._hook = torch.nn.modules.module.register_module_forward_pre_hook(hook)

    def within(self, blind: Any) -> Any:
        """Return what calls a function of torch.nn.functional with the mode in place.

        It would tell the mode of itself again: meanwhile it asks `blind` whether to.
        """
        owner: Any = torch.nn.functional

        def call(func: Any, args: Any, kwargs: Any) -> Any:
            with self._lock:
                self._within += 1
                if self._within == 1:
                    self._asker = owner.has_torch_function
                    setattr(owner, "has_torch_function", blind)
            _push_mode(self.mode)
            try:
                return func(*args, **kwargs)
            finally:
                _pop_mode()
                with self._lock:
                    self._within -= 1
                    if not self._within and owner.has_torch_function is blind:
                        setattr(owner, "has_torch_function", self._asker)

        return call

    def blind(self, original: Any) -> Any:
        """Return `has_torch_function` that does not see our mode: fast paths stay fast paths."""

        def has_torch_function(relevant_args: Any) -> Any:
            if _stack() == 1 and getattr(self._local, "there", False):
                return self._asked(original, relevant_args)
            return original(relevant_args)

        return functools.update_wrapper(has_torch_function, original)

    def _asked(self, original: Any, relevant_args: Any) -> Any:
        mode = _pop_mode()
        try:
            return original(relevant_args)
        finally:
            _push_mode(mode)

    def in_thread(self, original: Any) -> Any:
        """Return a method of Thread that puts the mode into its own thread first."""

        @functools.wraps(original)
        def run(thread: Any, *args: Any, **kwargs: Any) -> Any:
            try:
                self.push()
            except Exception:
                pass
            return original(thread, *args, **kwargs)

        return run
