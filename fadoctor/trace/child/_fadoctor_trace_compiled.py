"""torch.compile: the mode steps aside while compiled code runs, and regions are named."""

from __future__ import annotations

import sys
from typing import Any

import torch


class Compiled:
    """Hears of each change of the frame evaluation that Dynamo makes."""

    def __init__(self, tracer: Any) -> None:
        self._tracer = tracer
        self._module = None
        self._original = None

    def patch(self, module: Any) -> None:
        """Stand between Dynamo and the switch of frame evaluation."""
        original = getattr(module, "set_eval_frame", None)
        skip = getattr(torch._C._dynamo.eval_frame, "skip_code", None)
        if original is None or skip is None or self._original is not None:
            return
        self._module, self._original = module, original
        entered, left = self._entered, self._left

        def set_eval_frame(callback: Any) -> Any:
            if callback is None or callback is False:
                prior = original(callback)
                left()
                return prior
            entered()
            return original(callback)

        for function in (set_eval_frame, self._entered, self._left):
            skip(getattr(function, "__func__", function).__code__)
        module.set_eval_frame = set_eval_frame

    def end(self) -> None:
        """Put the switch back."""
        if self._original is not None:
            self._module.set_eval_frame = self._original
            self._original = None

    def _entered(self) -> None:
        try:
            if self._tracer.lineage.active:
                self._tracer.modes.remove()
                self._tracer.record.note_compiled(self._name(sys._getframe(2)))
        except Exception as error:
            self._tracer.fault("compiled region", error)

    def _left(self) -> None:
        try:
            if self._tracer.lineage.active and not torch._C._len_torch_function_stack():
                self._tracer.modes.push()
        except Exception as error:
            self._tracer.fault("compiled region", error)

    def _name(self, frame: Any) -> Any:
        """Return what is compiled: the function of the nearest caller that has one."""
        for _ in range(4):
            if frame is None:
                break
            found = frame.f_locals.get("fn")
            if found is not None and callable(found):
                owner = getattr(found, "__self__", None)
                if isinstance(owner, torch.nn.Module):
                    return self._tracer.names.of(owner) or type(owner).__name__
                return "%s.%s" % (
                    getattr(found, "__module__", ""),
                    getattr(found, "__qualname__", repr(found)),
                )
            frame = frame.f_back
        return "compiled code"
