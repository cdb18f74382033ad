"""C++ names as people write them, by the demangler of our own process's libstdc++.

Only names of failing symbols come here, and they may be hostile: back references let a name of a
few hundred bytes stand for gigabytes of text, and nesting eats the stack. A name is therefore
shown as it is unless it is of letters that names have, not long, and holds few back references:
each can at most double the text that is written so far, so 1 KiB with 14 of them stays below 16 MiB.
"""

from __future__ import annotations

import ctypes
import re

_MAX_LENGTH = 1024
_MAX_REFERENCES = 14
_MAX_TEXT = 2000
_NAME = re.compile(r"_Z[A-Za-z0-9_.$]*")
# S_, S1A_ and T_, T0_ refer back; Dp repeats a pattern for each member of a pack
_REFERENCE = re.compile(r"[ST][0-9A-Z]{0,8}_|Dp")
_LIBRARY = "libstdc++.so.6"
_LONG_STRINGS = tuple(
    (f"std::{new}basic_string<char, std::char_traits<char>, std::allocator<char>{gap}>", short)
    for gap in (" ", "")
    for new, short in (("__cxx11::", "std::__cxx11::string"), ("", "std::string"))
)


class Demangler:
    """Demangles where that is safe, and returns the name as it is where it is not."""

    def __init__(self, library: str = _LIBRARY) -> None:
        """Load libstdc++, of this process and not of the target; without it names stay raw."""
        self._library = _open(library)

    def demangle(self, symbol: str) -> str:
        """Return a name in C++, at most 2000 characters of it."""
        text = _call(self._library, symbol) if self._library and is_safe(symbol) else ""
        return (text or symbol)[:_MAX_TEXT]


def _open(name: str) -> ctypes.CDLL | None:
    try:
        library = ctypes.CDLL(name)
        library.__cxa_demangle.restype = ctypes.c_void_p
        library.free.argtypes = [ctypes.c_void_p]
        library.free.restype = None
    except (OSError, AttributeError):
        return None
    return library


def is_safe(symbol: str) -> bool:
    """Whether demangling a name is bounded in time and memory."""
    if len(symbol) > _MAX_LENGTH or not _NAME.fullmatch(symbol):
        return False
    return len(_REFERENCE.findall(symbol)) <= _MAX_REFERENCES


def _call(library: ctypes.CDLL, symbol: str) -> str:
    status = ctypes.c_int()
    pointer = library.__cxa_demangle(symbol.encode("ascii"), None, None, ctypes.byref(status))
    if not pointer:
        return ""
    try:
        text = (ctypes.cast(pointer, ctypes.c_char_p).value or b"").decode("utf-8", "replace")
    finally:
        library.free(pointer)
    for long, short in _LONG_STRINGS:
        text = text.replace(long, short)
    return text
