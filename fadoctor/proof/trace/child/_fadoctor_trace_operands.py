"""What an operand is called where a statement stands."""

from __future__ import annotations

import re
from typing import Any

import torch
from _fadoctor_trace_frames import keep, owner_name, source_of, storage_of

_CALLED: dict[Any, Any] = {}
_MOST = 200
"""Names of one place that are looked at."""


def called(tensor: Any, key: Any, frame: Any, where: Any) -> Any:
    """Return what a tensor is called in a frame: a parameter of its module, or a variable."""
    if frame is None:
        return ""
    code, line, name = where
    known = _CALLED.get((id(code), line, name))
    if known is None:
        owner = owner_name(frame) or "self"
        said = _WORD.findall(source_of(code, line))
        found = _look_up(tensor, key, frame, owner, said)
        found = found or _mentioned(tensor, key, where, frame, owner)
        known = keep(_CALLED, (id(code), line, name), (code, found))
    return known[1]


def cut_from(name: Any, frame: Any) -> Any:
    """Return the argument of a function that one of its variables is a part of, else ""."""
    if frame is None or not name:
        return ""
    tensor, code = frame.f_locals.get(name), frame.f_code
    if not isinstance(tensor, torch.Tensor) or tensor._base is None:
        return ""
    key = storage_of(tensor)
    for other in code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]:
        each = frame.f_locals.get(other)
        if other != name and isinstance(each, torch.Tensor) and storage_of(each) == key:
            return other
    return ""


def dtype_giver(frame: Any, place: Any, dtype: Any) -> Any:
    """Return the tensor whose dtype a line asks for (``x.dtype``), and its name, else None."""
    if frame is None or place.code is None:
        return None
    code, line = place.code, place.line
    known = _ASKED_AT.get((id(code), line))
    if known is None:
        asked = _ASKED.findall(source_of(code, line))[:8]
        known = keep(_ASKED_AT, (id(code), line), (code, asked))
    for text in known[1]:
        tensor = _resolved(text, frame)
        if isinstance(tensor, torch.Tensor) and tensor.dtype == dtype:
            owner = owner_name(frame) or "self"
            return tensor, text[len(owner) + 1 :] if text.startswith(owner + ".") else text
    return None


def _look_up(tensor: Any, key: Any, frame: Any, owner_is: Any, said: Any) -> Any:
    """Return a name of a tensor or of a view of it: one of those that the line says, else any."""
    first = ""
    values = frame.f_locals
    owner = values.get(owner_is)
    places = [values]
    if isinstance(owner, torch.nn.Module):
        places = [owner._parameters, owner._buffers, values, owner.__dict__]
    elif owner is not None:
        places.append(getattr(owner, "__dict__", {}))
    for names in places:
        for name, each in list(names.items())[:_MOST]:
            if isinstance(each, torch.Tensor) and (each is tensor or storage_of(each) == key):
                if name in said:
                    return name
                first = first or name
    return first


def _mentioned(tensor: Any, key: Any, where: Any, frame: Any, owner: Any) -> Any:
    """Return the name on the line of an operand, or of what it was made of: freqs.cos()."""
    near, computed = "", []
    for text in _NAME.findall(source_of(where[0], where[1]))[:40]:
        parts = text.split(".")
        for end in range(len(parts), 0, -1):
            each = _resolved(".".join(parts[:end]), frame)
            if not isinstance(each, torch.Tensor) or each.dtype != tensor.dtype:
                continue
            name = ".".join(parts[1:end] if parts[0] == owner and end > 1 else parts[:end])
            if each is tensor or storage_of(each) == key:
                return name
            near = near or name
            break
        else:
            if len(parts) > 1 and parts[0] == owner and _is_computed(frame, owner, parts[1]):
                computed.append(parts[1])
    return near or (computed[0] if len(set(computed)) == 1 else "")


def _is_computed(frame: Any, owner: Any, name: Any) -> bool:
    """Return whether an attribute is computed at each use; it is not asked for."""
    kind = type(frame.f_locals.get(owner))
    found = next((vars(each)[name] for each in kind.__mro__ if name in vars(each)), None)
    return isinstance(found, property)


def _resolved(text: Any, frame: Any) -> Any:
    """Return what a dotted name stands for, without running any code of its owners."""
    first, *rest = text.split(".")
    value = frame.f_locals.get(first)
    if value is None:
        value = frame.f_globals.get(first)
    for name in rest[:6]:
        if value is None or isinstance(value, torch.Tensor):
            return None
        value = _attribute(value, name)
    return value


def _attribute(owner: Any, name: Any) -> Any:
    places = [getattr(owner, "__dict__", {})]
    if isinstance(owner, torch.nn.Module):
        places += [owner._parameters, owner._buffers, owner._modules]
    kind = owner if isinstance(owner, type) else type(owner)
    places += [vars(each) for each in kind.__mro__[:16]]
    return next((names[name] for names in places if name in names), None)


_WORD = re.compile(r"[A-Za-z_]\w*")
_NAME = re.compile(r"(?<![\w.])[A-Za-z_]\w{0,80}(?:\.[A-Za-z_]\w{0,80}){0,6}")
_ASKED_AT: dict[Any, Any] = {}
_ASKED = re.compile(r"(?<![\w.])([A-Za-z_]\w{0,80}(?:\.[A-Za-z_]\w{0,80}){0,6})\.dtype\b")
