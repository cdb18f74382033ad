"""The words of an installer: the same change as commands of pip, uv, poetry, pixi or conda."""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping
from typing import TYPE_CHECKING

import msgspec

from fadoctor.model.fact import Known
from fadoctor.syntax.windows_command import powershell_line

if TYPE_CHECKING:
    from fadoctor.model.environment import Environment


_SEPARATORS = re.compile(r"[-_.]{1,9}")
_NAME = re.compile(r"[A-Za-z0-9][\w.-]{0,99}", re.ASCII)

BEST_MATCH = ("--index-strategy", "unsafe-best-match")
"""uv asks the first index that has a package, and no other, unless it is told to ask all."""

INSTALLERS = ("auto", "pip", "uv", "conda")
"""Whose commands can be asked for."""


class Dialect(msgspec.Struct, frozen=True):
    """How to speak to one installer about one environment."""

    name: str
    python: str
    """The interpreter of the environment."""
    lists: Mapping[str, tuple[str, ...]] = {}
    """Options for packages that another list of the project has than its dependencies: a group."""

    @property
    def is_project(self) -> bool:
        """Whether it changes a project's list of dependencies, and not an environment."""
        return self.name in ("uv-project", "poetry", "pixi", "pdm")

    @property
    def project_files(self) -> str:
        """How a project comes back by hand: its own files say what is installed."""
        match self.name:
            case "uv-project":
                return "restore pyproject.toml and uv.lock, then run `uv sync`"
            case "poetry":
                return (
                    "restore pyproject.toml and poetry.lock, then run `poetry sync` "
                    "(before Poetry 2 `poetry install --sync`)"
                )
            case "pixi":
                return "restore pixi.toml and pixi.lock, then run `pixi install`"
            case "pdm":
                return "restore pyproject.toml and pdm.lock, then run `pdm sync --clean`"
            case _:
                return ""

    def install(
        self,
        items: tuple[str, ...],
        index: str = "",
        options: tuple[str, ...] = (),
        *,
        mixed: bool = False,
    ) -> tuple[str, ...]:
        """Return the command that installs requirements.

        `mixed`: some of them come from the index that is configured, which then stays in use.
        """
        extra = self._index(index, mixed=mixed) if index else ()
        match self.name:
            case "uv":
                return ("uv", "pip", "install", "--python", self.python, *extra, *options, *items)
            case "uv-project":
                named = ("--index", index) if index else ()
                return ("uv", "add", *self._common_list(items), *named, *items)
            case "poetry":
                return ("poetry", "add", *self._common_list(items), *items)
            case "pixi":
                return ("pixi", "add", "--pypi", *items)
            case "pdm":
                return ("pdm", "add", *self._common_list(items), *items)
            case _:
                return (self.python, "-m", "pip", "install", *extra, *options, *items)

    def list_of(self, requirement: str) -> tuple[str, ...]:
        """Return the options that name the list which a package is changed in."""
        name = _NAME.match(requirement)
        return self.lists.get(_SEPARATORS.sub("-", name[0]).lower(), ()) if name else ()

    def _common_list(self, items: tuple[str, ...]) -> tuple[str, ...]:
        found = {self.list_of(item) for item in items}
        return found.pop() if len(found) == 1 else ()

    def _index(self, index: str, *, mixed: bool) -> tuple[str, ...]:
        if not mixed:
            return ("--index-url", index)
        return ("--extra-index-url", index, *(BEST_MATCH if self.name == "uv" else ()))

    def uninstall(self, names: tuple[str, ...]) -> tuple[str, ...]:
        """Return the command that removes distributions."""
        match self.name:
            case "uv":
                return ("uv", "pip", "uninstall", "--python", self.python, *names)
            case "uv-project":
                return ("uv", "remove", *self._common_list(names), *names)
            case "poetry":
                return ("poetry", "remove", *self._common_list(names), *names)
            case "pixi":
                return ("pixi", "remove", "--pypi", *names)
            case "pdm":
                return ("pdm", "remove", *self._common_list(names), *names)
            case _:
                return (self.python, "-m", "pip", "uninstall", "--yes", *names)


def choose_dialect(
    wanted: str,
    environment: Environment,
    project: str = "",
    lists: Mapping[str, tuple[str, ...]] = {},
) -> Dialect:
    """Return what was asked for, else the tool of the project, else what made the environment.

    `project`: the tool whose lock file lies beside the environment, "" where none does; `lists`:
    its options for packages that belong to a group.
    """
    python = environment.target.python or "python"
    if wanted != "auto":
        return Dialect(wanted, python)
    made_by = environment.fact("python.installer")
    name = "uv" if isinstance(made_by, Known) and made_by.value == "uv" else "pip"
    return Dialect(project or name, python, lists)


def command_line(argv: tuple[str, ...], *, windows: bool, env: Mapping[str, str] = {}) -> str:
    """Return a command as it is pasted into a shell: POSIX, or PowerShell on Windows."""
    if windows:
        return powershell_line(argv, env)
    words = [f"{name}={shlex.quote(value)}" for name, value in env.items()]
    return " ".join([*words, shlex.join(argv)])
