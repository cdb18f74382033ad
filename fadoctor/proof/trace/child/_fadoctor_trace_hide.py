"""Keep our frames out of what the patient prints: tracebacks, and the places of warnings."""

from __future__ import annotations

import os
import sys
import threading
import warnings
from typing import Any

_ASKING = 3
"""Frames of torch's own between a function and the mode that it asks, at most."""

_HERE = os.path.dirname(os.path.abspath(__file__)) + os.sep


def hide_our_frames() -> None:
    """Print tracebacks and warnings as they would be without us."""
    _hide_in_excepthook()
    _hide_in_threads()
    _hide_in_warnings()


def _strip(error: Any, seen: set[int]) -> None:
    while error is not None and id(error) not in seen:
        seen.add(id(error))
        links: list[Any] = []
        trace, kept, asked = error.__traceback__, None, False
        while trace is not None:
            code = trace.tb_frame.f_code
            if code.co_filename.startswith(_HERE):
                asked = asked or code.co_name == "__torch_function__"
            else:
                if asked:
                    _forget_asking(links, code)
                links.append(trace)
                asked = False
            trace = trace.tb_next
        for link in reversed(links):
            link.tb_next = kept
            kept = link
        error.__traceback__ = kept
        _strip(error.__cause__, seen)
        error = error.__context__


def _forget_asking(links: Any, code: Any) -> None:
    """Drop the frames of a function of torch that asked our mode, where it is called once more."""
    for back in range(1, _ASKING + 1):
        if len(links) >= back and links[-back].tb_frame.f_code is code:
            del links[-back:]
            return


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
