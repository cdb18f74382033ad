"""Which names the packages of an environment ask of each other and do not find."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from fadoctor.knowledge.matrix.query import cell_words
from fadoctor.model.fact import printable
from fadoctor.model.files import read_bytes
from fadoctor.model.typed import convert, encode_for_python
from fadoctor.processes.script_child import ask_script
from fadoctor.sources.import_names.model import Broken, ModuleEntry, NameAnswer, Site
from fadoctor.sources.import_names.verdicts import (
    SCHEMA,
    NameVerdict,
    keep_answer,
    kept_answer,
    look,
    made,
    prune,
    verdict_file,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from fadoctor.model.rule import Table

TIMEOUT_S = 90.0
"""The process ends itself after a minute of processor time; a busy machine may take longer."""

RECORD_LIMIT = 64 << 20
BROKEN_LIMIT = 64
"""Names that are told; more of them are one broken environment."""

SHIPPED = Path(__file__).parent / "shipped"
"""What files of released packages do at import."""

_OUTPUT_LIMIT = 32 << 20
_SCRIPT = Path(__file__).parent / "child" / "_fadoctor_contracts.py"


class _Found(msgspec.Struct, frozen=True):
    """One name that is not there, for one statement that stops."""

    asker: str
    file: str
    line: int
    provider: str
    module: str
    name: str
    breaks: str
    at_import: bool


class _Reply(msgspec.Struct, frozen=True):
    """What the process says."""

    ok: bool
    error: str = ""
    broken: tuple[_Found, ...] = ()
    files: dict[str, tuple[int, int]] = {}
    variables: tuple[str, ...] = ()
    parsed: int = 0
    distributions: tuple[str, ...] = ()


def entries_of(table: Table) -> dict[str, ModuleEntry]:
    """Return the table of modules as the reader wants it."""
    found = {}
    for row in table.rows:
        distribution, following = (cell_words(row.get(name)) for name in ("distribution", "next"))
        found[str(row["module"])] = ModuleEntry(distribution, str(row["role"]), following)
    return found


def wanted(entries: Mapping[str, ModuleEntry], installed: Mapping[str, str]) -> list[str]:
    """Return the entry modules that something installed brings."""
    return [
        module
        for module, entry in entries.items()
        if entry.role == "entry" and any(name in installed for name in entry.distribution)
    ]


def read_contracts(
    site: Site,
    entries: Mapping[str, ModuleEntry],
    folder: Path | None,
    announce: Callable[[], None] = lambda: None,
    shipped: Path | None = SHIPPED,
) -> NameAnswer:
    """Return what is asked for and not there; `announce` is called before it takes long.

    Starts one process where no answer is kept. `folder` is that of the cache, or None; `shipped`
    that of the tables of released sources.
    """
    modules = wanted(entries, site.installed)
    if not modules:
        return NameAnswer()
    folder = made(folder)
    file = verdict_file(folder, site, entries) if folder else None
    kept = kept_answer(file, site) if file else None
    if kept is not None:
        return NameAnswer(kept, source="verdict")
    announce()
    reply, problem = _asked(site, entries, modules, folder, shipped)
    if reply is None:
        return NameAnswer(problem=problem)
    broken = tuple(_joined(reply.broken))[:BROKEN_LIMIT]
    if file is not None and folder is not None:
        records = {site.records[d] for d in reply.distributions if d in site.records}
        files = {**reply.files, **{path: look(path) for path in records}}
        is_set = set(site.variables)
        variables = {name: name in is_set for name in reply.variables}
        keep_answer(file, NameVerdict(SCHEMA, files, variables, broken))
        prune(folder)
    return NameAnswer(broken, source=f"{reply.parsed} of {len(reply.files)} files parsed")


def _asked(
    site: Site,
    entries: Mapping[str, ModuleEntry],
    modules: list[str],
    folder: Path | None,
    shipped: Path | None,
) -> tuple[_Reply | None, str]:
    request = {
        "folders": site.folders, "installed": site.installed, "table": entries,
        "entries": [{"module": name, "next": entries[name].next} for name in modules],
        "python": site.python, "system": site.system, "hooked": site.hooked,
        "variables": site.variables, "cache": str(folder or ""),
        "keys": _keys(site) if folder else {}, "records": site.records,
        "shipped": str(shipped or ""),
    }  # fmt: skip
    answer, result = ask_script(_SCRIPT, encode_for_python(request), TIMEOUT_S, _OUTPUT_LIMIT)
    if answer is None:
        return None, printable(f"the process that follows imports {result.describe()}")
    try:
        reply = convert(answer, _Reply)
    except msgspec.ValidationError as error:
        return None, printable(f"the process that follows imports answers otherwise: {error}")
    return (reply, "") if reply.ok else (None, printable(reply.error))


def _keys(site: Site) -> dict[str, str]:
    """Return distribution -> what names its part of the cache: its RECORD, and where it lies."""
    found = {}
    for name, path in site.records.items():
        try:
            data = read_bytes(path, RECORD_LIMIT)
        except (OSError, ValueError):
            continue
        digest = hashlib.sha256(path.encode("utf-8", "replace") + b"\0" + data)
        found[name] = digest.hexdigest()[:24]
    return found


def _joined(found: Iterable[_Found]) -> Iterable[Broken]:
    """Yield each name once, with all the statements that stop because of it."""
    several: dict[tuple[str, str, int, str, str, str], list[_Found]] = {}
    for each in found:
        key = (each.asker, each.file, each.line, each.provider, each.module, each.name)
        several.setdefault(key, []).append(each)
    for key, same in several.items():
        breaks = tuple(dict.fromkeys(each.breaks for each in same))
        yield Broken(*key, breaks, any(each.at_import for each in same))
