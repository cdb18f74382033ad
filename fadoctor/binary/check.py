"""Versions and symbols of what was opened: what the loader checks once everything is there."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fadoctor.binary.errors import BadBinaryError
from fadoctor.binary.notes import needed_isa
from fadoctor.binary.reason import Reason, ReasonKind
from fadoctor.binary.static_tls import StaticTls
from fadoctor.binary.symbols import Find

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from fadoctor.binary.loader import Loaded, Process
    from fadoctor.binary.symbols import Import


def version_problems(process: Process, added: Iterable[Loaded]) -> list[Reason]:
    """Return the versions that libraries lack, in the loader's order."""
    found: list[Reason] = []
    for one in added:
        found += _guarded(one, _lacking_versions(process, one))
    return found


def _lacking_versions(process: Process, one: Loaded) -> Iterator[Reason]:
    for need in one.file.needs:
        provider = process.find(need.file)
        if need.weak or provider is None:
            continue
        names = provider.file.symbols.defined
        # A library without definitions serves any version.
        if names is not None and need.name not in names.values():
            yield Reason(ReasonKind.VERSION_NOT_FOUND, one.path, need.name, provider=provider.path)


def level_problems(
    process: Process, closure: Sequence[Loaded], added: Sequence[Loaded]
) -> list[Reason]:
    """Return the libraries that are made for a newer x86-64 processor, in the loader's order."""
    found: list[Reason] = []
    isa = process.search.processor.isa
    if not (isa and process.search.checks_level):
        return found

    def beyond(one: Loaded) -> Iterator[Reason]:
        wanted = needed_isa(one.elf)
        process.search.asked_processor |= wanted > 1
        if wanted & ~isa:
            yield Reason(ReasonKind.PROCESSOR_TOO_OLD, one.path)

    for one in relocation_order(closure, added):
        found += _guarded(one, beyond(one))
    return found


def _guarded(one: Loaded, reasons: Iterator[Reason]) -> list[Reason]:
    """Return the reasons that concern an object; a file that cannot be read is the last of them."""
    found: list[Reason] = []
    try:
        found.extend(reasons)
    except (BadBinaryError, OSError) as error:
        found.append(Reason(ReasonKind.MALFORMED, one.path, detail=str(error)))
    return found


def symbol_problems(
    process: Process, closure: Sequence[Loaded], added: Sequence[Loaded]
) -> list[Reason]:
    """Return the symbols that nothing provides, in the order of relocation."""
    scope = [*process.scope, *(one for one in closure if one not in process.scope)]
    known: dict[tuple[bytes, str], Find | None] = {}
    found: list[Reason] = []

    def unresolved(one: Loaded) -> Iterator[Reason]:
        for wanted in one.file.symbols.imports():
            key = (wanted.name, wanted.version.name if wanted.version else "")
            if key not in known:
                known[key] = _look_up(process, scope, wanted)
            if known[key] is not Find.FOUND:
                yield _problem(one, wanted, known[key])

    tls = StaticTls(process, scope, added)
    for one in relocation_order(closure, added):
        found += _guarded(one, tls.problems(one)) + _guarded(one, unresolved(one))
    return found


def relocation_order(closure: Sequence[Loaded], added: Sequence[Loaded]) -> list[Loaded]:
    """Return objects in the order in which the loader relocates them: what is needed comes first.

    glibc sorts depth-first, from the last object of the closure to the first (``_dl_sort_maps``).
    """
    waiting = {id(one): one for one in added}
    ordered: list[Loaded] = []
    for root in reversed(closure):
        stack: list[tuple[Loaded, Iterator[Loaded]]] = []
        if waiting.pop(id(root), None):
            stack.append((root, iter(root.needed)))
        while stack:
            one, rest = stack[-1]
            following = next((n for n in rest if waiting.pop(id(n), None)), None)
            if following is None:
                ordered.append(one)
                stack.pop()
            else:
                stack.append((following, iter(following.needed)))
    return ordered


def _look_up(process: Process, scope: Sequence[Loaded], wanted: Import) -> Find | None:
    for one in scope:
        try:
            outcome = one.file.symbols.find(wanted)
        except BadBinaryError as error:
            raise BadBinaryError(f"{one.path}: {error}") from error
        if outcome is Find.FOUND:
            return outcome
        # Only the library that the version names may not come without versions.
        if outcome is not None and wanted.version is not None:
            named = process.find(wanted.version.file) is one
            return Find.UNVERSIONED if named else Find.FOUND
    return None


def _problem(one: Loaded, wanted: Import, outcome: Find | None) -> Reason:
    kind = ReasonKind.UNVERSIONED_PROVIDER if outcome else ReasonKind.UNDEFINED_SYMBOL
    name = wanted.name.decode("utf-8", "surrogateescape")
    version = wanted.version
    if version is None:
        return Reason(kind, one.path, name)
    return Reason(kind, one.path, name, version=version.name, provider=version.file)
