"""The C++ string ABI of torch and of extensions, and what an undefined symbol tells.

libstdc++ has two ``std::string`` since GCC 5. In mangled names the old one is ``Ss``; the new one
is ``NSt7__cxx1112basic_string...``, and functions that return it carry the tag ``B5cxx11``.
https://gcc.gnu.org/onlinedocs/libstdc++/manual/using_dual_abi.html
"""

from __future__ import annotations

import enum
import re
from typing import TYPE_CHECKING

from fadoctor.binary.symbol_families import Family, family_of
from fadoctor.binary.symbols import Import, gnu_hash

if TYPE_CHECKING:
    from collections.abc import Iterable

    from fadoctor.binary.symbols import SymbolTable


class StringAbi(enum.Enum):
    """Which ``std::string`` is used."""

    OLD = "old"
    NEW = "new"
    NEUTRAL = "neutral"
    """No name shows one, as in builds against torch's stable C interface."""


class AbiCause(enum.Enum):
    """Why a symbol is undefined."""

    OLD_STRING = "old-string-abi"
    """The extension is built with the old ``std::string``, torch with the new one."""
    NEW_STRING = "new-string-abi"
    """The reverse."""
    SIGNATURE_CHANGED = "signature-changed"
    """Torch has the function with other parameters."""
    GONE = "gone-from-torch"
    STABLE_SHIM = "stable-shim-missing"
    """A function of torch's stable C interface that this torch, being older, does not have."""
    NCCL = "nccl"
    NVJITLINK = "nvjitlink"
    CUDA_LIBRARY = "cuda-library"
    CUDA_DRIVER = "cuda-driver"
    PYTHON = "python"
    LIBSTDCXX = "libstdcxx"
    OTHER = "other"


# Both stand in c10/util/Exception.h of every release from 1.8 on.
_C10_NAMES = (
    "_ZN3c105ErrorC2ENS_14SourceLocationE{string}",
    "_ZN3c106detail14torchCheckFailEPKcS2_jRK{string}",
)
_STRINGS = (
    (StringAbi.OLD, "Ss"),
    (StringAbi.NEW, "NSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEEE"),
)
_FAMILY_CAUSES = {
    Family.PYTHON: AbiCause.PYTHON,
    Family.NCCL: AbiCause.NCCL,
    Family.NVJITLINK: AbiCause.NVJITLINK,
    Family.CUSPARSE: AbiCause.NVJITLINK,
    Family.CUDA_DRIVER: AbiCause.CUDA_DRIVER,
    Family.LIBSTDCXX: AbiCause.LIBSTDCXX,
    Family.HIP: AbiCause.OTHER,
    Family.UNKNOWN: AbiCause.OTHER,
}
# aoti_torch_device_type_cpu, torch_call_dispatcher: names in C
_SHIM = re.compile(r"(?:aoti_)?torch_\w+")
# S_, S2A_, T0_ are references; digits elsewhere are the length of a name that follows
_REFERENCE = re.compile(r"[ST][0-9A-Z]*_")
_LENGTH = re.compile(r"[0-9]{1,4}")


def symbol_abi(symbol: str) -> StringAbi:
    """Return the ABI that a mangled name shows."""
    if "7__cxx11" in symbol or "B5cxx11" in symbol:
        return StringAbi.NEW
    return StringAbi.OLD if "Ss" in symbol and "Ss" in _codes(symbol) else StringAbi.NEUTRAL


def imports_abi(symbols: Iterable[str]) -> StringAbi:
    """Return the ABI of an extension from what it calls in torch."""
    found = {symbol_abi(name) for name in symbols if family_of(name) is Family.TORCH}
    return next((abi for abi in (StringAbi.NEW, StringAbi.OLD) if abi in found), StringAbi.NEUTRAL)


def c10_abi(symbols: SymbolTable) -> StringAbi | None:
    """Return the ABI of torch from the symbols of libc10.so; None where it tells nothing."""
    found = set()
    for abi, string in _STRINGS:
        names = (pattern.format(string=string).encode() for pattern in _C10_NAMES)
        if any(symbols.find(Import(name, gnu_hash(name), None)) for name in names):
            found.add(abi)
    return found.pop() if len(found) == 1 else None


def cause_of(symbol: str, torch: StringAbi | None, overloads: Iterable[str]) -> AbiCause:
    """Return why a symbol is undefined; `overloads` are torch's functions of the same name."""
    family = family_of(symbol)
    if family is not Family.TORCH:
        return _FAMILY_CAUSES.get(family, AbiCause.CUDA_LIBRARY)
    if _SHIM.fullmatch(symbol):
        return AbiCause.STABLE_SHIM
    wanted, offered = symbol_abi(symbol), {symbol_abi(name) for name in overloads}
    # A function that takes no string but returns one shows only the new one, by its tag.
    if wanted is StringAbi.NEW and torch is StringAbi.OLD:
        return AbiCause.NEW_STRING
    if torch is StringAbi.NEW and (
        wanted is StringAbi.OLD or (wanted is StringAbi.NEUTRAL and StringAbi.NEW in offered)
    ):
        return AbiCause.OLD_STRING
    return AbiCause.SIGNATURE_CHANGED if offered else AbiCause.GONE


def _codes(symbol: str) -> str:
    """Return a mangled name without the names of things in it."""
    kept, at = [], 2
    while at < len(symbol):
        reference, length = _REFERENCE.match(symbol, at), _LENGTH.match(symbol, at)
        if reference:
            at = reference.end()
        elif length:
            at = length.end() + int(length[0])
            kept.append(" ")
        else:
            kept.append(symbol[at])
            at += 1
    return "".join(kept)
