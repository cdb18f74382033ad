"""Which torch a project asks for, and where it comes from, each said in its own place."""

from __future__ import annotations

import re
from functools import cached_property
from pathlib import PurePath
from typing import TYPE_CHECKING

from fadoctor.knowledge.matrix.load import load_knowledge
from fadoctor.knowledge.matrix.query import Matrix
from fadoctor.model.fact import Known, fact_text
from fadoctor.model.packages import TORCH, TRITON
from fadoctor.model.plan import Edit
from fadoctor.repair.plan.choices.indexes import PYPI, Indexes
from fadoctor.repair.plan.choices.released import accepts
from fadoctor.repair.resolution.hatch_references import may_hold_address
from fadoctor.repair.resolution.poetry_lines import is_named_twice, poetry_line
from fadoctor.repair.resolution.requirement_line import YAML, changed_line, is_of_pip
from fadoctor.repair.resolution.torch_sources import POETRY, ROUTED, TorchSources, form_of
from fadoctor.repair.resolution.uv_files import drop_file, take_file
from fadoctor.repair.resolution.variables import take_variable
from fadoctor.sources.manifests.formats.pyproject import KIND
from fadoctor.sources.manifests.formats.requirements_txt import KIND as LIST
from fadoctor.sources.manifests.requirement_text import version_of_url
from fadoctor.sources.probes.metadata import normalise_name

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from fadoctor.model.environment import Environment
    from fadoctor.model.place import Place
    from fadoctor.sources.manifests.planned import Manifest
    from fadoctor.sources.manifests.source import Source


