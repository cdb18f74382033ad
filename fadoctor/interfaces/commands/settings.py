"""A project's settings: ``fadoctor.toml``, or ``[tool.fadoctor]`` of a ``pyproject.toml``.

They may come with a repository that somebody cloned: they choose what is read and what is shown,
which the report says, and nothing is ever run because of them. What finds them costs a look at two
names in each folder upwards; what reads them is loaded where there are some.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from fadoctor.model.errors import InputError
from fadoctor.model.fact import printable
from fadoctor.model.files import read_bytes

if TYPE_CHECKING:
    from fadoctor.model.rule import Knowledge
    from fadoctor.sources.examine.request import Request

OWN, SHARED = "fadoctor.toml", "pyproject.toml"
SIZE_LIMIT = 1 << 20
_MARK = b"tool.fadoctor"
_DEPTH_LIMIT = 100


class Ignored(msgspec.Struct, frozen=True):
    """A rule whose findings are hidden for a while."""

    rule: str
    reason: str
    until: str
    """The last day on which it is, ``2026-12-31``."""
    line: int = 0

    def __str__(self) -> str:
        """Return it as the report says it."""
        return f"{self.rule} until {self.until} ({self.reason})"


class Settings(msgspec.Struct, frozen=True):
    """What a file says; without a path there is none."""

    path: str = ""
    """As a person sees it from the working folder."""
    target: str = ""
    """Folder or interpreter of an environment, absolute."""
    gpu: tuple[str, ...] = ()
    """GPUs that the project is meant for."""
    driver: str = ""
    """Their driver."""
    fail_on: str = ""
    rules: tuple[Path, ...] = ()
    """Folders of own rules."""
    ignored: tuple[Ignored, ...] = ()
    ended: tuple[Ignored, ...] = ()
    """What was hidden until a day that is over: it is shown again."""

    @property
    def notes(self) -> tuple[str, ...]:
        """Return what a report says of them, nothing where there are none."""
        if not self.path:
            return ()
        told = {
            "environment": self.target,
            "meant for": ", ".join(self.gpu),
            "exit code 1 from": self.fail_on,
            "own rules": ", ".join(map(str, self.rules)),
            "hidden": "; ".join(map(str, self.ignored)),
            "shown again, because its date has passed": "; ".join(map(str, self.ended)),
        }
        parts = [f"{name}: {value}" for name, value in told.items() if value]
        return (printable(f"Settings: {self.path}. {'. '.join([*parts, ''])}".strip(), 2_000),)

    def applied(self, request: Request, *, assumes: bool = True) -> Request:
        """Return a request with what they say and the command line does not.

        `assumes`: whether the GPUs that are meant may stand in for those that are not here.
        """
        if not assumes:
            request = msgspec.structs.replace(request, assumes=False)
        if not self.path:
            return request
        from fadoctor.sources.examine.request import Meant

        named = request.site_packages or request.facts or request.new
        meant = Meant(
            "" if request.python or named else self.target,
            f"settings: {self.path}",
            self.gpu if assumes else (),
            self.driver if assumes else "",
            self.notes,
        )
        return msgspec.structs.replace(request, meant=meant)

    def hiding(self, ignore: tuple[str, ...], knowledge: Knowledge) -> tuple[str, ...]:
        """Return the ids that are ignored; InputError for one here that no rule has."""
        from fadoctor.interfaces.commands.examine import no_such_rule

        known = {rule.id for rule in knowledge.rules}
        for each in (*self.ignored, *self.ended):
            if knowledge.current([each.rule])[0] not in known:
                problem = no_such_rule(each.rule, known)
                raise InputError(self.path, problem, line=each.line, key="ignore")
        return (*ignore, *(each.rule for each in self.ignored))


def find_settings(folder: Path) -> Settings:
    """Return the settings of the nearest folder upwards that has some.

    InputError, with file, line and key, where they cannot be understood.
    """
    for each in (folder, *folder.parents)[:_DEPTH_LIMIT]:
        for name in (OWN, SHARED):
            path = each / name
            if _holds(path):
                # Late: few folders have settings.
                from fadoctor.interfaces.commands.settings_file import read_settings

                return read_settings(path, folder)
    return Settings()


def _holds(path: Path) -> bool:
    """Return whether a file is, or has, settings of ours."""
    try:
        if path.name == OWN:
            return path.is_file()
        return _MARK in read_bytes(path, SIZE_LIMIT)
    except OSError:
        return False
