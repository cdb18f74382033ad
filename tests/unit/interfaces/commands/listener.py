"""An observer that keeps what it is told."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

from fadoctor.interfaces.commands.observer import Observer

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from fadoctor.judging.diagnose import Prognosis
    from fadoctor.model.smoke import SmokeRun


class Listener(Observer):
    """Keeps what it is told, in order."""

    def __init__(self) -> None:
        self.told: list[str] = []

    @contextmanager
    def doing(self, what: str) -> Iterator[Callable[[str], None]]:
        self.told.append(what)
        yield self.told.append
        self.told.append(f"end of {what}")

    def foreseen(self, prognosis: Prognosis) -> None:
        self.told.append(f"{len(prognosis.assessment.findings)} findings")

    def measured(self, run: SmokeRun) -> None:
        self.told.append(run.problem or "ran")
