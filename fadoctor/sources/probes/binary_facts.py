"""What a prediction of the loader says, as facts."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from fadoctor.binary.abi import AbiCause, StringAbi
from fadoctor.binary.predict import Predictor
from fadoctor.binary.prediction import LoadStage
from fadoctor.binary.reason import LOADER_ASSERTION, UNDECIDED, Reason, ReasonKind, dlerror
from fadoctor.binary.search import FoundBy
from fadoctor.binary.similar_overload import Hint, hints_for
from fadoctor.binary.symbol_families import Family, family_of
from fadoctor.model.fact import printable
from fadoctor.sources.probes.world import World, absent, known, unknown

if TYPE_CHECKING:
    from collections.abc import Mapping

    from fadoctor.binary.prediction import Prediction
    from fadoctor.model.fact import Fact
    from fadoctor.sources.probes.extensions import Extension
    from fadoctor.sources.probes.world import Facts

# How many symbols a fact lists, and how many characters of each.
SYMBOLS_SHOWN = 20
SYMBOL_LIMIT = 400

_FAILURES = {
    ReasonKind.MISSING_FILE: "missing-library",
    ReasonKind.MISSING_SONAME: "missing-library",
    ReasonKind.VERSION_NOT_FOUND: "missing-version",
    ReasonKind.UNVERSIONED_PROVIDER: "missing-version",
    ReasonKind.UNDEFINED_SYMBOL: "undefined-symbol",
    ReasonKind.TRUNCATED: "truncated",
    ReasonKind.NOT_ELF: "not-elf",
    ReasonKind.NOT_A_LIBRARY: "not-elf",
    ReasonKind.FOREIGN_MACHINE: "other-machine",
    ReasonKind.NOT_FOR_DLOPEN: "refused",
    ReasonKind.PROCESSOR_TOO_OLD: "processor",
    ReasonKind.STATIC_TLS: "static-tls",
}
_SYMBOL_CAUSES = {
    AbiCause.OLD_STRING: "string-abi",
    AbiCause.NEW_STRING: "string-abi",
    AbiCause.SIGNATURE_CHANGED: "torch-function",
    AbiCause.GONE: "torch-function",
    AbiCause.STABLE_SHIM: "stable-abi",
    AbiCause.NCCL: "nccl",
    AbiCause.NVJITLINK: "cuda-library",
    AbiCause.CUDA_LIBRARY: "cuda-library",
    AbiCause.CUDA_DRIVER: "other",
    AbiCause.PYTHON: "python",
    AbiCause.LIBSTDCXX: "libstdcxx",
    AbiCause.OTHER: "other",
}
_LIBRARY_CAUSES = {
    Family.TORCH: "torch-library",
    Family.PYTHON: "python",
    Family.CUDA_RUNTIME: "cuda-runtime",
    Family.LIBSTDCXX: "libstdcxx",
    Family.CUDA_DRIVER: "other",
    Family.NVML: "other",
    Family.HIP: "torch-library",
    Family.UNKNOWN: "other",
}
"""The others are libraries of CUDA."""
_FOUND_BY = {
    FoundBy.LD_LIBRARY_PATH: "LD_LIBRARY_PATH",
    FoundBy.LD_CACHE: "ld.so.cache",
    FoundBy.DEFAULT: "default folder",
}
_SAYS = {
    ReasonKind.TRUNCATED: "the file ends before its last segment does",
    ReasonKind.UNVERSIONED_PROVIDER: "the library has no versions at all, so ld.so ends the "
    f"process: Inconsistency detected by ld.so: dl-lookup.c: {LOADER_ASSERTION}",
}


class Naming(msgspec.Struct, frozen=True):
    """The world and the loader of the target, with paths as facts write them."""

    world: World
    predictor: Predictor

    def name(self, path: str) -> str:
        """Return a path of the target below its named roots; a name without a folder as it is."""
        return self.world.name(self.world.path(path)) if path.startswith("/") else path


def loads_fact(predictions: Mapping[Extension, Prediction], naming: Naming) -> Fact:
    """Return whether all extensions of a package load; Absent where it has none."""
    if not predictions:
        return absent("its compiled extensions were not found")
    source = ", ".join(naming.world.name(each.path) for each in predictions)
    verdicts = predictions.values()
    if any(each.loads is False and each.beyond_driver is None for each in verdicts):
        return known(value=False, source=source)
    for each in verdicts:
        beyond = each.beyond_driver
        if beyond is not None and beyond.loads is False:
            return known(value=False, source=source)
    for each in verdicts:
        if each.loads is not True and each.reason is not None:
            return unknown(_undecided(each.reason), source)
    return known(value=True, source=source)


def loader_facts(extension: Extension, prediction: Prediction, naming: Naming) -> Facts:
    """Return the facts of one extension by the end of their names."""
    source = naming.world.name(extension.path)
    facts: Facts = {
        "file": known(source, source),
        "needed": known(prediction.needed[:SYMBOLS_SHOWN], source),
        "glibc": _version(prediction.glibc, source),
        "glibcxx": _version(prediction.glibcxx, source),
        "cuda_major": _cuda_major(prediction.libcudart, source),
        "cxx11_abi": _string_abi(extension, naming, source),
        "undefined": known(_undefined(prediction), source),
    }
    is_torch = extension.key == "torch"
    return facts | _failure(prediction, naming, source, is_torch=is_torch)


def _version(text: str, source: str) -> Fact:
    return known(text, source) if text else absent(f"{source}: asks for none")


def _cuda_major(libcudart: str, source: str) -> Fact:
    # libcudart.so.12, libcudart.so.11.0
    major = libcudart.removeprefix("libcudart.so.").partition(".")[0]
    return known(major, source) if major.isdecimal() else absent(f"{source}: no libcudart")


def _string_abi(extension: Extension, naming: Naming, source: str) -> Fact:
    abi = naming.predictor.string_abi(naming.world.inside(extension.path))
    if abi is None:
        return unknown("its symbols cannot be read", source)
    if abi is StringAbi.NEUTRAL:
        return absent(f"{source}: no name in it tells")
    return known(abi is StringAbi.NEW, source)


def _undefined(prediction: Prediction) -> tuple[str, ...]:
    names = (reason.name for reason in prediction.undefined[:SYMBOLS_SHOWN])
    return tuple(printable(name, SYMBOL_LIMIT) for name in names)


_FAILURE = ("failure", "missing", "cause", "wanted_by", "provider", "found_by", "says", "hint")


def _failure(prediction: Prediction, naming: Naming, source: str, *, is_torch: bool) -> Facts:
    """Return why an extension does not load; that the driver's library is missing is left aside."""
    loads, reason = prediction.loads, prediction.reason
    if prediction.beyond_driver is not None:
        loads, reason = prediction.beyond_driver.loads, prediction.beyond_driver.reason
        if loads is None and reason is None:
            loads = True  # but for symbols that only the driver can have
    if loads or reason is None:
        return dict.fromkeys(_FAILURE, absent(f"{source}: it would load"))
    if loads is None or reason.kind in UNDECIDED or prediction.stage is LoadStage.INTERPRETER:
        return dict.fromkeys(_FAILURE, unknown(_undecided(reason), source))
    if prediction.stage is LoadStage.TORCH and not is_torch:
        nothing = absent(f"{source}: torch does not load")
        return {**dict.fromkeys(_FAILURE, nothing), "failure": known("torch", source)}
    return _described(prediction, reason, naming, source)


