"""Tables as they are compiled: each is decoded only when it is asked for."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

import msgspec

from fadoctor.model.errors import FadoctorError
from fadoctor.model.rule import Table
from fadoctor.model.typed import decode

if TYPE_CHECKING:
    from pathlib import Path


class Apart(Mapping[str, Table]):
    """The tables of a compiled file, and beside them those that are at hand."""

    def __init__(
        self, undecoded: Mapping[str, msgspec.Raw], source: Path, beside: Mapping[str, Table]
    ) -> None:
        """Take the tables of a file as its text has them."""
        self._undecoded = undecoded
        self._source = source
        self._beside = beside
        self._decoded: dict[str, Table] = {}

    def __getitem__(self, name: str) -> Table:
        """Return a table; KeyError where there is none, FadoctorError where it is damaged."""
        if name in self._decoded:
            return self._decoded[name]
        if name not in self._undecoded:
            return self._beside[name]
        try:
            found = self._decoded[name] = decode(bytes(self._undecoded[name]), Table)
        except msgspec.DecodeError as error:
            raise FadoctorError(f"{self._source}: the table {name} is damaged: {error}") from error
        return found

    def __iter__(self) -> Iterator[str]:
        """Yield the names, each once."""
        yield from dict.fromkeys((*self._beside, *self._undecoded))

    def __len__(self) -> int:
        """Return how many tables there are."""
        return len(self._beside.keys() | self._undecoded.keys())
