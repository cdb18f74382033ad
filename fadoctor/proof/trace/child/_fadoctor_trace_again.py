"""Calls that come again just so: they are counted, and nothing is looked for anew.

That is so where query, key and value are of one half dtype, as at each step of a healthy program;
what else is on record must be the same, down to the switches of torch's kernels.
"""

from __future__ import annotations

import weakref
from typing import Any

import torch
from _fadoctor_trace_frames import module_of
from _fadoctor_trace_origin import HALVES
from _fadoctor_trace_table import PLAIN

_MOST = 4096
_DEEPEST = 200
_SWITCHES = [
    getattr(torch._C, "_get_%s_sdp_enabled" % name)
    for name in ("flash", "mem_efficient", "math", "cudnn")
    if hasattr(torch._C, "_get_%s_sdp_enabled" % name)
]


class Again:
    """What is known of calls by all that a record says of them."""

    def __init__(self, record: Any) -> None:
        self._record = record
        self._known: dict[Any, Any] = {}
        """Form -> (key of the record, module, code, dtype of the result, node of autograd)."""

    def form(self, call: Any) -> Any:
        """Return all that a call is known by, None where it must be looked at each time."""
        tensors = list(call.tensors.values())
        first = tensors[0].dtype if tensors else None
        if first not in HALVES:
            return None
        if any(type(x) not in PLAIN or x.dtype != first or x.is_meta for x in tensors):
            return None
        owner = call.held if call.held is not None else _module_above(call.frame)
        mask = call.values.get("mask")
        if mask is not None and type(mask) is not torch.Tensor:
            return None
        more = (call.values.get("causal"), call.values.get("dropout"), call.scale, call.grouped)
        if any(isinstance(each, torch.Tensor) for each in more):
            return None
        shapes = (*map(_shape, tensors), _shape(mask) if mask is not None else None)
        where = (call.entry["entry"], id(call.frame.f_code), call.frame.f_lineno, id(owner))
        how = (call.autocast, torch.is_grad_enabled(), *(each() for each in _SWITCHES))
        call.first = owner
        return (*where, *shapes, *more, *how)

    def knows(self, call: Any) -> Any:
        """Return whether a call of this form is on record, of the same module."""
        found = self._known.get(call.form)
        if found is None or found[0] not in self._record.calls:
            return False
        return (found[1]() if found[1] is not None else None) is call.first

    def count(self, call: Any, ran: Any, out: Any) -> Any:
        """Count a call that came out as before; False where it did not."""
        key, _, _, before, node = self._known[call.form]
        if ran != before or _node(out) != node or key not in self._record.calls:
            return False
        self._record.add(key, None)
        return True

    def keep(self, call: Any, key: Any, ran: Any, out: Any) -> None:
        """Remember what a call is on record as."""
        if len(self._known) >= _MOST:
            self._known.clear()
        owner = None if call.first is None else weakref.ref(call.first)
        self._known[call.form] = (key, owner, call.frame.f_code, ran, _node(out))


def _module_above(frame: Any) -> Any:
    for _ in range(_DEEPEST):
        if frame is None:
            break
        module = module_of(frame)
        if module is not None and frame.f_code.co_name != "__init__":
            return module
        frame = frame.f_back
    return None


def _shape(tensor: Any) -> Any:
    return (tensor.dtype, tuple(tensor.shape), tensor.stride(), tensor.device, tensor.requires_grad)


def _node(out: Any) -> Any:
    node = getattr(out, "grad_fn", None)
    return None if node is None else node.name()
