"""Who made a tensor float32: the lineage of wide tensors, kept by storage.

A function mode sees each operation of Python. Only results that are float32 or float64 are looked
at, and of those only addresses, names and lines are kept: no tensor, no frame.
"""

from __future__ import annotations

import sys
from types import FunctionType, MethodWrapperType
from typing import Any

import torch
from _fadoctor_trace_causes import Causes
from _fadoctor_trace_frames import place_of, storage_of
from _fadoctor_trace_heirs import Heirs
from _fadoctor_trace_operands import called
from _fadoctor_trace_origin import (
    CAST,
    HALVES,
    MEMBERS,
    OTHER,
    RANK,
    START,
    WIDE,
    Operations,
    Origin,
    is_factory,
    is_parameter,
    plain_name,
    tensors_of,
    unseen,
)
from _fadoctor_trace_table import Table
from torch.overrides import TorchFunctionMode, _pop_mode, _push_mode

__tracebackhide__ = True
"""For pytest: our frames are no place of an error."""

_MODULES = sys.modules
_BACKWARD = torch.Tensor.backward
_TENSOR = torch.Tensor
_SEEN = (torch.Tensor, tuple, list)
_CHANGED = (list, torch.nn.Parameter)
"""Classes of results of which the first argument, changed in place, needs no look."""

_GETTER = MethodWrapperType
"""What an attribute of a tensor is read by: no operation makes a tensor there."""
_PYTHON = FunctionType
_OPENED = ("multi_head_attention_forward",)
"""Functions of Python in torch that modes are told of as one, with projections and attention."""
_EACH = "_foreach_"
"""Begins the names of operations on lists whose members have nothing to do with each other."""


