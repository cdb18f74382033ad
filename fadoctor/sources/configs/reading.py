"""From names of files to configurations: recognise the kind, ask its reader."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

from fadoctor.model.errors import UnknownKindError, UsageError, did_you_mean
from fadoctor.model.fact import printable
from fadoctor.sources.configs import READERS
from fadoctor.sources.configs.settings import looked_for
from fadoctor.sources.configs.source import Source, open_source

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from fadoctor.sources.configs.intent import Configuration

FILE_LIMIT = 16
"""Files of one run."""


def read_configurations(
    names: Sequence[str], kind: str = "", fence: str = "", held: Mapping[str, str] | None = None
) -> tuple[Configuration, ...]:
    """Return each file, read; `kind` forces the reader of all of them.

    Nothing is read outside of the `fence`, where there is one; what is `held` is not opened.

    InputError where a file cannot be read or is of no kind that is known, UsageError for a kind
    that there is not.
    """
    if kind and kind not in READERS:
        near = did_you_mean(kind, READERS, f" Kinds are {', '.join(READERS)}.")
        raise UsageError(f"--config-kind: there is no kind {printable(kind, 60)!r}.{near}")
    if len(names) > FILE_LIMIT:
        raise UsageError(f"more than {FILE_LIMIT} files with --config")
    texts = held or {}
    return tuple(
        _read(Source(name, texts[name]) if name in texts else open_source(name, fence), kind)
        for name in names
    )


def _read(source: Source, kind: str) -> Configuration:
    if kind:
        found: Configuration = import_module(READERS[kind]).read(source)
        return found
    for module in READERS.values():
        reader = import_module(module)
        if reader.recognises(source):
            read: Configuration = reader.read(source)
            return read
    raise UnknownKindError(
        source.name,
        "nothing in it is recognised. Looked for: commands that train or serve, the keys of "
        f"{', '.join(READERS)} (--config-kind KIND reads it as one of them), and in any file the "
        f"keys {looked_for()}",
    )
