"""From names of files to configurations: recognise the kind, ask its reader."""

from __future__ import annotations

import os
from contextlib import suppress
from importlib import import_module
from typing import TYPE_CHECKING

import msgspec

from fadoctor.model.errors import InputError, UnknownKindError, UsageError, did_you_mean
from fadoctor.model.fact import printable
from fadoctor.sources.configs import READERS, frameworks, loose_keys
from fadoctor.sources.configs.hardware import asked_gpus
from fadoctor.sources.configs.launched_files import started_beside
from fadoctor.sources.configs.settings import looked_for
from fadoctor.sources.configs.source import Source, open_source

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

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
    found = tuple(
        _read(Source(name, texts[name]) if name in texts else open_source(name, fence), kind)
        for name in names
    )
    if held or kind:
        return found
    found = (*found, *started_beside(found, fence))
    return (*found, *_beside(found, fence))


def _beside(given: Sequence[Configuration], fence: str) -> Iterator[Configuration]:
    """Yield what a model or an adapter says of itself, where a file names its folder beside it."""
    names = {os.path.normpath(each.file) for each in given}
    tried = 0
    for each in given:
        models = [i.value for i in each.intents if i.name == "config.model"]
        named = (model for model in (*models, *each.adapters) if isinstance(model, str))
        for model in dict.fromkeys(named):
            for kind, base in _OF_MODELS.items():
                name = os.path.normpath(
                    os.path.join(os.path.dirname(each.file), model, base)  # noqa: PTH118, PTH120
                )
                tried += 1
                if name in names or tried > FILE_LIMIT or not os.path.isfile(name):  # noqa: PTH113
                    continue
                names.add(name)
                with suppress(InputError):
                    source = open_source(name, fence)
                    reader = import_module(READERS[kind])
                    if reader.recognises(source):
                        read: Configuration = reader.read(source)
                        note = f"{each.file}: {name}, which it names, is read with it"
                        yield msgspec.structs.replace(read, notes=(*read.notes, note))


_OF_MODELS = {"model": "config.json", "peft-adapter": "adapter_config.json"}
"""Kind -> the file that a folder of a model has."""


def _read(source: Source, kind: str) -> Configuration:
    found, gpus = _by_kind(source, kind), asked_gpus(source)
    return msgspec.structs.replace(found, gpus=gpus) if gpus else found


def _by_kind(source: Source, kind: str) -> Configuration:
    if kind:
        found: Configuration = import_module(READERS[kind]).read(source)
        return found
    for module in READERS.values():
        reader = import_module(module)
        if reader.recognises(source):
            read: Configuration = reader.read(source)
            return read
    if loose_keys.recognises(source):
        return loose_keys.read(source)
    if frameworks.is_silent(source):
        return frameworks.read(source)
    raise UnknownKindError(
        source.name,
        "fadoctor found no setting in it. It looks for commands that train or serve, the keys of "
        f"{', '.join(READERS)} (--config-kind KIND reads it as one of them), and in any file the "
        f"keys {looked_for()}",
    )
