"""Who made a tensor float32: the lineage of wide tensors, kept by storage.

A function mode sees each operation of Python. Only results that are float32 or float64 are looked
at, and of those only addresses, names and lines are kept: no tensor, no frame.
"""

from __future__ import annotations

import sys
from typing import Any

import torch
from _fadoctor_trace_frames import place_of, source_of, storage_of
from _fadoctor_trace_operands import called
from torch.overrides import TorchFunctionMode, _pop_mode, _push_mode

RANK = {torch.float16: 0, torch.bfloat16: 0, torch.float32: 1, torch.float64: 2}
for _name in dir(torch):
    if _name.startswith("float8_"):
        RANK[getattr(torch, _name)] = 0
_WIDE = (torch.float32, torch.float64)

MOST = 200000
"""Storages that are remembered; beyond that it begins anew."""

_JOINS = ("cat", "concat", "concatenate", "stack", "hstack", "vstack", "where", "index_put")
_FLOWS = ("embedding", "linear", "conv1d", "conv2d", "conv3d")
"""What turns parameters into activations."""

_CASTS = ("to", "float", "double", "type", "type_as", "_to_copy")
_MEMBERS = 32
_BACKWARD = torch.Tensor.backward
_BY_AUTOCAST = "autocast runs it in float32"

CAST, PROMOTION, START, OTHER = "cast", "promotion", "float32-from-start", "other"


class Origin:
    """How a tensor came to be wide."""

    __slots__ = ("dtype", "key", "kind", "op", "operand", "place", "static", "via", "why")

    def __init__(
        self, kind: Any, op: Any, place: Any, dtype: Any, static: Any = False, why: Any = ""
    ) -> None:
        self.kind = kind
        self.op = op
        self.place = place
        self.dtype = dtype
        self.static = static
        """Whether it is no activation: a parameter, a buffer, a constant, a table of positions."""
        self.why = why
        self.operand = ""
        """What the other operand is called where the statement stands."""
        self.via = None
        """Where the other operand was made wide."""
        self.key = 0
        """Storage of the other operand, or of the parameter it began with."""