def _undecided(reason: Reason) -> str:
    if reason.kind in UNDECIDED or reason.kind not in _FAILURES:
        return printable(reason.detail or f"{reason.kind.value}: {reason.path}")
    return printable(f"{reason.name or reason.path} is missing here; the driver installs it")


def _described(prediction: Prediction, reason: Reason, naming: Naming, source: str) -> Facts:
    hint = next(iter(hints_for(naming.predictor, prediction, 1)), None)
    named = msgspec.structs.replace(
        reason, path=naming.name(reason.path), provider=naming.name(reason.provider)
    )
    provider, found_by = _provider(prediction, reason, naming)
    nothing = absent(f"{source}: none was found")
    says = dlerror(named) or _SAYS.get(reason.kind, reason.detail)
    return {
        "failure": known(_FAILURES[reason.kind], source),
        "missing": known(printable(reason.name or named.path, SYMBOL_LIMIT), source),
        "cause": known(_cause(reason, hint), source),
        "wanted_by": known(named.path, source),
        "provider": known(naming.name(provider), source) if provider else nothing,
        "found_by": known(found_by, source) if found_by else nothing,
        "says": known(printable(says, SYMBOL_LIMIT), source),
        "hint": known(_hint_text(hint), source) if hint and hint.nearest else nothing,
    }


def _provider(prediction: Prediction, reason: Reason, naming: Naming) -> tuple[str, str]:
    """Return the library that should have what is missing, and how it was found."""
    family = (
        family_of(reason.name) if reason.kind is ReasonKind.UNDEFINED_SYMBOL else Family.UNKNOWN
    )
    for library in (*prediction.libraries, *naming.predictor.libraries()):
        wanted = reason.provider and reason.provider in (library.path, library.soname)
        if wanted or (not reason.provider and family.has(library.soname)):
            return library.path, _FOUND_BY.get(library.origin, library.origin.value)
    return reason.provider, ""


def _cause(reason: Reason, hint: Hint | None) -> str:
    match reason.kind:
        case ReasonKind.UNDEFINED_SYMBOL:
            return _SYMBOL_CAUSES[hint.cause] if hint is not None else "other"
        case ReasonKind.VERSION_NOT_FOUND | ReasonKind.UNVERSIONED_PROVIDER:
            if reason.name.startswith("GLIBC_"):
                return "glibc"
            if reason.name.startswith(("GLIBCXX_", "CXXABI_", "GCC_")):
                return "libstdcxx"
            return _library_cause(reason.provider.rpartition("/")[2])
        case _:
            return _library_cause(reason.name)


def _library_cause(soname: str) -> str:
    family = next((each for each in Family if each.has(soname)), Family.UNKNOWN)
    return _LIBRARY_CAUSES.get(family, "cuda-library")


def _hint_text(hint: Hint) -> str:
    return printable(f"it needs {hint.wanted}, torch has {hint.nearest}", SYMBOL_LIMIT)
