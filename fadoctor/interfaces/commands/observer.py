"""Who is told what a command does, and ends what its children leave behind.

The command line shows spinners and hears signals; programs and assistants say and end nothing.
"""

from __future__ import annotations

from contextlib import nullcontext
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable
    from contextlib import AbstractContextManager

    from fadoctor.judging.diagnose import Prognosis
    from fadoctor.model.smoke import SmokeRun

    Say = Callable[[str], None]


def unheard(_: str) -> None:
    """Say nothing: what is given where nobody hears it."""


class Observer:
    """Says nothing, and leaves children alone: they may be the program's own."""

    def doing(self, what: str) -> AbstractContextManager[Say]:  # noqa: ARG002 -- for those who say it
        """Return what lasts while something goes on, and who is told what comes next."""
        return nullcontext(unheard)

    def ending(self) -> AbstractContextManager[object]:
        """Return what lasts while children run that end with this process."""
        return nullcontext()

    def guard(self) -> AbstractContextManager[list[str]]:
        """Return what ends that children leave behind, and names what does not end."""
        return nullcontext([])

    def complained(self, line: str) -> None:
        """Hear a line that the launcher of other nodes complains by."""

    def foreseen(self, prognosis: Prognosis) -> None:
        """Hear what the facts alone say."""

    def measured(self, run: SmokeRun) -> None:
        """Hear what ran."""


SILENT = Observer()
