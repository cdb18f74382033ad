"""What an operand is called where a statement stands."""

from __future__ import annotations

import re
from typing import Any

import torch
from _fadoctor_trace_frames import source_of, storage_of

_CALLED: dict[Any, str] = {}


def called(tensor: Any, key: Any, frame: Any, where: Any) -> Any:
    """Return what a tensor is called in a frame: a parameter of its module, or a variable."""
    if frame is None:
        return ""
    known = _CALLED.get(where)
    if known is None:
        if len(_CALLED) > 4096:
            _CALLED.clear()
        known = _look_up(tensor, key, frame.f_locals)
        known = known or _mentioned(tensor, where, frame.f_locals)
        _CALLED[where] = known
    return known


def _look_up(tensor: Any, key: Any, values: Any) -> Any:
    owner = values.get("self")
    places = [values]
    if isinstance(owner, torch.nn.Module):
        places = [owner._parameters, owner._buffers, values, owner.__dict__]
    elif owner is not None:
        places.append(getattr(owner, "__dict__", {}))
    for names in places:
        for name, each in list(names.items())[:200]:
            if isinstance(each, torch.Tensor) and (each is tensor or storage_of(each) == key):
                return name
    return ""


def _mentioned(tensor: Any, where: Any, values: Any) -> Any:
    """Return the variable of the line that an unnamed operand was made of: freqs of freqs.cos()."""
    owner = values.get("self")
    own = dict(getattr(owner, "__dict__", {}))
    if isinstance(owner, torch.nn.Module):
        own.update(owner._parameters)
        own.update(owner._buffers)
    for name in _NAME.findall(source_of(where[0], where[1]))[:40]:
        attribute = name[5:] if name.startswith("self.") else ""
        each = own.get(attribute) if attribute else values.get(name)
        if isinstance(each, torch.Tensor) and each.dtype == tensor.dtype:
            return attribute or name
    return ""


_NAME = re.compile(r"(?<![\w.])(?:self\.)?[A-Za-z_]\w{0,80}")
