"""Ask torch something and keep its warnings, without a trace of it in the patient's own warnings.

`warnings.catch_warnings` would make every module of the patient warn anew of what it has warned of
already, and take warnings of other threads. Here a filter stands in front while torch is asked,
and fits our modules alone, and the one of torch that asks C++.
"""

from __future__ import annotations

import re
import threading
import warnings
from typing import Any

import torch

_LOCK = threading.RLock()
_ASKERS = re.compile(r"(?:_fadoctor_trace_\w+|torch\.backends\.cuda)\Z")
"""A warning of C++ belongs to the module of the innermost Python frame."""

_ALWAYS = ("always", None, Warning, _ASKERS, 0)


def heard(ask: Any) -> Any:
    """Return what `ask` returns, and the texts of the warnings that it gave in this thread."""
    said: list[str] = []
    thread = threading.get_ident()
    with _LOCK:
        filters, show = warnings.filters, getattr(warnings, "_showwarnmsg")

        def keep(message: Any) -> None:
            if threading.get_ident() == thread:
                said.append(str(message.message))
            else:
                show(message)

        setattr(warnings, "filters", [_ALWAYS, *filters])
        setattr(warnings, "_showwarnmsg", keep)
        try:
            return ask(), said
        finally:
            setattr(warnings, "_showwarnmsg", show)
            setattr(warnings, "filters", filters)


_ONE = torch.empty(1, device="cpu")


def warned_in_python(ask: Any) -> Any:
    """Return what `ask` returns; what C++ warns of in it becomes warnings of Python.

    `can_use_flash_attention` alone has nothing that does so: on a GPU, torch 2.11 wrote its reasons
    to the standard error stream of the patient. A method that calls back, like `apply_`, has.
    """
    found: list[Any] = []

    def call(value: Any) -> Any:
        found.append(ask())
        return value

    with torch._C.DisableTorchFunction():
        _ONE.apply_(call)
    return found[0]
