"""Code that is compiled: regions of torch.compile are named, torch.jit is noted at the call.

The mode steps aside while code of torch.compile runs; no mode sees inside what torch.jit compiled.
"""

from __future__ import annotations

import functools
import sys
from itertools import islice
from typing import Any

import torch
from _fadoctor_trace_frames import module_of, storage_of
from _fadoctor_trace_origin import MEMBERS, PROMOTION, RANK, WIDE


def asks_whether_compiling() -> Any:
    """Return what says whether torch.compile is at work; the place of it has changed."""
    compiler = getattr(torch, "compiler", None)
    found = getattr(compiler, "is_compiling", None)
    if found is None:
        found = torch._dynamo.is_compiling
    return found


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
        for code in self._tracer.scripted.codes:
            skip(code)

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
                self._tracer.graphs.patch()
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


_KINDS = ("ScriptFunction", "ScriptMethod")
_DEEPEST = 4
_MOST = 64
"""Parameters of a compiled module that are looked at."""


class Scripted:
    """Stands in the call of compiled functions and of the methods of compiled modules."""

    def __init__(self, tracer: Any) -> None:
        self._tracer = tracer
        self.codes: list[Any] = []
        """Code that torch.compile is to leave alone."""

    def patch(self) -> None:
        """Hear of each call, whoever compiled the function and when."""
        for name in _KINDS:
            owner = getattr(torch._C, name, None)
            if owner is not None and "__call__" in vars(owner):
                call = self._calling(owner.__call__)
                self.codes.append(call.__code__)
                self._tracer.patches.put(owner, "__call__", call)

    def _calling(self, original: Any) -> Any:
        tracer = self._tracer

        def call(compiled: Any, *args: Any, **kwargs: Any) -> Any:
            out = original(compiled, *args, **kwargs)
            if tracer.lineage.active and not tracer.is_compiling():
                try:
                    with torch._C.DisableTorchFunction():
                        self._note(compiled, out, args, kwargs, sys._getframe(1))
                except Exception as error:
                    tracer.fault("what torch.jit compiled", error)
            return out

        return functools.update_wrapper(call, original)

    def _note(self, compiled: Any, out: Any, args: Any, kwargs: Any, frame: Any) -> None:
        lineage, said = self._tracer.lineage, "torch.jit: %s" % compiled.name
        for item in _tensors(out, _DEEPEST):
            if item.dtype not in WIDE:
                continue
            origin = lineage.note(said, item, args, kwargs, frame)
            if origin is not None:
                origin.sure = False
                owner = _owner(frame) if isinstance(compiled, torch._C.ScriptMethod) else None
                name = compiled.name if owner is None else owner.original_name
                origin.why = "code of %s that torch.jit compiled" % name
                if not origin.operand and owner is not None:
                    _by_parameter(origin, owner)


def _owner(frame: Any) -> Any:
    """Return the compiled module whose method a frame calls, None where that is not seen."""
    for _ in range(_DEEPEST):
        found = module_of(frame) if frame is not None else None
        if found is not None:
            return found if isinstance(found, torch.jit.ScriptModule) else None
        frame = frame.f_back if frame is not None else None
    return None


def _by_parameter(origin: Any, owner: Any) -> None:
    """Name the wide parameter of a compiled module, where all that it was given is narrower."""
    for name, each in islice(owner.named_parameters(), _MOST):
        if RANK.get(each.dtype, 0) >= RANK[origin.dtype]:
            origin.kind, origin.operand, origin.key = PROMOTION, name, storage_of(each)
            return


def _tensors(value: Any, deepest: int) -> Any:
    """Return the tensors of a result: torch.jit gives tensors, lists, tuples and dictionaries."""
    if isinstance(value, torch.Tensor):
        return [value]
    if isinstance(value, dict):
        value = list(value.values())
    if not isinstance(value, (list, tuple)) or not deepest:
        return []
    return [each for item in value[:MEMBERS] for each in _tensors(item, deepest - 1)]