class Lineage(TorchFunctionMode):
    """The mode. It belongs to nobody's with-statement, and stays at the bottom of the stack."""

    def __init__(self, fault: Any, operations: Any) -> None:
        super().__init__()
        self.roles = Operations(operations)
        self._choosers = self.roles.choosers
        self.table = Table()
        self.causes = Causes(self.roles, self.table)
        self._hand_on = Heirs(self.roles, self.table).hand_on
        self.active = True
        self.modules_came: Any = None
        """Called where modules have come since, also those that nobody imported."""
        self._modules = len(sys.modules)
        self.entries: dict[int, Any] = {}
        """Address of a function of torch that is attention -> the function and its entry."""
        self.entered: Any = None
        """Called in place of such a function, whatever name it was called by."""
        self.opened: Any = None
        """Calls a function of torch's Python code so that the mode sees what it does."""
        self.held = 0
        """How many backward passes have the mode on the stack, and take it off themselves."""
        self._fault = fault

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        """Run the operation as it is, then note where a wide result comes from."""
        if func is _BACKWARD and self.active:
            return self._backward(*args, **(kwargs or {}))
        if id(func) in self.entries and self.active:
            out = self.entered(func, args, kwargs or {})
        elif type(func) is _PYTHON and func.__name__ in _OPENED and self.active:
            out = self.opened(func, args, kwargs or {})
        else:
            out = func(*args, **kwargs) if kwargs else func(*args)
        if self.active:
            try:
                if (
                    isinstance(out, _SEEN)
                    and not self._known(func, out, args, kwargs)
                    and not self._hand_on(func, out, args, kwargs)
                ):
                    with torch._C.DisableTorchFunction():  # a class may have code for each look
                        self._look(func, out, args, kwargs)
                if len(_MODULES) != self._modules:
                    self._modules = len(_MODULES)
                    if self.modules_came is not None:
                        self.modules_came()
            except Exception as error:
                self._fault("lineage", error)
        return out

    def _known(self, func: Any, out: Any, args: Any, kwargs: Any) -> Any:
        """Return whether a result needs no look: half, in place, a view, an attribute."""
        if type(out) is not _TENSOR:
            if type(out) is tuple:
                return bool(args) and type(args[0]) is _TENSOR and _views(out, args[0])
            if type(out) not in _CHANGED:
                return type(out) is torch.Size
            return out is (args[0] if args else (kwargs or {}).get("tensor"))  # as init names it
        if out.dtype in WIDE:
            if type(func) is _GETTER:
                return True
            first = args[0] if args else None
            return out is first or (type(first) is _TENSOR and _is_view(out, first))
        return func not in self._choosers and not out.is_meta

    def _look(self, func: Any, out: Any, args: Any, kwargs: Any) -> None:
        if isinstance(out, _TENSOR):
            if out.dtype in WIDE:
                self._note(func, out, args, kwargs, sys._getframe(2))
            elif out.is_meta:
                self._note_meta(func, out, args, kwargs, sys._getframe(2))
            elif func in self._choosers and out.dtype in HALVES:
                self._note_half(func, out, args, kwargs, sys._getframe(2))
        elif getattr(func, "__name__", "").startswith(_EACH):
            for index, item in enumerate(out[:MEMBERS]):
                if isinstance(item, _TENSOR) and item.dtype in WIDE:
                    self._note(func, item, _at(index, args), kwargs, sys._getframe(2))
        else:  # also those with names: sort, max
            for item in out[:MEMBERS]:
                if isinstance(item, _TENSOR) and item.dtype in WIDE:
                    self._note(func, item, args, kwargs, sys._getframe(2))

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
        return self.causes.known(tensor)

    def _put(self, key: Any, out: Any, origin: Any) -> Any:
        """Remember the origin of a tensor; return whether it began here."""
        begins = origin.sure is None
        if begins:
            origin.sure = True
        if not origin.key:
            origin.key = key
        self.table.put(key, out, origin)
        return begins

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
        name = plain_name(func)
        if not key or any(storage_of(each) == key for each in given):
            return
        place, _ = place_of(frame)
        kind = CAST if given and not is_factory(name) else OTHER
        self._put(key, out, Origin(kind, name, place, out.dtype, static=True))

    def _note_meta(self, func: Any, out: Any, args: Any, kwargs: Any, frame: Any) -> None:
        """Note where a tensor without values comes from: beside others it fits nowhere."""
        key = storage_of(out)
        given = [each for each in tensors_of(args, kwargs or {}) if each.is_meta]
        moving = [each for each in given if not is_parameter(each)]
        known = next(filter(None, (self.table.get(storage_of(each)) for each in moving)), None)
        if not key or out.dtype not in HALVES or any(storage_of(each) == key for each in given):
            return
        if known is None:
            name = plain_name(func)
            place, at = place_of(frame)
            known = Origin(OTHER, name, place, out.dtype, static=True, why="on the device meta")
            if given:
                known.key = storage_of(given[0])
                where = (place.code, place.line, name)
                known.operand = called(given[0], known.key, at, where)
        self._put(key, out, known)

    def _note(self, func: Any, out: Any, args: Any, kwargs: Any, frame: Any) -> None:
        name = plain_name(func)
        origin = self.note(name, out, args, kwargs, frame) if name != "__get__" else None
        by = unseen(func, args, kwargs) if origin is not None else ""
        if origin is not None and by:
            origin.kind = OTHER if origin.kind == CAST else origin.kind
            origin.sure, origin.why = False, by

    def note(self, name: Any, out: Any, args: Any, kwargs: Any, frame: Any) -> Any:
        """Note where a wide result comes from, and return that; None where another began it."""
        key = storage_of(out)
        if not key or torch._C._get_tracing_state() is not None:
            return None
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
                    return None
                same.append((tensor, operand))
            elif at < rank:
                lower.append(tensor)
            else:
                higher.append(tensor)
        if whole and same and not lower and name in self.roles.arithmetic:
            origin = self.causes.scaled(name, out, same, frame)
        else:
            origin = self.causes.of(name, out, same, lower, higher, frame)
        if origin is None:
            return None
        return origin if self._put(key, out, origin) else None


def _is_view(out: Any, tensor: Any) -> Any:
    """Return whether a result surely lies in a tensor's own memory, as what it is there."""
    base = out._base
    if base is None or out.dtype is not tensor.dtype:
        return False
    return base is tensor or base is tensor._base


def _views(out: Any, tensor: Any) -> Any:
    return bool(out) and all(type(each) is _TENSOR and _is_view(each, tensor) for each in out)


def _at(index: Any, args: Any) -> Any:
    """Return the arguments of one member of an operation on lists."""
    lists = (list, tuple)
    return [each[index : index + 1] if type(each) in lists else each for each in args]