class Routes:
    """The projects of which a plan changes the torch, as long as its lines are made."""

    def __init__(self, environment: Environment, *, whole: bool) -> None:
        """Take where all is installed; `whole`: each release is named exactly."""
        self.environment, self.whole = environment, whole
        self._projects: dict[str, tuple[TorchSources, Manifest] | None] = {}
        self._routed: dict[str, tuple[str, list[Edit]]] = {}
        self._torch: dict[str, tuple[str, int]] = {}
        """File -> the release of torch that comes, and the line that asks for it."""

    @cached_property
    def matrix(self) -> Matrix:
        """The tables."""
        return Matrix(load_knowledge().tables)

    def take(
        self,
        file: tuple[Source, Manifest],
        lines: list[str],
        at: tuple[Place, int],
        change: tuple[str, str, str],
        moved: Callable[[Place, int], None],
    ) -> bool:
        """Ask for a release of torch, or for a file, in a project that names sources of packages.

        Return whether that is one, and the package does not come from PyPI. `at`: where it is
        asked for, and in which column that is now.
        """
        place, column = at
        name, wanted, index = change
        if take_variable(lines, at, change, moved):
            return True
        if " @ " in wanted:
            beside = self._beside_its_file(file, lines, at, wanted)
            if beside is not None:
                moved(place, len(beside) - len(lines[place.line - 1]))
                lines[place.line - 1] = beside
            return beside is not None
        is_routed = name in ROUTED and bool(wanted)
        project = self._project(file) if is_routed and place.file == file[0].name else None
        if project is None:
            return False
        sources, manifest = project
        public = wanted.partition("+")[0]
        index = index or self._routed.get(place.file, ("", []))[0]
        index = index or self._of_same_cuda(sources, name, public.partition("==")[2])
        if not index:
            return False
        old = lines[place.line - 1]
        said = (*manifest.requirements, *manifest.aside)
        asked = next((each.specifier for each in said if each.place == place), "")
        is_open = not self.whole and "+" not in asked and accepts(asked, public.partition("==")[2])
        new = old if is_open else changed_line(old, column, name, public, KIND)
        if new is None and not sources.version(place, public.partition("==")[2]):
            return False
        lines[place.line - 1] = new or old
        if name == TORCH:
            self._torch[place.file] = (public.partition("==")[2], place.line)
        _, told = self._routed.setdefault(place.file, (index, []))
        told.append(
            Edit(
                place.file, text=f"{place}: {name} comes from {index}: name that index there for it"
            )
        )
        moved(place, len(new or old) - len(old))
        return True

    def drop_file(
        self, file: tuple[Source, Manifest], lines: list[str], place: Place, name: str
    ) -> None:
        """Tell a project of no file for a package that comes from an index now, or not at all."""
        project = self._project(file) if place.file == file[0].name else None
        if project is not None:
            drop_file(project[0], lines, name)

    def _beside_its_file(
        self, file: tuple[Source, Manifest], lines: list[str], at: tuple[Place, int], wanted: str
    ) -> str | None:
        """Name another file where uv is told of one for a package: an address beside it would wait.

        Return the line that asks for the package, with the release of the file; None where uv is
        told of no file.
        """
        place, column = at
        name, _, url = wanted.partition(" @ ")
        project = self._project(file) if place.file == file[0].name else None
        version = version_of_url(url).partition("+")[0]
        if project is None or not version:
            return None
        line: str | None = lines[place.line - 1]
        if not _BARE.match(lines[place.line - 1], column - 1):
            line = changed_line(lines[place.line - 1], column, name, name + version, KIND)
        return line if line and take_file(project[0], lines, normalise_name(name), url) else None

    def _of_same_cuda(self, sources: TorchSources, name: str, version: str) -> str:
        """Return the index with the same build as PyPI's, where torch comes from an index now.

        It stays there: what is published with it comes from there, too.
        """
        if name != TORCH or not sources.has_index(TORCH):
            return ""
        platform = fact_text(self.environment.fact("host.platform"), "")
        indexes = Indexes(self.matrix)
        cuda = indexes.cuda_of(PYPI, version, platform) or ""
        build = f"cu{cuda.replace('.', '')}"
        return indexes.of(build) if indexes.has(build, version, platform) else ""

    def _project(self, file: tuple[Source, Manifest]) -> tuple[TorchSources, Manifest] | None:
        source, manifest = file
        if source.name not in self._projects:
            form = form_of(source, manifest.kind)
            names = [each.name for each in manifest.requirements]
            found = TorchSources(*form, self.environment, names) if form is not None else None
            self._projects[source.name] = (found, manifest) if found is not None else None
        return self._projects[source.name]

    def put(self, texts: Mapping[str, list[str]]) -> list[Edit]:
        """Name the indexes in the files; return what is left to hands."""
        left = []
        for name, (index, told) in self._routed.items():
            project = self._projects[name]
            lines = list(texts[name])
            triton = self._with_triton(name, index, lines)
            if project is None or not project[0].route(lines, index, *filter(None, [triton])):
                left += told
                continue
            texts[name][:] = lines
            if triton == "":
                of_its_own = f"{name}: torch for ROCm requires a triton that {index} alone has"
                left.append(Edit(name, text=f"{of_its_own}: name it there, too"))
        return left

    def _with_triton(self, name: str, index: str, lines: list[str]) -> str | None:
        """Name what a torch for ROCm requires from its own index, which serves what is named alone.

        Return its name; None where there is none, "" where it could not be named.
        """
        label = index.rstrip("/").rpartition("/")[2]
        version, at = self._torch.get(name, ("", 0))
        if not label.startswith("rocm") or not version:
            return None
        project = self._projects[name]
        there = {each.name for each in project[1].requirements} if project is not None else set()
        row = ("torch-rocm-index", {"version": Known(version, "asked")})
        found = fact_text(self.matrix.find(*row).cell(TRITON), "")
        if not found or found in there:
            return found
        line = lines[at - 1]
        alone = _ALONE.fullmatch(line)
        if alone is None:
            return ""
        other = "'" if alone[2] == '"' else '"'
        asked = f"{found}; sys_platform == {other}linux{other}"
        lines[at - 1] = f"{line}\n{alone[1]}{alone[2]}{asked}{alone[2]},{alone[3]}"
        return found

    def line(
        self, lines: list[str], at: tuple[Place, int], change: tuple[str, str, str], kind: str
    ) -> str | None:
        """Return a line with another requirement in it; None where it has not the form for that.

        In tables of poetry's only beside a torch that is written anew there, and where more than
        one of them names the package: a command for one would be refused by the others.
        """
        (place, column), (name, wanted, _) = at, change
        if kind in YAML and is_of_pip(lines, place.line - 1):
            kind = LIST  # pip's own entries have the form of its lists
        new = changed_line(lines[place.line - 1], column, name, wanted, kind)
        if new is None and (self._is_by_poetry(place.file) or is_named_twice(lines, name)):
            return poetry_line(lines, place, column, wanted)
        adds = new is not None and " @ " in new and " @ " not in lines[place.line - 1]
        if adds and kind == KIND and not may_hold_address(lines):
            return None
        return new

    def _is_by_poetry(self, name: str) -> bool:
        """Return whether torch is asked for in tables of poetry's, and by now in another way."""
        project = self._projects.get(name) if name in self._routed else None
        return project is not None and project[0].form.tool == POETRY.tool

    def locked(self, edits: list[Edit]) -> list[Edit]:
        """Return edits where poetry writes its lock by what its project says."""
        folders = {PurePath(name).parent for name in self._routed if self._is_by_poetry(name)}
        found = []
        for each in edits:
            is_lock = each.command[:3] == _ADD and PurePath(each.file).parent in folders
            routed = is_lock and each.command[-1].partition("==")[0] in ROUTED
            command = ("poetry", "lock") if routed else each.command
            found.append(Edit(each.file, command=command, text=each.text) if routed else each)
        return found


# "flash-attn", without a release
_BARE = re.compile(r"[\"'][\w.-]{1,80}(?:\[[^\]]{0,200}\])?\s{0,8}[\"';]")
_ADD = ("poetry", "add", "--lock")
# a requirement on a line of its own
_ALONE = re.compile(r"([ \t#]{0,40})([\"'])[^\"']{1,300}\2,(\r?)")
