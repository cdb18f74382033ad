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
"""Names of the switch in Dynamo's module: both of one function, or one calls the other, or one."""


class Compiled:
    """Hears of each change of the frame evaluation that Dynamo makes."""

    def __init__(self, tracer: Any) -> None:
        self._tracer = tracer
        self._module = None
        self._switched: list[Any] = []
        """(name, what stood there before)."""

    def patch(self, module: Any) -> None:
        """Stand between Dynamo and the switch of frame evaluation."""
        skip = getattr(module, "skip_code", None) or _skip_by_strategy()
        found = [name for name in _SWITCHES if callable(getattr(module, name, None))]
        if self._switched:
            return
        if not found or skip is None:
            raise RuntimeError("torch.compile is not known here: its switch has another name")
        self._module = module
        ours: dict[int, Any] = {}
        for name in found:
            original = getattr(module, name)
            switch = ours.setdefault(id(original), self._switch(original))
            self._switched.append((name, original))
            for function in (switch, self._entered, self._left, _switcher):
                skip(getattr(function, "__func__", function).__code__)
            setattr(module, name, switch)

    def _switch(self, original: Any) -> Any:
        entered, left = self._entered, self._left

        def switch(callback: Any) -> Any:
            if callback is None or callback is False:
                prior = original(callback)
                left()
                return prior
            entered()
            return original(callback)

        return switch

    def end(self) -> None:
        """Put the switch back."""
        for name, original in self._switched:
            setattr(self._module, name, original)
        self._switched = []

    def _entered(self) -> None:
        try:
            if self._tracer.lineage.active:
                frame = _switcher(sys._getframe(2))
                name = self._name(frame)
                if self._tracer.modes.step_aside(id(frame)) and not name.startswith("torch._dyn"):
                    self._tracer.record.note_compiled(name)
        except Exception as error:
            self._tracer.fault("compiled region", error)

    def _left(self) -> None:
        try:
            self._tracer.modes.come_back(id(_switcher(sys._getframe(2))))
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


def _switcher(frame: Any) -> Any:
    """Return the frame that switches, not a switch that calls the other one."""
    while frame.f_code.co_name in _SWITCHES or frame.f_code.co_name == "switch":
        frame = frame.f_back
    return frame
