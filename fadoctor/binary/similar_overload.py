"""The overload that a library has instead of the one that is wanted."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import msgspec

from fadoctor.binary.abi import AbiCause, StringAbi, cause_of
from fadoctor.binary.demangle import Demangler
from fadoctor.binary.errors import BadBinaryError
from fadoctor.binary.symbols import Import, gnu_hash

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from fadoctor.binary.loader import Loaded
    from fadoctor.binary.predict import Predictor
    from fadoctor.binary.prediction import Prediction

_CHUNK = 4 << 20
_MAX_NAME = 8 << 10
_MAX_CANDIDATES = 400
_MAX_TABLE = 64 << 20
# _ZN, _ZNK...: qualifiers of a member function
_NESTED = r"_ZN[KVRO]*"
_LENGTH = re.compile(r"[1-9][0-9]{0,3}")
# C2: constructor, D1: destructor; pl, cl, ...: operator
_SPECIAL = re.compile(r"C[123]|D[012]|[a-z][a-zA-Z]")


class Hint(msgspec.Struct, frozen=True):
    """What is wanted and what is there, in C++ where it can be told safely."""

    symbol: str
    cause: AbiCause
    wanted: str
    nearest: str
    """The most similar overload, "" where there is none."""
    provider: str
    """The path of the library that has it."""


def hints_for(predictor: Predictor, prediction: Prediction, limit: int = 5) -> tuple[Hint, ...]:
    """Say for the first undefined symbols what torch has in their place.

    Reads the string tables of torch's libraries, some ten ms; nothing where they are damaged.
    """
    symbols = [reason.name for reason in prediction.undefined[:limit]]
    if not symbols:
        return ()
    try:
        return _hints(symbols, predictor.torch_string_abi(), predictor.torch_libraries())
    except (BadBinaryError, OSError):
        return ()


def _hints(
    symbols: Sequence[str], torch: StringAbi | None, providers: Sequence[Loaded]
) -> tuple[Hint, ...]:
    found: dict[str, list[tuple[str, str]]] = {symbol: [] for symbol in symbols}
    for one in providers:
        for symbol, name in overloads(one, symbols):
            found[symbol].append((name, one.path))
    demangler = Demangler()
    return tuple(_hint(symbol, torch, found[symbol], demangler) for symbol in symbols)


def _hint(
    symbol: str, torch: StringAbi | None, found: list[tuple[str, str]], demangler: Demangler
) -> Hint:
    cause = cause_of(symbol, torch, (name for name, _ in found))
    wanted = demangler.demangle(symbol)
    if not found:
        return Hint(symbol, cause, wanted, "", "")
    name, path = max(found, key=lambda pair: _similarity(pair[0], symbol))
    return Hint(symbol, cause, wanted, demangler.demangle(name), path)


def overloads(one: Loaded, symbols: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Yield (symbol, other function of that qualified name that a library exports)."""
    prefixes = {prefix: symbol for symbol in symbols for prefix in _prefixes(symbol)}
    for prefix, name in _names_with(one, [p.encode("utf-8", "replace") for p in prefixes]):
        start, text = prefix.decode("utf-8", "replace"), name.decode("utf-8", "replace")
        symbol = prefixes.get(start)
        # E ends the name of a nested function, B tags it, I begins its template arguments.
        if symbol is None or (start.startswith("_ZN") and text[len(start) :][:1] not in _AFTER):
            continue
        if text != symbol and one.file.symbols.find(Import(name, gnu_hash(name), None)):
            yield symbol, text


_AFTER = frozenset("EBI")


def _prefixes(symbol: str) -> list[str]:
    """Return how the mangled names of a function may begin, const or not."""
    base = qualified_name(symbol)
    nested = re.match(_NESTED, base)
    if nested is None:
        return [base] if base else []
    rest = base[nested.end() :]
    return [f"_ZN{rest}", f"_ZNK{rest}"]


def qualified_name(symbol: str) -> str:
    """Return a mangled name up to the end of the function's name, "" where there is none."""
    start = re.match(_NESTED, symbol)
    at = start.end() if start else 2
    if not symbol.startswith("_Z"):
        return ""
    begin = at
    while at < len(symbol):
        length = _LENGTH.match(symbol, at)
        special = _SPECIAL.match(symbol, at) if at > begin else None
        if length and length.end() + int(length[0]) <= len(symbol):
            at = length.end() + int(length[0])
        elif special:
            return symbol[: special.end()]
        else:
            break
        if not start:
            break
    return symbol[:at] if at > begin else ""


def _names_with(one: Loaded, prefixes: Sequence[bytes]) -> Iterator[tuple[bytes, bytes]]:
    """Yield (prefix, name) for names in a library's string table."""
    start, size = one.elf.strings()
    size = min(size, _MAX_TABLE)
    count = 0
    for at in range(0, size, _CHUNK):
        # Names that begin in this chunk may end in the next one.
        data = one.elf.reader.read_up_to(start + at, min(_CHUNK + _MAX_NAME, size - at))
        for prefix in prefixes:
            found = data.find(b"\0" + prefix)
            while 0 <= found < _CHUNK and count < _MAX_CANDIDATES:
                end = data.find(b"\0", found + 1)
                if end > 0:
                    count += 1
                    yield prefix, data[found + 1 : end]
                found = data.find(b"\0" + prefix, found + 1)


def _similarity(name: str, symbol: str) -> int:
    """Return how many characters two names share at their beginnings and ends."""
    shorter = min(len(name), len(symbol))
    head = next((i for i in range(shorter) if name[i] != symbol[i]), shorter)
    tail = next((i for i in range(shorter) if name[-1 - i] != symbol[-1 - i]), shorter)
    return head + tail
