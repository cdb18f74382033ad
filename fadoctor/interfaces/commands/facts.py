"""What ``facts`` reads, for the command line and for programs. Nothing is judged. Imports late."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fadoctor.interfaces.commands.examine import FOLLOWING, look
from fadoctor.interfaces.commands.observer import SILENT, Observer

if TYPE_CHECKING:
    from pathlib import Path

    from fadoctor.model.environment import Environment
    from fadoctor.sources.examine.request import Request


def facts(
    examine: Request, rules: tuple[Path, ...] = (), observer: Observer = SILENT
) -> Environment:
    """Return everything that is read of an environment, of files or of a text."""
    with observer.doing("reading the environment") as say, observer.ending():
        _, environment = look(examine, rules, announce=lambda: say(FOLLOWING))
    return environment
