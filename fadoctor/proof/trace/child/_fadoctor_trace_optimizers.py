"""Leave alone what reads each parameter or gradient, and makes nothing for attention.

Steps of an optimizer, the clipping of gradients and their scaling change tensors in place. Of all
operations of a training loop two thirds are theirs, and each would cost a call of Python.
"""

from __future__ import annotations

import functools
import sys
from typing import Any

import torch
from _fadoctor_trace_patches import placed

__tracebackhide__ = True
"""For pytest: our frames are no place of an error."""

_CLIP = "torch.nn.utils.clip_grad"
_SCALE = "torch.amp.grad_scaler"
_CLIPPING = ("clip_grad_norm_", "clip_grad_value_", "clip_grads_with_norm_", "get_total_norm")


def _of_gradients(optimizer: Any) -> Any:
    """Return what looks at gradients alone: the owner, and its name there."""
    clip, scale = sys.modules.get(_CLIP), sys.modules.get(_SCALE)
    found = [(optimizer, "zero_grad"), (torch.nn.Module, "zero_grad")]
    found += [(owner, name) for owner in (torch.nn.utils, clip) for name in _CLIPPING]
    found += [(getattr(scale, "GradScaler", None), "_unscale_grads_")]
    return [(owner, name) for owner, name in found if name in getattr(owner, "__dict__", ())]


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
        for owner, name in _of_gradients(module.Optimizer):
            apart = self._apart(getattr(owner, name))
            patches.put(owner, name, placed(apart, owner, name))

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

    def _apart(self, original: Any) -> Any:
        """Return a function that runs without the mode."""
        modes, is_compiling = self._modes, self._is_compiling

        def apart(*args: Any, **kwargs: Any) -> Any:
            token = object()
            if is_compiling() or not (modes.there() and modes.step_aside(id(token))):
                return original(*args, **kwargs)
            try:
                return original(*args, **kwargs)
            finally:
                modes.return_to(id(token))

        return functools.update_wrapper(apart, original)
