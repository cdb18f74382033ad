"""The words of an installer: the same change as commands of pip, uv, poetry, pixi or conda."""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping
from typing import TYPE_CHECKING

import msgspec

from fadoctor.knowledge.matrix.versions import is_in
from fadoctor.model.fact import Known
from fadoctor.sources.manifests.formats.project_lists import Listed
from fadoctor.syntax.windows_command import powershell_line

if TYPE_CHECKING:
    from collections.abc import Iterable

    from fadoctor.model.environment import Environment


_SEPARATORS = re.compile(r"[-_.]{1,9}")
_NAME = re.compile(r"[A-Za-z0-9][\w.-]{0,99}", re.ASCII)
_PIN = re.compile(r"[A-Za-z0-9][\w.-]{0,99}(?:\[[^\]]{0,200}\])?==([\w.!+]{1,60})", re.ASCII)

BEST_MATCH = ("--index-strategy", "unsafe-best-match")
"""uv asks the first index that has a package, and no other, unless it is told to ask all."""

_WITH_PIP = ("uv-project", "poetry")
"""Projects whose environment uv or its own pip changes as well; that of pdm has no pip."""

INSTALLERS = ("auto", "pip", "uv", "conda")
"""Whose commands can be asked for."""


class Dialect(msgspec.Struct, frozen=True):
    """How to speak to one installer about one environment."""

    name: str
    python: str
    """The interpreter of the environment."""
    lists: Mapping[str, tuple[Listed, ...]] = {}
    """Which lists of the project have each package; none where that could not be read."""

    @property
    def is_project(self) -> bool:
        """Whether it changes a project's list of dependencies, and not an environment."""
        return self.name in ("uv-project", "poetry", "pixi", "pdm")

    @property
    def project_files(self) -> str:
        """How a project comes back by hand: its own files say what is installed."""
        match self.name:
            case "uv-project":
                return (
                    "restore pyproject.toml and uv.lock, then run `uv sync` with the extras in use"
                )
            case "poetry":
                return (
                    "restore pyproject.toml and poetry.lock, then run `poetry sync` with the "
                    "extras in use (before Poetry 2 `poetry install --sync`)"
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
        within: tuple[str, ...] | None = None,
    ) -> tuple[str, ...]:
        """Return the command that installs requirements.

        `mixed`: some of them come from the index that is configured, which then stays in use.
        `within`: the list of the project that has them, where it has them in several.
        """
        extra = self._index(index, mixed=mixed) if index else ()
        listed = self._common_list(items) if within is None else within
        match self.name:
            case "uv":
                return ("uv", "pip", "install", "--python", self.python, *extra, *options, *items)
            case "uv-project":
                named = ("--index", index) if index else ()
                return ("uv", "add", *listed, *options, *named, *items)
            case "poetry":
                return ("poetry", "add", *listed, *items)
            case "pixi":
                return ("pixi", "add", "--pypi", *items)
            case "pdm":
                return ("pdm", "add", *listed, *items)
            case _:
                return (self.python, "-m", "pip", "install", *extra, *options, *items)

    def lists_of(self, requirement: str) -> list[tuple[str, ...]]:
        """Return the options of each list to change: those that refuse this release, else one."""
        name = _NAME.match(requirement)
        found = self.lists.get(_normal(name[0]), ()) if name else ()
        pin = _PIN.fullmatch(requirement)
        refusing = [e.options for e in found if pin and is_in(pin[1], e.specifier) is False]
        return refusing or [each.options for each in found[:1]] or [()]

    def lists_name(self, name: str) -> bool:
        """Return whether the project lists a distribution, or nobody knows what it lists."""
        return not (self.name in _WITH_PIP and self.lists) or _normal(name) in self.lists

    def remover(self, names: tuple[str, ...]) -> Dialect:
        """Return who removes distributions: what no list has goes by the environment alone."""
        if not names or any(map(self.lists_name, names)):
            return self
        return Dialect("uv" if self.name == "uv-project" else "pip", self.python)

    def install_extras(self, lists: Iterable[tuple[str, ...]]) -> tuple[str, ...]:
        """Return the command that installs changed extras, () where the change did so itself.

        `poetry add --optional` writes the project and its lock, and installs no extra.
        """
        extras = sorted(each[-1] for each in lists if each[:1] == ("--optional",))
        is_left = extras and self.name == "poetry"
        return ("poetry", "install", "--extras", " ".join(extras)) if is_left else ()

    def _common_list(self, items: tuple[str, ...]) -> tuple[str, ...]:
        found = {tuple(self.lists_of(item)) for item in items}
        return found.pop()[-1] if len(found) == 1 else ()

    def _index(self, index: str, *, mixed: bool) -> tuple[str, ...]:
        if not mixed:
            return ("--index-url", index)
        return ("--extra-index-url", index, *(BEST_MATCH if self.name == "uv" else ()))

    def uninstall(self, names: tuple[str, ...]) -> tuple[str, ...]:
        """Return the command that removes distributions."""
        match self.remover(names).name:
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


def _normal(name: str) -> str:
    return _SEPARATORS.sub("-", name).lower()


def choose_dialect(
    wanted: str,
    environment: Environment,
    project: str = "",
    lists: Mapping[str, tuple[Listed, ...]] = {},
) -> Dialect:
    """Return what was asked for, else the tool of the project, else what made the environment.

    `project`: the tool whose lock file lies beside the environment, "" where none does; `lists`:
    which lists of it have each package.
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
