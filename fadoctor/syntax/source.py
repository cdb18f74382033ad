"""A file as readers of syntax ask for it, whatever else it knows of itself."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from fadoctor.model.errors import InputError


class Source(Protocol):
    """A file, read."""

    @property
    def name(self) -> str:
        """As it was named."""

    @property
    def text(self) -> str:
        """All of it."""

    def error(self, problem: str, *, line: int = 0, key: str = "") -> InputError:
        """Return the error to raise about it."""
