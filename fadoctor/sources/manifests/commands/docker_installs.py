"""What the commands of a RUN instruction install: pip, uv, conda and their relatives."""

from __future__ import annotations

import re
import shlex
from copy import copy
from typing import TYPE_CHECKING

import msgspec

from fadoctor.knowledge.matrix.query import Matrix
from fadoctor.model.errors import InputError
from fadoctor.sources.manifests.chosen import PIP, UV_PIP
from fadoctor.sources.manifests.commands.install_options import (
    ALONE,
    CHANNELS,
    ELSEWHERE,
    FILES,
    INDEX,
    MORE_INDEXES,
    PAGES,
    asks_one_index,
    bounds_of,
    is_installer,
    of_module,
    sort_arguments,
    with_options,
)
from fadoctor.sources.manifests.commands.local_project import folder_of, read_project
from fadoctor.sources.manifests.commands.locked_choice import LOCKS, chosen_by, of_choice
from fadoctor.sources.manifests.commands.made_venv import made_with
from fadoctor.sources.manifests.commands.named_script import DEPTH_LIMIT, named_script
from fadoctor.sources.manifests.commands.one_step import InstallStep, install
from fadoctor.sources.manifests.commands.reachable_files import ReachableFiles
from fadoctor.sources.manifests.commands.script_tests import ScriptTests
from fadoctor.sources.manifests.commands.working_folder import WorkingFolder
from fadoctor.sources.manifests.commands.written_files import is_bound, watch_writing, written
from fadoctor.sources.manifests.draft import Draft
from fadoctor.sources.manifests.formats import conda_listed, requirements_txt
from fadoctor.sources.manifests.formats.conda_spec import (
    CondaNames,
    add_spec,
    parse_spec,
)
from fadoctor.sources.manifests.formats.conda_torch import settle_torch
from fadoctor.sources.manifests.images.planned_stage import WISH_LIMIT, Tally, renamed, tied
from fadoctor.sources.manifests.installed.isolated import as_built, is_without_torch, unmarked
from fadoctor.sources.manifests.installed.planned_torch import is_pypi
from fadoctor.sources.manifests.planned import Setting, unseen_page
from fadoctor.sources.manifests.read import read_source
from fadoctor.sources.manifests.requirement_text import is_local, read_address, read_requirement
from fadoctor.sources.probes.metadata import clean_url, normalise_name
from fadoctor.syntax.dockerfile import Text
from fadoctor.syntax.shell import read_shell
from fadoctor.syntax.shell_commands import Depends, ShellCommand
from fadoctor.syntax.text_lines import line_starts

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from fadoctor.model.place import Place
    from fadoctor.model.rule import Table
    from fadoctor.sources.manifests.commands.install_options import InstallArguments
    from fadoctor.sources.manifests.images.planned_stage import Stage
    from fadoctor.sources.manifests.planned import Manifest, Requirement
    from fadoctor.sources.manifests.source import Source
    from fadoctor.syntax.shell_filled_words import FilledWord

# pip3.11, and what a variable names: $VENV_PIP, ${PYTHON_BIN}
_PIP = re.compile(r"pip[\d.]*|\$\{?\w{0,60}(?:PIP|pip)\d{0,2}\}?")
_PYTHON = re.compile(
    r"(?:python|pypy)[\d.]*(?:\$\{?\w{1,60}\}?)?|\$\{?\w{0,60}(?:PYTHON|python)\w{0,30}\}?"
)
_MIM = "mim"
_CONDA = frozenset(("conda", "mamba", "micromamba"))
_ADDRESS = re.compile(
    r"(?:[A-Za-z][A-Za-z0-9+]{1,20}://|\.{0,2}/|\.$|~/).{0,4000}|.{1,400}\.(?:whl|tar\.gz|zip)"
)
# flash_attn*.whl, {package}
_PATTERN = re.compile(r"[*{}]")
FOR_A_CONDITION = "runs only under a condition"


def shared_by(source: Source, tables: Mapping[str, Table], copied: Iterable[str] = ()) -> Shared:
    """Return what all scripts of a file have in common.

    `copied`: the paths that a Dockerfile copies from its build context.
    """
    rows = tables["torch-indexes"].rows
    backends = {str(row["build"]): str(row["index"]) for row in rows}
    return Shared(ReachableFiles(source, copied), backends, Matrix(tables), Tally())


class Shared(msgspec.Struct, frozen=True):
    """What all scripts of a file have in common."""

    files: ReachableFiles
    backends: dict[str, str]
    """Name of a build of torch -> the index that has it."""
    matrix: Matrix
    tally: Tally
    depth: int = 0
    """How many scripts have started one another."""


