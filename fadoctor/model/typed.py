"""JSON to types and back, also from several threads at once.

msgspec makes what it has to know of a class when that is first asked for. Two threads that ask for
the same one at once end the process by SIGSEGV (msgspec 0.22, Python 3.11): facts are read in one
thread while another loads what judges them, and programs call us from threads of their own.
"""

from __future__ import annotations

import re
import threading
from functools import cache
from typing import Any, Literal, TypeVar, overload

import msgspec

_T = TypeVar("_T")
_NO_CHARACTER = "[\ud800-\udfff]"
"""How Python keeps bytes of a name that are no UTF-8."""
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
    except RecursionError as error:  # each release of msgspec says it in other words
        raise msgspec.DecodeError("nested too deeply") from error
    except UnicodeError as error:
        raise msgspec.DecodeError(str(error)) from error


def encode(document: object, order: Literal["deterministic", "sorted"] | None = None) -> bytes:
    """Return a document as JSON; bytes of names that are not UTF-8 stand as U+FFFD."""
    try:
        return msgspec.json.encode(document, order=order)
    except UnicodeEncodeError:
        return msgspec.json.encode(_spelled(msgspec.to_builtins(document)), order=order)


def encode_for_python(document: object) -> bytes:
    """Return a document as JSON for a child: it gets names as they are, also those of no UTF-8."""
    try:
        return msgspec.json.encode(document)
    except UnicodeEncodeError:
        import json  # noqa: PLC0415 -- rarely

        return json.dumps(msgspec.to_builtins(document)).encode("ascii")


def _spelled(value: Any) -> Any:
    """Return plain data without surrogates, which stand for bytes that are no UTF-8."""
    match value:
        case str():
            return re.sub(_NO_CHARACTER, "\ufffd", value)
        case dict():
            return {_spelled(key): _spelled(item) for key, item in value.items()}
        case list() | tuple():
            return [_spelled(item) for item in value]
        case _:
            return value


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
