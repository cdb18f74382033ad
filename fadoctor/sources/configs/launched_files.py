"""Files that a script of the shell starts: the Python itself, and the YAML of accelerate."""

from __future__ import annotations

import os
from contextlib import suppress
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from fadoctor.model.errors import InputError
from fadoctor.sources.configs import READERS
from fadoctor.sources.configs.kinds import ACCELERATE, DEEPSPEED
from fadoctor.sources.configs.source import open_source
from fadoctor.syntax.folders_above import folders_above

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from fadoctor.sources.configs.intent import Configuration
    from fadoctor.sources.configs.source import Source

_NAMED_LIMIT = 4
_PYTHON = "python"


def started_beside(given: Sequence[Configuration], fence: str) -> Iterator[Configuration]:
    """Yield what the files say that a script names or starts, where they lie beside it.

    What the command line says goes before them. Not where Python was given as well.
    """
    names = {os.path.realpath(each.file) for each in given}
    has_python = any(each.kind == _PYTHON for each in given)
    for each in given:
        wanted: list[tuple[str, tuple[str, ...]]] = [
            (name, (ACCELERATE, DEEPSPEED)) for name in each.named[:_NAMED_LIMIT]
        ]
        if each.started and not has_python:
            wanted.append((each.started, (_PYTHON,)))
        for name, kinds in wanted:
            path = _place(each.file, name, fence)
            if not path or os.path.realpath(path) in names:
                continue
            with suppress(InputError):
                source = open_source(path, fence)
                found = _read(source, kinds)
                if found is not None:
                    names.add(os.path.realpath(path))
                    note = f"{each.file}: {path}, which it names, is read with it"
                    yield msgspec.structs.replace(found, notes=(*found.notes, note))


def _read(source: Source, kinds: tuple[str, ...]) -> Configuration | None:
    for kind in kinds:
        reader = import_module(READERS[kind])
        if reader.recognises(source):
            found: Configuration = reader.read(source)
            rows = source.text.split("\n")
            kept = tuple(i for i in found.intents if not _is_default(rows, i.place.line))
            return msgspec.structs.replace(found, intents=kept)
    return None


def _is_default(rows: list[str], line: int) -> bool:
    """Return whether a line is the default of an option, which the command line may replace."""
    return 0 < line <= len(rows) and (
        "add_argument" in rows[line - 1] or "default=" in rows[line - 1]
    )


def _place(file: str, name: str, fence: str) -> str:
    """Return where a file lies that a script names: beside the script, or above it; "" if nowhere.

    Scripts in a folder of their own are started from that of their project.
    """
    if name.startswith(("/", "~")) or "$" in name:
        return ""
    own = Path(file).parent
    paths = (os.path.normpath(folder / name) for folder in (own, *folders_above(own, fence)))
    return next(filter(os.path.isfile, paths), "")
