"""Keep our frames out of what the patient prints: tracebacks, and the places of warnings."""

from __future__ import annotations

import os
import sys
import threading
import warnings
from typing import Any

_HERE = os.path.dirname(os.path.abspath(__file__)) + os.sep


def hide_our_frames() -> None:
    """Print tracebacks and warnings as they would be without us."""
    _hide_in_excepthook()
    _hide_in_threads()
    _hide_in_warnings()


def _strip(error: Any, seen: set[int]) -> None:
    while error is not None and id(error) not in seen:
        seen.add(id(error))
        links, trace, kept = [], error.__traceback__, None
        while trace is not None:
            if not trace.tb_frame.f_code.co_filename.startswith(_HERE):
                links.append(trace)
            trace = trace.tb_next
        for link in reversed(links):
            link.tb_next = kept
            kept = link
        error.__traceback__ = kept
        _strip(error.__cause__, seen)
        error = error.__context__


def _hide_in_excepthook() -> None:
    before = sys.excepthook

    def hook(kind: Any, error: Any, trace: Any) -> None:
        try:
            _strip(error, set())
            trace = error.__traceback__
        except Exception:
            pass
        before(kind, error, trace)

    sys.excepthook = hook


def _hide_in_threads() -> None:
    before = threading.excepthook

    def hook(args: Any) -> None:
        try:
            _strip(args.exc_value, set())
            kept = args.exc_value.__traceback__
            args = threading.ExceptHookArgs((args.exc_type, args.exc_value, kept, args.thread))
        except Exception:
            pass
        before(args)

    threading.excepthook = hook


def _hide_in_warnings() -> None:
    """Give a warning that torch raises below our frame the place of the caller."""
    before = getattr(warnings, "_showwarnmsg", None)
    if before is None:
        return

    def show(message: Any) -> None:
        try:
            if message.filename.startswith(_HERE):
                frame: Any = sys._getframe(1)
                while frame is not None and frame.f_code.co_filename.startswith(_HERE):
                    frame = frame.f_back
                if frame is not None:
                    message.filename, message.lineno = frame.f_code.co_filename, frame.f_lineno
        except Exception:
            pass
        before(message)

    setattr(warnings, "_showwarnmsg", show)
