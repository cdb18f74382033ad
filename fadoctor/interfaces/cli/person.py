"""A person at a terminal: sees what goes on, ends it by Ctrl-C, and leaves nothing running."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, ClassVar

from fadoctor.interfaces.commands.observer import Observer

if TYPE_CHECKING:
    from contextlib import AbstractContextManager

    from fadoctor.interfaces.commands.observer import Say
    from fadoctor.judging.diagnose import Prognosis


class Person(Observer):
    """Sees spinners, unless they are unwanted; with `debug`, why each rule came out as it did."""

    _last: ClassVar[Prognosis | None] = None
    """Kept: the process ends at once, and taking rules and facts apart before takes 5 ms."""

    def __init__(self, *, quiet: bool = False, debug: bool = False, redact: bool = False) -> None:
        """Take how much is to be seen, and whether names are left out of it."""
        self._quiet = quiet
        self._debug = debug
        self._redact = redact

    def doing(self, what: str) -> AbstractContextManager[Say]:
        """Return a spinner."""
        from fadoctor.interfaces.cli.terminal import spinner

        return spinner(what, quiet=self._quiet)

    def ending(self) -> AbstractContextManager[object]:
        """Return what hears signals, and ends children by them."""
        from fadoctor.processes.ending import ends_by_signals

        return ends_by_signals()

    def guard(self) -> AbstractContextManager[list[str]]:
        """Return what ends that children leave behind."""
        from fadoctor.processes.orphans import no_strays

        return no_strays()

    def complained(self, line: str) -> None:
        """Pass it on."""
        sys.stderr.write(f"{line}\n")

    def foreseen(self, prognosis: Prognosis) -> None:
        """Say on standard error why each rule came out as it did, where that is wanted."""
        Person._last = prognosis
        if not self._debug:
            return
        from fadoctor.interfaces.cli import support
        from fadoctor.interfaces.commands.reasons import reasons_in
        from fadoctor.report.reasons_page import debug_lines

        told = reasons_in(prognosis)
        told = support.redacted(told) if self._redact else support.without_credentials(told)
        sys.stderr.writelines(f"fadoctor.rules: {line}\n" for line in debug_lines(told))
