"""Why a result is wide: the statement, the operand or the parameter that it comes from.

What is given are the operands of one operation by how wide they are; what is known of their own
origins decides whether this statement is the one, or hands on what another began.
"""

from __future__ import annotations

from typing import Any

import torch
from _fadoctor_trace_frames import place_of, storage_of
from _fadoctor_trace_operands import called, cut_from, dtype_giver
from _fadoctor_trace_origin import (
    CAST,
    HALVES,
    OTHER,
    PROMOTION,
    START,
    Origin,
    any_autocast,
    is_factory,
    is_parameter,
    names_dtype,
    parameter_name,
)

_BY_AUTOCAST = "autocast, which runs it in float32"


class Causes:
    """Finds the origin of a wide result."""

    def __init__(self, roles: Any, table: Any) -> None:
        self.roles = roles
        self.table = table
        self.elsewhere: Any = lambda _tensor: None
        """What says where a tensor that no mode saw being made was widened."""

    def known(self, tensor: Any) -> Any:
        """Return the origin of a tensor, None where no operation on it was seen."""
        found = self.table.get(storage_of(tensor))
        if found is None:
            return self.elsewhere(tensor)
        if tensor.dtype in HALVES and found.dtype != tensor.dtype:
            return None
        return found

    def of(self, name: Any, out: Any, same: Any, lower: Any, higher: Any, frame: Any) -> Any:
        """Return the origin of a result of as wide, less wide and wider operands."""
        if is_factory(name) or not (same or lower or higher):
            place, _ = place_of(frame)
            kind = CAST if name in self.roles.casts else START  # of integers: codes, positions
            return Origin(kind, name, place, out.dtype, static=True)
        if higher and not same:
            return self._inherited(name, out, [(each, storage_of(each)) for each in higher], frame)
        if not same:
            return self._widened(name, out, lower, frame)
        if (
            name in self.roles.casts and lower
        ):  # type_as and the like: the operand only names the dtype
            return self._cast_like(name, out, same[0], frame)
        if lower:
            return self._promoted(name, out, same, lower, frame)
        return self._inherited(name, out, same, frame)

    def scaled(self, name: Any, out: Any, same: Any, frame: Any) -> Any:
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
        static = moving = parameter = None
        for tensor, key in operands:
            if is_parameter(tensor):
                parameter = parameter or key
                continue
            known = self.table.get(key)
            if known is not None and not known.static:
                moving = moving or known
            static = static or known
        flows = name in self.roles.flows
        for_a_weight = moving is not None and flows and parameter and self._for(moving, parameter)
        left = moving is not None and flows and parameter and _left_autocast(moving)
        if moving is not None and not left and not for_a_weight:
            weighs = moving.kind == CAST and (parameter or static) and name in self.roles.weighs
            return moving.computed() if weighs and not moving.weighed else moving
        if parameter is not None:
            place, _ = place_of(frame)
            found = Origin(START, name, place, out.dtype, static=not flows)
            found.follows = bool(for_a_weight)
            found.key = parameter
            found.operand = parameter_name(place.owner(), parameter)
            return found
        if static is not None and flows:
            return static.moving()
        if static is not None:
            return static
        compiled = next(filter(None, (self.elsewhere(each) for each, _ in operands)), None)
        if compiled is not None:
            return compiled
        place, at = place_of(frame)
        found = Origin(START, name, place, out.dtype, static=True)
        found.key = operands[0][1]
        found.operand = called(operands[0][0], operands[0][1], at, (place.code, place.line, name))
        return found

    def _for(self, origin: Any, parameter: Any) -> bool:
        """Return whether what a cast made was made for a wide weight.

        A weight that was widened itself while a module runs is none: both were cast for that call.
        """
        weight = self.table.get(parameter)
        lent = weight is not None and weight.kind == CAST and weight.place.inside
        return not lent and _for_a_weight(origin)

    def _promoted(self, name: Any, out: Any, same: Any, lower: Any, frame: Any) -> Any:
        """Return the origin of a wide result of wide and half operands."""
        if self.roles.by_autocast(name, out.device.type):
            place, _ = place_of(frame)
            return Origin(CAST, name, place, out.dtype, why=_BY_AUTOCAST)
        guilty = [pair for pair in same if pair[0].dim()] or same
        beside = not all(map(is_parameter, lower))
        handed, chosen = None, guilty[0]
        for tensor, key in guilty:
            if is_parameter(tensor) or not tensor.numel():
                continue
            known = self.table.get(key)
            if known is None or known.static or known.follows or (known.weighed and beside):
                continue
            if name in self.roles.joins or tensor.shape == out.shape:
                handed, chosen = known, (tensor, key)
                break
        whole = name not in self.roles.joins or handed is None or handed.kind != START
        if handed is not None and (whole or handed.joined or not beside):
            return handed
        place, at = place_of(frame)
        found = Origin(PROMOTION, name, place, out.dtype)
        tensor, found.key = chosen
        found.operand = called(tensor, found.key, at, (place.code, place.line, name))
        found.cut_from = cut_from(found.operand, at)
        if not tensor.numel():
            found.why = "it is empty"
        known = self.table.get(found.key)
        if known is not None and not is_parameter(tensor):
            found.key, found.via = known.key or found.key, known.place
        return found if handed is None else handed.beside(found)

    def _widened(self, name: Any, out: Any, lower: Any, frame: Any) -> Any:
        """Return the origin of a wide result of half operands alone."""
        place, at = place_of(frame)
        if name in self.roles.casts and not names_dtype(place, at):
            given = self._as_named(name, out, place, at, lower) or self._given_wide(out, frame)
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

    def _as_named(self, name: Any, out: Any, place: Any, at: Any, lower: Any) -> Any:
        """Return the origin of a cast to the dtype of a tensor that the line names: x.dtype."""
        found = dtype_giver(at, place, out.dtype)
        if found is None:
            return None
        tensor, text = found
        known = self.known(tensor)
        if known is not None and not known.static and not is_parameter(tensor):
            return known
        follows = bool(lower) and is_parameter(lower[0])  # a weight: what it is put on is to blame
        origin = Origin(CAST, name, place, out.dtype, static=follows)
        origin.key, origin.operand = storage_of(tensor), text
        origin.follows = is_parameter(tensor) and not follows
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
            known = self.known(tensor)
            if known is None:
                continue
            if tensor.dim() > 1 and tensor.shape[:-1] == out.shape[:-1]:
                return known
        return None


def _for_a_weight(origin: Any) -> bool:
    """Return whether a cast that names no dtype made what meets a wide weight: it was made for it.

    The branch computes as its weights do, whatever handed their dtype on: they are wide from the
    start. Where its result is added to a half one, that is to blame.
    """
    if origin.kind != CAST:
        return False
    return origin.follows or not (origin.why or names_dtype(origin.place))


def _left_autocast(origin: Any) -> bool:
    """Return whether what was wide under autocast, which casts it, is used where there is none.

    Then a wide weight is to blame: nothing was wrong with the other one where it was made.
    """
    return origin.autocast and not any_autocast()
