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
