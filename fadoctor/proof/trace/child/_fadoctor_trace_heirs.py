"""The short way for what most operations of a model in float32 are: wide results of wide operands.

Such a result is what its operands are. Nothing is said of a statement there, so that no frame is
looked at; whatever else may be the case goes the long way.
"""

from __future__ import annotations

from typing import Any

import torch
from _fadoctor_trace_frames import keep
from _fadoctor_trace_origin import (
    CAST,
    LASTING,
    MEMBERS,
    WIDE,
    is_factory,
    is_parameter,
    plain_name,
)
from _fadoctor_trace_table import PLAIN

_TENSOR = torch.Tensor
_PARAMETER = torch.nn.Parameter
_VALUES = frozenset((int, float, bool, type(None), str, torch.Size, torch.memory_format))
"""Classes of arguments that are no tensor, and hold none."""

_EASY = _VALUES.union(PLAIN)
_OF_TORCH = ("torch.nn.functional", "torch.functional")
"""Modules whose functions last as long as torch does."""

_SAME = object()
"""Stands for the origin of a view, or of what was changed in place: it is what it was."""


class Heirs:
    """Hands the origin of wide operands on to the result."""

    def __init__(self, roles: Any, table: Any) -> None:
        self._roles = roles
        self._table = table
        self._known: dict[int, Any] = {}
        """Address of a function -> the function, whether it hands on, how parameters take part.

        "flow": they become activations; "weigh": they compute with those; "": neither.
        """

    def hand_on(self, func: Any, out: Any, args: Any, kwargs: Any) -> Any:
        """Note whose origin a result has, as `Lineage.note` would; False where that must look."""
        if type(out) is not _TENSOR or out.dtype not in WIDE:
            return False
        _, hands, flows = self._known.get(id(func)) or self._learn(func)
        if not hands or (kwargs and not _VALUES.issuperset(map(type, kwargs.values()))):
            return False
        operands = _operands(args, out.dtype)
        if not operands or torch._C._get_tracing_state() is not None:
            return False
        try:
            storage = out.untyped_storage()
            found = self._origin(operands, storage._cdata, flows)
        except (RuntimeError, NotImplementedError):  # below a transformation: without a storage
            return False
        if found is not None and found is not _SAME:
            self._table.put_storage(storage._cdata, storage, found)
        return found is not None

    def _origin(self, operands: Any, key: Any, flows: Any) -> Any:
        """Return the origin that the first operand with one has; None where it is not so simple."""
        found = [None, None]  # of an activation, of something static
        weighted = False
        for each in operands:
            operand = each.untyped_storage()._cdata
            if operand == key:
                return _SAME
            if _is_weight(each):
                weighted = True
                continue
            known = self._table.get(operand)
            if known is not None:
                found[known.static] = found[known.static] or known
        moving, static = found
        if moving is None:
            return None if weighted or flows == "flow" else static
        if not flows or not (weighted or static):
            return moving
        if moving.autocast and flows == "flow":
            return None
        return None if moving.kind == CAST and not moving.weighed else moving

    def _learn(self, func: Any) -> Any:
        lasts = type(func) in LASTING or getattr(func, "__module__", "") in _OF_TORCH
        name = plain_name(func) if lasts else ""
        hands = name not in ("", "__get__", *self._roles.casts) and not is_factory(name)
        flows = (
            "flow" if name in self._roles.flows else "weigh" if name in self._roles.weighs else ""
        )
        found = (func, hands, flows)
        return keep(self._known, id(func), found) if lasts else found


def _operands(args: Any, dtype: Any) -> Any:
    """Return the tensors among arguments, None where one has another dtype, or is hidden.

    A mask of bool is none of them: it makes nothing wide.
    """
    found: list[Any] = []
    for each in args:
        kind = type(each)
        if kind in PLAIN:
            if each.dtype is dtype:
                found.append(each)
            elif each.dtype is not torch.bool:
                return None
        elif kind is list or kind is tuple:  # cat, stack; the sizes of a norm
            if len(each) > MEMBERS or not _EASY.issuperset(map(type, each)):
                return None
            inner = _operands(each, dtype)
            if inner is None:
                return None
            found += inner
        elif kind not in _VALUES:
            return None
    return found


def _is_weight(tensor: Any) -> Any:
    if type(tensor) is _PARAMETER:
        return True
    base = tensor._base
    return base is not None and is_parameter(base)
