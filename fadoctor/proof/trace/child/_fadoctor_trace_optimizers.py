"""Leave an optimizer alone: it reads each parameter many times, and makes nothing for attention.

Its steps change parameters in place. Of all operations of a training loop two thirds are its own,
and each of them would cost a call of Python.
"""

from __future__ import annotations

import functools
import sys
from typing import Any

import torch


class Optimizers:
    """Takes the mode out of a thread for a step, and for what clears the gradients."""

    def __init__(self, modes: Any, is_compiling: Any) -> None:
        self._modes = modes
        self._is_compiling = is_compiling
        self._handles: list[Any] = []

    def watch(self, patches: Any) -> None:
        """Begin; torch before 2.0 has no hooks for all optimizers, and stays as it is."""
        module: Any = sys.modules.get(torch.optim.Optimizer.__module__)
        before = getattr(module, "register_optimizer_step_pre_hook", None)
        after = getattr(module, "register_optimizer_step_post_hook", None)
        if before is None or after is None:
            return
        self._handles = [before(self._begins), after(self._ends)]
        owner = module.Optimizer
        patches.put(owner, "zero_grad", self._clearing(owner.zero_grad))

    def end(self) -> None:
        """Take the hooks out."""
        for each in self._handles:
            each.remove()
        self._handles = []

    def _begins(self, optimizer: Any, args: Any, kwargs: Any) -> None:
        if self._is_compiling():
            return
        if any(each is not None for each in (*args[1:], *kwargs.values())):
            return  # a closure: the model runs inside
        if self._modes.there():
            self._modes.step_aside(id(optimizer))

    def _ends(self, optimizer: Any, _args: Any, _kwargs: Any) -> None:
        if not self._is_compiling():
            self._modes.return_to(id(optimizer))

    def _clearing(self, original: Any) -> Any:
        modes, is_compiling = self._modes, self._is_compiling

        def zero_grad(optimizer: Any, *args: Any, **kwargs: Any) -> Any:
            if is_compiling() or not (modes.there() and modes.step_aside(id(optimizer))):
                return original(optimizer, *args, **kwargs)
            try:
                return original(optimizer, *args, **kwargs)
            finally:
                modes.return_to(id(optimizer))

        return functools.update_wrapper(zero_grad, original)
