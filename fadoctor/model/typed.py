"""Decode into types, also from several threads at once.

msgspec makes what it has to know of a class when that is first asked for. Two threads that ask for
the same one at once end the process by SIGSEGV (msgspec 0.22, Python 3.11): facts are read in one
thread while another loads what judges them, and programs call us from threads of their own.
"""

from __future__ import annotations

import threading
from functools import cache
from typing import Any, TypeVar, overload

import msgspec

_T = TypeVar("_T")
_MAKING = threading.RLock()


@overload
def decode(data: bytes | str, kind: type[_T]) -> _T: ...
@overload
def decode(data: bytes | str, kind: object) -> Any: ...
def decode(data: bytes | str, kind: Any) -> Any:
    """Return JSON as a type; msgspec.DecodeError where it is none, or does not fit.

    msgspec raises other errors for text that is not UTF-8, and for what is nested too deeply.
    """
    try:
        return _decoder(kind).decode(data)
    except (UnicodeError, RecursionError) as error:
        raise msgspec.DecodeError(str(error)) from error


def convert(value: object, kind: type[_T]) -> _T:
    """Return plain data as a type; msgspec.ValidationError where it does not fit."""
    _decoder(kind)
    return msgspec.convert(value, kind)


def _decoder(kind: Any) -> msgspec.json.Decoder[Any]:
    with _MAKING:
        return _made(kind)


@cache
def _made(kind: Any) -> msgspec.json.Decoder[Any]:
    return msgspec.json.Decoder(kind)