class Lineage(TorchFunctionMode):
    """The mode. It belongs to nobody's with-statement, and stays at the bottom of the stack."""

    def __init__(self, fault: Any) -> None:
        super().__init__()
        self.table: dict[int, Any] = {}
        self.active = True
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
                if isinstance(out, torch.Tensor):
                    if out.dtype in _WIDE:
                        self._note(func, out, args, kwargs, sys._getframe(1))
                elif type(out) is tuple or type(out) is list:
                    for item in out[:_MEMBERS]:
                        if isinstance(item, torch.Tensor) and item.dtype in _WIDE:
                            self._note(func, item, args, kwargs, sys._getframe(1))
            except Exception as error:
                self._fault("lineage", error)
        return out

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
        if found is None or found[1] != tensor.untyped_storage().nbytes():
            return None
        return found[0]

    def _put(self, key: Any, out: Any, origin: Any) -> None:
        if len(self.table) >= MOST:
            self.table.clear()
        if not origin.key:
            origin.key = key
        self.table[key] = (origin, out.untyped_storage().nbytes())

    def _known(self, tensor: Any, key: Any) -> Any:
        found = self.table.get(key)
        if found is None or found[1] != tensor.untyped_storage().nbytes():
            return None
        return found[0]

    def _note(self, func: Any, out: Any, args: Any, kwargs: Any, frame: Any) -> None:
        key = storage_of(out)
        if not key or torch._C._get_tracing_state() is not None:
            return
        rank = RANK[out.dtype]
        same, lower, higher = [], [], []
        for tensor in _tensors(args, kwargs):
            at = RANK.get(tensor.dtype)
            if at is None:
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
        name = getattr(func, "__name__", "") or str(func)
        if name == "__get__":
            return
        origin = self._origin(name, out, same, lower, higher, frame)
        if origin is not None:
            self._put(key, out, origin)

    def _origin(self, name: Any, out: Any, same: Any, lower: Any, higher: Any, frame: Any) -> Any:
        if _is_factory(name) or not (same or lower or higher):
            place, _ = place_of(frame)
            return Origin(START, name, place, out.dtype, static=True)
        if higher and not same:
            return self._inherited(name, out, [(each, storage_of(each)) for each in higher], frame)
        if not same:
            return self._widened(name, out, lower, frame)
        if name in _CASTS and lower:  # type_as and the like: the operand only names the dtype
            return self._cast_like(name, out, same[0], frame)
        if lower:
            return self._promoted(name, out, same, frame)
        return self._inherited(name, out, same, frame)

    def _inherited(self, name: Any, out: Any, operands: Any, frame: Any) -> Any:
        """Return the origin of a wide result of wide operands alone."""
        static = None
        parameter = None
        for tensor, key in operands:
            if _is_parameter(tensor):
                parameter = parameter or key
                continue
            known = self._known(tensor, key)
            if known is not None and not known.static:
                return known
            static = static or known
        if parameter is not None or (name in _FLOWS and static is not None):
            place, _ = place_of(frame)
            found = Origin(START, name, place, out.dtype, static=name not in _FLOWS)
            found.key = parameter or operands[0][1]
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
        if ("norm" in name or "softmax" in name) and any_autocast():
            place, _ = place_of(frame)
            return Origin(CAST, name, place, out.dtype, why=_BY_AUTOCAST)
        guilty = [pair for pair in same if pair[0].dim()] or same
        for tensor, key in guilty:
            if _is_parameter(tensor) or not tensor.numel():
                continue
            known = self._known(tensor, key)
            if known is None or known.static:
                continue
            if name in _JOINS or tensor.shape == out.shape:
                return known
        place, at = place_of(frame)
        found = Origin(PROMOTION, name, place, out.dtype)
        tensor, found.key = guilty[0]
        found.operand = called(tensor, found.key, at, (place.code, place.line, name))
        if not tensor.numel():
            found.why = "it is empty"
        known = self._known(tensor, found.key)
        if known is not None and not _is_parameter(tensor):
            found.key, found.via = known.key or found.key, known.place
        return found

    def _widened(self, name: Any, out: Any, lower: Any, frame: Any) -> Any:
        """Return the origin of a wide result of half operands alone."""
        place, at = place_of(frame)
        if name in _CASTS and not _names_dtype(place):
            given = self._given_wide(out, frame)
            if given is not None:
                return given
        if name in _CASTS:
            return Origin(CAST, name, place, out.dtype)
        if len({each.dtype for each in lower}) > 1:
            found = Origin(PROMOTION, name, place, out.dtype)
            other = next(each for each in lower if each.dtype != lower[0].dtype)
            found.key = storage_of(other)
            found.operand = called(other, found.key, at, (place.code, place.line, name))
            found.dtype = other.dtype
            return found
        if any_autocast() and not _names_dtype(place):
            return Origin(CAST, name, place, out.dtype, why=_BY_AUTOCAST)
        return Origin(OTHER if "custom" in name else CAST, name, place, out.dtype)

    def _cast_like(self, name: Any, out: Any, pair: Any, frame: Any) -> Any:
        tensor, key = pair
        known = self._known(tensor, key)
        if known is not None and not known.static and not _is_parameter(tensor):
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


def _is_parameter(tensor: Any) -> Any:
    """Return whether a tensor is a parameter, or a view of one."""
    if isinstance(tensor, torch.nn.Parameter):
        return True
    return isinstance(tensor._base, torch.nn.Parameter)


def _is_factory(name: Any) -> Any:
    return name.startswith("new_") or name.endswith("_like")


def _names_dtype(place: Any) -> Any:
    """Return whether the statement itself says float32: then it is the one."""
    code, line = place.code, place.line
    known = _SAYS.get((code, line))
    if known is None:
        text = source_of(code, line) if code is not None else ""
        known = any(word in text for word in _SAID)
        _SAYS[(code, line)] = known
    return known


_SAYS: dict[Any, bool] = {}
_SAID = ("float32", "float64", ".float(", ".double(", "get_default_dtype")


def _autocast_asker() -> Any:
    """Return what says whether autocast is on anywhere; the way to ask has changed."""
    try:
        torch.is_autocast_enabled("cpu")
    except TypeError:
        return lambda: torch.is_autocast_enabled() or torch.is_autocast_cpu_enabled()
    return lambda: torch.is_autocast_enabled("cuda") or torch.is_autocast_enabled("cpu")


any_autocast = _autocast_asker()


def _tensors(args: Any, kwargs: Any) -> Any:
    """Return the tensors among arguments, also those in lists."""
    found = []
    values = list(args) + list(kwargs.values()) if kwargs else args
    for value in values:
        if isinstance(value, torch.Tensor):
            found.append(value)
        elif type(value) is list or type(value) is tuple:
            found.extend(item for item in value[:_MEMBERS] if isinstance(item, torch.Tensor))
    return found
