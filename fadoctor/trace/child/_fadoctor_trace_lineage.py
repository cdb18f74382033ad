"""Who made a tensor float32: the lineage of wide tensors, kept by storage.

A function mode sees each operation of Python. Only results that are float32 or float64 are looked
at, and of those only addresses, names and lines are kept: no tensor, no frame.
"""

from __future__ import annotations

import sys
from typing import Any

import torch
from _fadoctor_trace_frames import place_of, storage_of
from _fadoctor_trace_operands import called, dtype_giver
from _fadoctor_trace_origin import (
    CAST,
    HALVES,
    MEMBERS,
    OTHER,
    PROMOTION,
    RANK,
    START,
    WIDE,
    Operations,
    Origin,
    any_autocast,
    is_factory,
    is_parameter,
    names_dtype,
    parameter_name,
    tensors_of,
)
from _fadoctor_trace_table import Table
from torch.overrides import TorchFunctionMode, _pop_mode, _push_mode

_MODULES = sys.modules
_BACKWARD = torch.Tensor.backward
_BY_AUTOCAST = "autocast runs it in float32"


class Lineage(TorchFunctionMode):
    """The mode. It belongs to nobody's with-statement, and stays at the bottom of the stack."""

    def __init__(self, fault: Any, operations: Any) -> None:
        super().__init__()
        self.roles = Operations(operations)
        self._choosers = self.roles.choosers
        self.table = Table()
        self.active = True
        self.modules_came: Any = None
        """Called where modules have come since, also those that nobody imported."""
        self._modules = len(sys.modules)
        self.held = 0
        """How many backward passes have the mode on the stack, and take it off themselves."""
        self._fault = fault

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        """Run the operation as it is, then note where a wide result comes from."""
        if func is _BACKWARD and self.active:
            return self._backward(*args, **(kwargs or {}))
        out = func(*args, **kwargs) if kwargs else func(*args)
        if self.active:
            try:
                self._look(func, out, args, kwargs)
            except Exception as error:
                self._fault("lineage", error)
        return out

    def _look(self, func: Any, out: Any, args: Any, kwargs: Any) -> None:
        if isinstance(out, torch.Tensor):
            if out.dtype in WIDE:
                self._note(func, out, args, kwargs, sys._getframe(2))
            elif func in self._choosers and out.dtype in HALVES:
                self._note_half(func, out, args, kwargs, sys._getframe(2))
        elif isinstance(out, (tuple, list)):  # also those with names: sort, max
            for item in out[:MEMBERS]:
                if isinstance(item, torch.Tensor) and item.dtype in WIDE:
                    self._note(func, item, args, kwargs, sys._getframe(2))
        if len(_MODULES) != self._modules:
            self._modules = len(_MODULES)
            if self.modules_came is not None:
                self.modules_came()

    def _backward(
        self,
        tensor: Any,
        gradient: Any = None,
        retain_graph: Any = None,
        create_graph: Any = False,
        inputs: Any = None,
    ) -> Any:
        """Do what Tensor.backward does, with the mode in place: its Python code is seen, too."""
        _push_mode(self)
        self.held += 1
        try:
            return torch.autograd.backward(
                tensor, gradient, retain_graph, create_graph, inputs=inputs
            )
        finally:
            self.held -= 1
            _pop_mode()

    def get(self, tensor: Any) -> Any:
        """Return the origin of a tensor, None where no operation on it was seen."""
        found = self.table.get(storage_of(tensor))
        if found is None or (tensor.dtype in HALVES and found.dtype != tensor.dtype):
            return None
        return found

    def _put(self, key: Any, out: Any, origin: Any) -> None:
        if not origin.key:
            origin.key = key
        self.table.put(key, out, origin)

    def made(self, tensor: Any, name: Any, frame: Any) -> None:
        """Note a tensor that comes from outside torch: from numpy, from a file."""
        key = storage_of(tensor)
        if key and tensor.dtype in RANK:
            kind = START if tensor.dtype in WIDE else OTHER
            place, _ = place_of(frame)
            self._put(key, tensor, Origin(kind, name, place, tensor.dtype, static=True))

    def _note_half(self, func: Any, out: Any, args: Any, kwargs: Any, frame: Any) -> None:
        """Note who chose one of the two half dtypes: they may differ at the kernel."""
        key = storage_of(out)
        given = [each for each in tensors_of(args, kwargs) if each.dtype in RANK]
        name = func.__name__
        if not key or any(storage_of(each) == key for each in given):
            return
        place, _ = place_of(frame)
        kind = CAST if given and not is_factory(name) else OTHER
        self._put(key, out, Origin(kind, name, place, out.dtype, static=True))

    def _note(self, func: Any, out: Any, args: Any, kwargs: Any, frame: Any) -> None:
        key = storage_of(out)
        if not key or torch._C._get_tracing_state() is not None:
            return
        name = getattr(func, "__name__", "") or str(func)
        rank = RANK[out.dtype]
        same, lower, higher, whole = [], [], [], False
        for tensor in tensors_of(args, kwargs):
            at = RANK.get(tensor.dtype)
            if at is None:
                whole = whole or (tensor.dim() > 0 and tensor.dtype is not torch.bool)
                continue
            if at == rank:
                operand = storage_of(tensor)
                if operand == key:  # a view, or in place: it is what it was
                    return
                same.append((tensor, operand))
            elif at < rank:
                lower.append(tensor)
            else:
                higher.append(tensor)
        if name == "__get__":
            return
        if whole and same and not lower and name in self.roles.arithmetic:
            origin = self._scaled(name, out, same, frame)
        else:
            origin = self._origin(name, out, same, lower, higher, frame)
        if origin is not None:
            self._put(key, out, origin)

    def _origin(self, name: Any, out: Any, same: Any, lower: Any, higher: Any, frame: Any) -> Any:
        if is_factory(name) or not (same or lower or higher):
            place, _ = place_of(frame)
            return Origin(START, name, place, out.dtype, static=True)
        if higher and not same:
            return self._inherited(name, out, [(each, storage_of(each)) for each in higher], frame)
        if not same:
            return self._widened(name, out, lower, frame)
        if (
            name in self.roles.casts and lower
        ):  # type_as and the like: the operand only names the dtype
            return self._cast_like(name, out, same[0], frame)
        if lower:
            return self._promoted(name, out, same, frame)
        return self._inherited(name, out, same, frame)

    def _scaled(self, name: Any, out: Any, same: Any, frame: Any) -> Any:
        """Return the origin of integers times something wide: quantized values, or positions."""
        moving = False
        for tensor, key in same:
            known = self.table.get(key)
            if known is not None and not known.static:
                moving = True
                if tensor.shape == out.shape:
                    return known
        place, at = place_of(frame)
        found = Origin(PROMOTION, name, place, out.dtype, static=not moving)
        tensor, found.key = same[0]
        found.operand = called(tensor, found.key, at, (place.code, place.line, name))
        return found

    def _inherited(self, name: Any, out: Any, operands: Any, frame: Any) -> Any:
        """Return the origin of a wide result of wide operands alone."""
        static = None
        parameter = None
        for tensor, key in operands:
            if is_parameter(tensor):
                parameter = parameter or key
                continue
            known = self.table.get(key)
            if known is not None and not known.static:
                return known
            static = static or known
        if parameter is not None or (name in self.roles.flows and static is not None):
            place, _ = place_of(frame)
            found = Origin(START, name, place, out.dtype, static=name not in self.roles.flows)
            found.key = parameter or operands[0][1]
            found.operand = parameter_name(place.owner(), parameter)
            return found
        if static is not None:
            return static
        place, at = place_of(frame)
        found = Origin(START, name, place, out.dtype, static=True)
        found.key = operands[0][1]
        found.operand = called(operands[0][0], operands[0][1], at, (place.code, place.line, name))
        return found

    def _promoted(self, name: Any, out: Any, same: Any, frame: Any) -> Any:
        """Return the origin of a wide result of wide and half operands."""
        if self.roles.by_autocast(name, out.device.type):
            place, _ = place_of(frame)
            return Origin(CAST, name, place, out.dtype, why=_BY_AUTOCAST)
        guilty = [pair for pair in same if pair[0].dim()] or same
        for tensor, key in guilty:
            if is_parameter(tensor) or not tensor.numel():
                continue
            known = self.table.get(key)
            if known is None or known.static:
                continue
            if name in self.roles.joins or tensor.shape == out.shape:
                return known
        place, at = place_of(frame)
        found = Origin(PROMOTION, name, place, out.dtype)
        tensor, found.key = guilty[0]
        found.operand = called(tensor, found.key, at, (place.code, place.line, name))
        if not tensor.numel():
            found.why = "it is empty"
        known = self.table.get(found.key)
        if known is not None and not is_parameter(tensor):
            found.key, found.via = known.key or found.key, known.place
        return found

    def _widened(self, name: Any, out: Any, lower: Any, frame: Any) -> Any:
        """Return the origin of a wide result of half operands alone."""
        place, at = place_of(frame)
        if name in self.roles.casts and not names_dtype(place):
            given = self._as_named(name, out, place, at) or self._given_wide(out, frame)
            if given is not None:
                return given
        if name in self.roles.casts:
            return Origin(CAST, name, place, out.dtype)
        if len({each.dtype for each in lower}) > 1:
            found = Origin(PROMOTION, name, place, out.dtype)
            other = next(each for each in lower if each.dtype != lower[0].dtype)
            found.key = storage_of(other)
            found.operand = called(other, found.key, at, (place.code, place.line, name))
            found.dtype = other.dtype
            return found
        if any_autocast() and not names_dtype(place):
            return Origin(CAST, name, place, out.dtype, why=_BY_AUTOCAST)
        return Origin(OTHER if "custom" in name else CAST, name, place, out.dtype)

    def _as_named(self, name: Any, out: Any, place: Any, at: Any) -> Any:
        """Return the origin of a cast to the dtype of a tensor that the line names: x.dtype."""
        found = dtype_giver(at, place, out.dtype)
        if found is None:
            return None
        tensor, text = found
        known = self.get(tensor)
        if known is not None and not known.static and not is_parameter(tensor):
            return known
        origin = Origin(CAST, name, place, out.dtype)
        origin.key, origin.operand = storage_of(tensor), text
        return origin

    def _cast_like(self, name: Any, out: Any, pair: Any, frame: Any) -> Any:
        tensor, key = pair
        known = self.table.get(key)
        if known is not None and not known.static and not is_parameter(tensor):
            return known
        place, at = place_of(frame)
        found = Origin(CAST, name, place, out.dtype)
        found.key, found.operand = key, called(tensor, key, at, (place.code, place.line, name))
        return found

    def _given_wide(self, out: Any, frame: Any) -> Any:
        """Return the origin of the input of the module whose code casts its result back to it."""
        for _ in range(12):
            if frame is None:
                return None
            if frame.f_code.co_name in ("_call_impl", "_slow_forward"):
                break
            frame = frame.f_back
        else:
            return None
        values = frame.f_locals
        given = list(values.get("args", ())) + list(values.get("kwargs", {}).values())
        for tensor in given[:16]:
            if not isinstance(tensor, torch.Tensor) or tensor.dtype != out.dtype:
                continue
            known = self.get(tensor)
            if known is None:
                continue
            if tensor.dim() > 1 and tensor.shape[:-1] == out.shape[:-1]:
                return known
        return None
