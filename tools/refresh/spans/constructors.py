"""Which arguments classes take where an object is made, release by release, of older releases.

Lightning 2.0 took many from its Trainer, and scripts for Lightning 1 still pass them. Of accelerate
and transformers the tables of names tell the releases that follow.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from packaging.version import Version

from tools.refresh.names.attributes import classes_of
from tools.refresh.spans.span import Span, spans

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tools.refresh.wheel import Wheel

TABLE = "constructor-arguments"


@dataclass(frozen=True)
class Library:
    """A package, and what is read of it."""

    name: str
    oldest: Version
    """Older releases are not read."""
    newest: Version | None
    """Newer ones neither: another table has them."""
    files: re.Pattern[str]
    classes: re.Pattern[str]

    def has(self, version: Version) -> bool:
        """Return whether a release is read."""
        return version >= self.oldest and (self.newest is None or version <= self.newest)


LIBRARIES = (
    Library(
        "pytorch-lightning",
        Version("1.0.0"),
        None,
        re.compile(
            r"pytorch_lightning/(?:trainer/trainer|(?:callbacks|loggers|strategies)/\w{1,60}"
            r"|plugins/(?:training_type|precision)/\w{1,60})\.py"
        ),
        re.compile(
            r"Trainer|\w{1,40}(?:Strategy|Logger|Plugin|Precision|ProgressBar|Monitor|Checkpoint"
            r"|Stopping|Averaging|Finder|Timer)"
        ),
    ),
    Library(
        "accelerate",
        Version("0.10.0"),
        Version("0.25.0"),
        re.compile(r"accelerate/(?:accelerator|utils/dataclasses)\.py"),
        re.compile(r"Accelerator|\w{1,40}(?:Plugin|Kwargs|Configuration)"),
    ),
    Library(
        "transformers",
        Version("4.0.0"),
        Version("4.36.0"),
        re.compile(r"transformers/(?:trainer|training_args)\.py"),
        re.compile(r"Trainer|TrainingArguments"),
    ),
)

Arguments = dict[str, frozenset[str]]
"""By class; a class that takes any argument is not in it."""


def arguments_of(library: Library, wheel: Wheel) -> Arguments:
    """Return what the constructors of a release take."""
    found: Arguments = {}
    for path in filter(library.files.fullmatch, wheel.names):
        found |= constructors_in(library, wheel.text(path))
    return found


def constructors_in(library: Library, source: str) -> Arguments:
    """Return what the constructors in a source take."""
    makers = {name: body.maker for name, body in classes_of(source).items()}
    return {
        name: maker.names
        for name, maker in makers.items()
        if library.classes.fullmatch(name) and maker.names and not maker.is_open
    }


def argument_rows(library: Library, had: Mapping[Version, Arguments]) -> list[str]:
    """Return which arguments came to a class that was there before, and which went."""
    rows: list[str] = []
    for name in sorted(frozenset[str]().union(*had.values())):
        there = {version: each[name] for version, each in had.items() if name in each}
        keys = f"package: {library.name}, class: {name}"
        rows += [_row(keys, each, there) for each in spans(there)]
    return rows


def _row(keys: str, span: Span, there: Mapping[Version, frozenset[str]]) -> str:
    cells = [f"{keys}, name: {' '.join(span.names)}"]
    if span.first is not None:
        before = max(version for version in there if version < span.first)
        cells.append(f'first: {span.first}, before: {before}, below: "{span.first.major + 1}"')
    if span.last is not None and span.gone is not None:
        cells.append(f'last: {span.last}, gone: {span.gone}, under: "{span.gone.major + 1}"')
    return f"  - {{{', '.join(cells)}}}\n"
