"""C++ names as people write them, by the demangler of our own process's libstdc++.

Only names of failing symbols come here, and they may be hostile: back references let a name of a
few hundred bytes stand for gigabytes of text, and nesting eats the stack. A name is shown as it is
unless it has only the letters of names, is not long, expands no pack and holds few back
references: each can at most double what is written so far, so that 1 KiB with 14 of them stays
below 16 MiB.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import ctypes

_MAX_LENGTH = 1024
_MAX_REFERENCES = 14
_MAX_TEXT = 2000
_NAME = r"_Z[A-Za-z0-9_.$]*"
# S_, S1A_ and T_, T0_ refer back
_REFERENCE = r"[ST][0-9A-Z]{0,8}_"
_PACK = "Dp"
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
        import ctypes  # noqa: PLC0415 -- few environments have a name to show

        self._library: ctypes.CDLL | None
        try:
            self._library = ctypes.CDLL(library)
            # By item: an attribute with two underscores would get the name of this class.
            self._function, self._free = self._library["__cxa_demangle"], self._library["free"]
        except (OSError, AttributeError):
            self._library = None
            return
        self._function.restype = ctypes.c_void_p
        self._free.argtypes, self._free.restype = [ctypes.c_void_p], None

    def demangle(self, symbol: str) -> str:
        """Return a name in C++, at most 2000 characters of it."""
        text = self._call(symbol) if is_safe(symbol) else ""
        return (text or symbol)[:_MAX_TEXT]

    def _call(self, symbol: str) -> str:
        if self._library is None:
            return ""
        import ctypes  # noqa: PLC0415 -- see above

        status = ctypes.c_int()
        pointer = self._function(symbol.encode("ascii"), None, None, ctypes.byref(status))
        if not pointer:
            return ""
        text = (ctypes.cast(pointer, ctypes.c_char_p).value or b"").decode("utf-8", "replace")
        self._free(pointer)
        for long, short in _LONG_STRINGS:
            text = text.replace(long, short)
        return text


def is_safe(symbol: str) -> bool:
    """Whether demangling a name is bounded in time and memory."""
    if len(symbol) > _MAX_LENGTH or not re.fullmatch(_NAME, symbol) or _PACK in symbol:
        return False
    return len(re.findall(_REFERENCE, symbol)) <= _MAX_REFERENCES