class Installs:
    """Carries the commands of one script over to a stage."""

    def __init__(self, shared: Shared, stage: Stage, text: Text) -> None:
        """Take the Dockerfile, the stage that the script runs in, and its text."""
        self.shared, self.files, self.tally = shared, shared.files, shared.tally
        self.source = shared.files.source
        self.matrix, self.backends = shared.matrix, shared.backends
        self.stage, self.text = stage, text
        self.folder = WorkingFolder(stage)
        self.was_followed = False
        """Whether the command before is one that installs, and was followed."""
        self.has_shell = False
        """Whether it gives a text to a shell, which was followed."""

    def run(self, script: str, start: int = 0) -> int:
        """Follow a script; return how many commands it has."""
        judge = ScriptTests(self.files, self.folder, self.stage)
        found = read_shell(script, self.stage.variables, start=start, judge=judge)
        for command in found.commands:
            if command.words:
                self.command(command)
        if found.is_cut:
            self.stage.note(self.text.place(start).line, "too long, so its end is not followed")
        return len(found.commands)

    def run_words(self, words: list[FilledWord]) -> None:
        """Follow a command that is written as a JSON list."""
        self.run_at(shlex.join(word.text for word in words), words[0].at)

    def run_at(self, script: str, at: int) -> None:
        """Follow a script whose words all stand in one place."""
        for command in read_shell(script, self.stage.variables).commands:
            placed = tuple(msgspec.structs.replace(w, at=at, spans=()) for w in command.words)
            if placed:
                self.command(msgspec.structs.replace(command, words=placed))

    def line(self, command: ShellCommand) -> int:
        """Return the line of a command."""
        return self.text.place(command.words[0].at).line

    def command(self, command: ShellCommand) -> None:
        """Follow one command, or note that it cannot be."""
        self.has_shell = self.has_shell or command.is_shell
        words = list(command.words[command.start :])
        was_followed, self.was_followed = self.was_followed, False
        if not words or command.is_shell or command.is_elsewhere:
            return
        if command.depends is not Depends.NEVER:
            self.folder.watch([word.text for word in words])
            watch_writing(command, self.text, self.stage, self.folder)
            self.stage.python = made_with(words, self.text) or self.stage.python
        follow = self.follower(words)
        if follow is None:
            if is_installer(command.text) and words[0].text not in {"echo", "printf", "which"}:
                self.stage.note(self.line(command), f"not followed: {command.text[:160]}")
        elif command.depends is Depends.NEVER:
            self.stage.note(self.line(command), f"does not run by default: {command.text[:160]}")
        elif command.before == "||" and was_followed:
            note = f"runs only where the command before it fails: {command.text[:160]}"
            self.stage.note(self.line(command), note)
            self.was_followed = True
        elif command.depends is not Depends.NOTHING:
            self.stage.leave_open()
            note = f"{FOR_A_CONDITION}, so not followed: {command.text[:160]}"
            self.stage.note(self.line(command), note)
        else:
            if any(is_bound(each) for each in command.redirections):
                note = "an unquoted > is a redirection here, no bound of a version"
                self.stage.note(self.line(command), note)
            follow()
            self.was_followed = True

    def follower(self, words: list[FilledWord]) -> Callable[[], None] | None:
        """Return what carries a command out, None where it installs nothing known."""
        names = [word.text for word in words]
        script = named_script(names, self.files, self.folder, self.stage)
        if script is not None and self.shared.depth < DEPTH_LIMIT and is_installer(script.text):
            return lambda: self.script(script, self.text.place(words[0].at).line)
        name = re.sub(r"(?i)\.exe$", "", names[0].rpartition("/")[2])
        if name == "py" or _PYTHON.fullmatch(name):
            started = of_module(words)
            return self.follower(started) if started else None
        if name == "uv" and names[1:2] == ["pip"]:
            rest, verb = self.verb(words[2:])
            if verb == "install":
                return lambda: self.pip(rest, is_uv=True)
            words, name = words[1:], "pip"
        rest, verb = self.verb(words[1:])
        if _PIP.fullmatch(name) and verb == "install":
            return lambda: self.pip(rest)
        by_conda = name in _CONDA and verb in {"remove", "uninstall"}
        if by_conda or (_PIP.fullmatch(name) and verb == "uninstall"):
            return lambda: self.stage.remove(normalise_name(word.text) for word in rest)
        return self.tool(words, name, verb, rest)

    def script(self, source: Source, line: int) -> None:
        """Follow a script that the command in a line starts, in the folder of the command."""
        text = Text(source, line_starts(source.text))
        text.add(0, len(source.text))
        deeper = msgspec.structs.replace(self.shared, depth=self.shared.depth + 1)
        installs = Installs(deeper, self.stage, text.close())
        installs.source, installs.folder = source, copy(self.folder)
        before, self.stage.notes = self.stage.notes, []
        installs.run(source.text)
        own, self.stage.notes = self.stage.notes, before
        for at, note in own:
            self.stage.note(line, f"{source.name}:{at}: {note}")

    def tool(
        self, words: list[FilledWord], name: str, verb: str, rest: tuple[FilledWord, ...]
    ) -> Callable[[], None] | None:
        """Return what carries out a command of a tool other than pip."""
        asked = rest if verb == "add" else with_options(rest) if verb == "run" else ()
        if asked and name in {"uv", "poetry", "pdm"}:
            return lambda: self.pip(asked, is_uv=name == "uv", is_project=True)
        if name == _MIM and verb == "install":
            return lambda: self.mim(words)
        if (name, verb) in LOCKS:
            return lambda: self.lock(words, name, verb)
        if name in _CONDA and verb in {"install", "create"}:
            return lambda: self.conda(rest)
        if name in _CONDA and verb == "env" and rest and rest[0].text in {"create", "update"}:
            return lambda: self.conda(rest[1:])
        return None

    def verb(self, words: list[FilledWord]) -> tuple[tuple[FilledWord, ...], str]:
        """Return the first word that is no option, and those after it."""
        for index, word in enumerate(words):
            if not word.text.startswith("-"):
                return tuple(words[index + 1 :]), word.text
        return (), ""

    def pip(
        self, words: tuple[FilledWord, ...], *, is_uv: bool = False, is_project: bool = False
    ) -> None:
        """Install what ``pip install``, ``uv pip install`` and ``uv add`` name.

        `is_project`: whether all that a project asks for is resolved together.
        """
        given = sort_arguments(words)
        if given.values(ELSEWHERE):
            place = self.text.place(words[0].at)
            self.stage.note(place.line, "installs somewhere else, so not followed")
            return
        index = self.index(given)
        is_only = bool(index) and asks_one_index(given, self.source.text, is_uv=is_uv)
        found: list[Requirement] = []
        for word in given.values(FILES):
            manifest = self.beside(word, requirements_txt.read)
            if manifest is not None:
                asks = renamed(manifest.requirements, index)
                found += tied(asks) if is_only and not manifest.indexes else asks
                self.stage.constraints += manifest.constraints
                self.stage.indexes += manifest.indexes
                self.stage.quote(manifest, self.text.place(word.at).line)
        for word in bounds_of(given, self.stage.variables, words, is_uv=is_uv):
            manifest = self.beside(word, requirements_txt.read)
            if manifest is not None:
                self.stage.constraints += manifest.requirements
        for word in (*given.plain, *given.values(("-e", "--editable"))):
            named = renamed(self.wishes(word, is_uv=is_uv), index)
            found += tied(named) if is_only else named
        number = 0 if given.flags & ALONE else self.tally.command()
        for word in (pages := given.values(PAGES)):
            self.stage.note(self.text.place(word.at).line, unseen_page(clean_url(word.text)))
        found = [msgspec.structs.replace(e, command=number, has_pages=bool(pages)) for e in found]
        built = as_built(self.stage, found, given, self.source.text, is_uv=is_uv)
        is_added = not is_uv and not given.values(INDEX)
        is_of_pypi = not index or is_added or is_pypi(index)
        step = InstallStep(built, index, given.flags, is_project, is_of_pypi)
        install(step, self.stage, self.matrix)

    def index(self, given: InstallArguments) -> str:
        """Return the index of a command: one that is added goes before the one that is there."""
        backend = given.values(("--torch-backend",))
        if backend and backend[0].text in self.backends:
            return self.backends[backend[0].text]
        for names in (MORE_INDEXES, INDEX):
            for word in given.values(names):
                # uv: --index name=https://...
                return "" if word.is_open else clean_url(word.text.rpartition("=")[2])
        return ""

    def wishes(self, word: FilledWord, *, is_uv: bool) -> list[Requirement]:
        """Return what one word asks for; a note where only a run would tell."""
        place = self.counted(word)
        if word.is_open or _PATTERN.search(word.text.partition("=")[0]):
            self.stage.note(place.line, f"the value of {word.text[:160]} is not known")
            self.stage.leave_open()
            return []
        is_address = _ADDRESS.fullmatch(word.text) is not None and " @ " not in word.text
        if not is_address and not is_local(word.text):
            return [read_requirement(word.text, place, self.source)]
        if (found := read_address(word.text, place)) is not None:
            return [found]
        project = self.project(word, UV_PIP if is_uv else PIP)
        if project is None:
            what = clean_url(word.text)[:160]
            self.stage.note(place.line, f"the contents of {what} are unknown")
            return []
        self.stage.constraints += project.constraints
        self.stage.indexes += project.indexes
        self.stage.quote(project, place.line)
        return unmarked(project.requirements)

    def project(self, word: FilledWord, installer: str) -> Manifest | None:
        """Return what the project in a folder asks for; None where there is none to read."""
        folder, extras = folder_of(word.text)
        return read_project(self.files, self.folder.projects(folder), extras, installer)

    def counted(self, word: FilledWord) -> Place:
        """Return where a wish stands; InputError where there are too many."""
        place = self.text.place(word.at)
        if self.tally.is_full():
            raise self.source.error(f"more than {WISH_LIMIT:,} packages", line=place.line)
        return place

    def mim(self, words: list[FilledWord]) -> None:
        """Note that OpenMMLab's installer fails without torch: it imports it, whatever it names."""
        if is_without_torch(self.stage) and not self.stage.early:
            text = " ".join(word.text for word in words)[:160]
            self.stage.early.append(Setting(text, self.text.place(words[0].at)))

    def lock(self, words: list[FilledWord], name: str, verb: str) -> None:
        """Follow a command that installs what a lock says."""
        place = self.text.place(words[0].at)
        choice = chosen_by(name, tuple(words), self.source.choice)
        for file in LOCKS[name, verb]:
            beside = self.folder.beside(file)
            try:
                source = self.files.read(beside or file, self.stage.copied.get(file, file))
            except InputError:
                continue
            manifest = read_source(msgspec.structs.replace(source, choice=choice))
            self.stage.take(of_choice(manifest), place.line, upgrade=True)
            self.stage.indexes += manifest.indexes
            return
        files = " or ".join(LOCKS[name, verb])
        self.stage.note(place.line, f"{name} {verb}: there is no {files} beside this file")

    def conda(self, words: tuple[FilledWord, ...]) -> None:
        """Install what ``conda install`` and ``conda create`` name."""
        given = sort_arguments(words, is_conda=True)
        channels = given.values(CHANNELS)
        channel = clean_url(channels[0].text) if channels else ""
        draft = Draft(self.source, "conda")
        names = CondaNames()
        for word in given.values(("-f", "--file")):
            manifest = self.beside(word, conda_listed.read)
            if manifest is not None:
                self.stage.take(manifest, self.text.place(word.at).line)
        for word in given.plain:
            place = self.counted(word)
            spec = None if word.is_open else parse_spec(word.text)
            if spec is None:
                self.stage.note(place.line, f"the value of {word.text[:160]} is not known")
                continue
            spec = msgspec.structs.replace(spec, channel=spec.channel or channel)
            if problem := add_spec(draft, names, spec, place):
                raise self.source.error(problem, line=place.line, key=word.text[:60])
        draft.default_python(self.stage.python)
        for line, text in settle_torch(draft, [clean_url(each.text) for each in channels]):
            self.stage.note(line, text)
        self.stage.install(draft.requirements)
        self.stage.facts |= draft.facts
        self.stage.refused |= draft.refused
        self.stage.python = draft.python

    def beside(self, word: FilledWord, read: Callable[[Source], Manifest]) -> Manifest | None:
        """Read a file that a command names, where it stands beside the Dockerfile."""
        place = self.text.place(word.at)
        if word.is_open:
            self.stage.note(place.line, f"the file {word.text[:160]} is unknown")
            return None
        if "://" in word.text:
            self.stage.note(place.line, f"{clean_url(word.text)[:160]} was not fetched")
            return None
        if own := written(word.text, self.source, self.stage, self.folder):
            return read(own)
        if self.folder.is_fetched and not word.text.startswith("/"):
            note = f"{word.text[:160]} is not read: it is in a repository that is fetched"
            self.stage.note(place.line, note)
            return None
        name = word.text.rpartition("/")[2]
        paths = (self.folder.beside(word.text) or name, self.stage.copied.get(name, name), name)
        try:
            source = self.files.read(*dict.fromkeys(paths))
        except InputError as error:
            self.stage.note(place.line, f"{word.text[:160]} is not read: {error.problem}")
            return None
        return read(source)
