"""torch.compile: the mode steps aside while compiled code runs, and regions are named."""

from __future__ import annotations

import sys
from typing import Any

import torch


def _skip_by_strategy() -> Any:
    """Return what tells Dynamo to leave a function alone; its name has changed."""
    switches = torch._C._dynamo.eval_frame
    old = getattr(switches, "skip_code", None)
    if old is not None:
        return old
    try:
        from torch._dynamo import types

        action = getattr(types, "FrameAction")
        strategy = getattr(types, "FrameExecStrategy")(action.SKIP, action.DEFAULT)
    except (ImportError, AttributeError):
        return None
    return lambda code: switches.set_code_exec_strategy(code, strategy)


_SWITCHES = ("set_eval_frame", "_maybe_set_eval_frame")
"""Names of the switch in Dynamo's module; the second one as a rule is the first."""


class Compiled:
    """Hears of each change of the frame evaluation that Dynamo makes."""

    def __init__(self, tracer: Any) -> None:
        self._tracer = tracer
        self._module = None
        self._original: Any = None
        self._switched: list[str] = []

    def patch(self, module: Any) -> None:
        """Stand between Dynamo and the switch of frame evaluation."""
        original = getattr(module, "set_eval_frame", None)
        skip = getattr(module, "skip_code", None) or _skip_by_strategy()
        if self._original is not None:
            return
        if original is None or skip is None:
            raise RuntimeError("torch.compile is not known here: its switch has another name")
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
        for name in _SWITCHES:
            if getattr(module, name, None) is original:
                setattr(module, name, set_eval_frame)
                self._switched.append(name)

    def end(self) -> None:
        """Put the switch back."""
        if self._original is not None:
            for name in self._switched:
                setattr(self._module, name, self._original)
            self._original = None

    def _entered(self) -> None:
        try:
            if self._tracer.lineage.active:
                frame = sys._getframe(2)
                name = self._name(frame)
                if self._tracer.modes.step_aside(id(frame)) and not name.startswith("torch._dyn"):
                    self._tracer.record.note_compiled(name)
        except Exception as error:
            self._tracer.fault("compiled region", error)

    def _left(self) -> None:
        try:
            self._tracer.modes.come_back(id(sys._getframe(2)))
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
