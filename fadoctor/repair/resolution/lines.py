"""A plan as changes of lines in the files that were examined; a lock is left to its own tool."""

from __future__ import annotations

import difflib
from functools import partial
from pathlib import PurePath
from typing import TYPE_CHECKING

import msgspec

from fadoctor.model.fact import Known, printable
from fadoctor.model.packages import BESIDE_TORCH, TORCH, package_of
from fadoctor.model.plan import Edit
from fadoctor.repair.resolution.by_hand import by_hand, open_questions
from fadoctor.repair.resolution.columns import Columns
from fadoctor.repair.resolution.over_image import OverImage
from fadoctor.repair.resolution.poetry_lines import by_poetry, in_one_command
from fadoctor.repair.resolution.requirement_line import (
    GONE,
    YAML,
    command_without_index,
    index_line,
    is_index,
    option_for_pip,
    still_asked,
)
from fadoctor.repair.resolution.said_elsewhere import SaidOf
from fadoctor.repair.resolution.torch_routes import Routes
from fadoctor.repair.resolution.uv_locks import LOCK, naming_index, together
from fadoctor.repair.resolution.variables import command_on_index
from fadoctor.repair.resolution.wanted import notes_of, wanted_of
from fadoctor.sources.manifests.formats.requirements_txt import KIND
from fadoctor.sources.manifests.installed.index_releases import names_another
from fadoctor.sources.manifests.planned import Manifest
from fadoctor.sources.manifests.read import kind_of, read_source
from fadoctor.sources.manifests.source import Source, open_source

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator, Mapping

    from fadoctor.model.environment import Environment
    from fadoctor.model.place import Place
    from fadoctor.model.plan import Plan

_LOCKS = {
    "uv.lock": LOCK,
    "poetry.lock": ("poetry", "add", "--lock"),
    "pdm.lock": ("pdm", "update", "--no-sync"),
    "pixi.lock": ("pixi", "add", "--pypi"),
    "Pipfile.lock": ("pipenv", "upgrade"),
    "pylock.toml": ("uv", "pip", "compile", "--format", "pylock.toml", "--upgrade-package"),
}
"""Kind of a lock -> the command of its tool that takes one package to a version."""

_COMPILED = ("uv", "pip", "compile", "--upgrade-package")
"""For a requirements.txt that a tool has written."""


class Rewrite(msgspec.Struct, frozen=True):
    """A file as it would be."""

    source: Source
    text: str


class Lines(msgspec.Struct, frozen=True):
    """What a plan makes of the files."""

    edits: tuple[Edit, ...]
    rewrites: tuple[Rewrite, ...]
    notes: tuple[str, ...] = ()
    """Why a plan may know less than it could."""
    held: str = ""
    """What to do instead, where torch would move beneath the server that an image is made for."""


def lines_of(
    plan: Plan,
    environment: Environment,
    names: Iterable[str],
    opened: Callable[[str], Source] = open_source,
    *,
    whole: bool = False,
) -> Lines:
    """Return what to change in the files; what stands in no file is brought by an installer.

    `opened`: reads a file within the fence that was given, for the groups and extras that were
    examined. `whole`: what the plan moves is named even so, where an installer would bring
    another release.
    """
    files = _files(names, opened)
    found = _lines_of(plan, environment, files, whole=whole)
    # where no line says what is moved, what only comes along has to be named
    return found if found.edits else _lines_of(plan, environment, files, whole=True)


def _lines_of(
    plan: Plan,
    environment: Environment,
    files: dict[str, _File],
    *,
    whole: bool,
) -> Lines:
    texts = {name: each.source.text.split("\n") for name, each in files.items()}
    edits: list[Edit] = []
    unnamed: list[tuple[str, str]] = []
    manifests = tuple(each.manifest for each in files.values())
    notes = [*open_questions(environment), *notes_of(plan, environment, manifests)]
    over, columns, routes = OverImage(), Columns(), Routes(environment, whole=whole)
    for name, wanted, index in wanted_of(plan):
        places = _lines_that_name(environment, name, files)
        is_brought = _is_brought(environment, name)
        # what only comes along, and in a release that the plan does not want
        comes_open = name in environment.ranges or name in environment.bounded
        # another build than an index gives by itself has to be asked for
        is_build = name == TORCH and "+" in wanted
        is_line = whole or comes_open or is_build or not is_brought
        if not places and wanted and is_line:
            unnamed.append((wanted, index))
        if plan.conflicts and not wanted:  # what was wished for is not reached: it is left to you
            edits += [Edit(place.file, text=_kept(place, name)) for place in places]
            continue
        said = SaidOf.of(name, manifests)
        for place in _unsaid(said.places(places, wanted, notes), (name, wanted, index), files):
            file = files.get(place.file)
            if file is None or file.is_locked:
                edits += _in_lock(place, file, (name, wanted), is_brought=is_brought)
                continue
            lines = texts[place.file]
            change, column = (name, wanted, index), columns.of(place)
            if over.take(lines[place.line - 1], file.kind, place, (wanted, index)) or routes.take(
                (file.source, file.manifest), lines, (place, column), change, columns.moved
            ):
                continue
            new = routes.line(lines, (place, column), change, file.kind)
            if new is None:
                told = _edits(place.file, by_hand(place, change, file.manifest))
                edits += by_poetry(lines, place, wanted, index) or told
                continue
            columns.moved(place, len(new) - len(lines[place.line - 1]))
            is_of_torch = name == TORCH or name in BESIDE_TORCH
            routed = (
                command_on_index(lines, place.line - 1, (new, column), index)
                if index and is_of_torch
                else new
            )
            columns.moved(msgspec.structs.replace(place, column=0), len(routed or new) - len(new))
            lines[place.line - 1] = routed or new
            routes.drop_file((file.source, file.manifest), lines, place, name)
            build = environment.builds.get(name, "")
            told_by = _with_its_index(texts, file, (place, name, wanted, index), build)
            edits += [each for each in told_by if not index or routed is None]
    edits = [*routes.locked(in_one_command(edits)), *routes.put(texts)]
    for name, lines in texts.items():
        still_asked(lines, files[name].source.text.split("\n"))
    edits += _unnamed(unnamed, over, files, texts)
    over.put(texts)
    rewrites = [
        Rewrite(each.source, text)
        for name, each in files.items()
        if (text := "\n".join(line for line in texts[name] if line != GONE)) != each.source.text
    ]
    if whole and not rewrites and not edits:
        edits += _told(environment, files, wanted_of(plan))
    rewritten = {rewrite.source.name for rewrite in rewrites}
    edits = together(
        dict.fromkeys(naming_index(edits, wanted_of(plan), partial(_names, files, texts))),
        partial(_follows, environment, rewritten),
    )
    held = over.held(environment, texts, {n for n, _, _ in wanted_of(plan)}, plan.proof.errors)
    diffs = (Edit(rewrite.source.name, diff=diff_of(rewrite)) for rewrite in rewrites)
    return Lines((*diffs, *edits), tuple(rewrites), tuple(notes), held)


def _told(
    environment: Environment, files: Mapping[str, _File], wanted: Iterable[tuple[str, str, str]]
) -> Iterator[Edit]:
    """Yield what to do by hand, where a plan moves something and changes no line for it.

    A command would change the environment that is there, and that is not what was examined.
    """
    first = next(iter(files), "")
    for change in wanted:
        places = _places(environment, change[0])
        found: list[tuple[str, Place | str]] = [(place.file, place) for place in places]
        for file, at in found or [(first, first)]:
            manifest = files[file].manifest if file in files else None
            yield from _edits(file, by_hand(at, change, manifest))


def _follows(environment: Environment, rewritten: Collection[str], lock: str, name: str) -> bool:
    """Return whether what a lock has of a package follows from its project, which is changed."""
    project = str(PurePath(lock).with_name("pyproject.toml"))
    named = {place.file for place in _places(environment, name)}
    return project in rewritten and (project in named or _is_brought(environment, name))


def _names(
    files: Mapping[str, _File], texts: Mapping[str, list[str]], lock: str, name: str, index: str
) -> bool:
    """Return whether a lock takes a package from an index by now, or its project says so."""
    project = str(PurePath(lock).with_name("pyproject.toml"))
    told = any(index in line for line in texts.get(project, ()))
    locked = files[lock].manifest.requirements if lock in files else ()
    return told or any(each.name == name and each.index.rstrip("/") == index for each in locked)


class _File(msgspec.Struct, frozen=True):
    source: Source
    manifest: Manifest
    """What names it: itself, or a file that includes it."""

    kind: str
    """The kind of file, which may be another one than that of what names it."""
    asks: bool = True
    """Whether it asks for packages, and does not only bound them."""

    @property
    def is_locked(self) -> bool:
        """Whether it names every package there will be."""
        return self.manifest.is_complete


def _files(names: Iterable[str], opened: Callable[[str], Source]) -> dict[str, _File]:
    """Return the files and what they include, each read again: they are compared when written."""
    found: dict[str, _File] = {}
    for name in names:
        source = opened(name)
        manifest = read_source(source)
        found[source.name] = _File(source, manifest, manifest.kind)
        asking = {each.place.file for each in manifest.requirements}
        bounding = {each.place.file for each in manifest.constraints}
        for place in (asking | bounding) - found.keys():
            each = opened(place)
            kind = kind_of(each) or manifest.kind
            found[place] = _File(each, manifest, kind, asks=place in asking)
    return found


def _places(environment: Environment, name: str) -> tuple[Place, ...]:
    known = environment.places.get(f"{package_of(name, name)}.version", ())
    return known or environment.places.get(f"packages.installed.{name}", ())


def _lines_that_name(
    environment: Environment, name: str, files: dict[str, _File]
) -> tuple[Place, ...]:
    """Return where the files name a package; a file as a whole does so only where it is a lock."""
    return tuple(
        place
        for place in _places(environment, name)
        if place.line or place.file not in files or files[place.file].is_locked
    )


def _unsaid(
    places: Iterable[Place], change: tuple[str, str, str], files: dict[str, _File]
) -> Iterator[Place]:
    """Yield the places that do not ask for what is wanted by now."""
    for place in places:
        file = files.get(place.file)
        if file is None or file.is_locked or by_hand(place, change, file.manifest):
            yield place


def _is_brought(environment: Environment, name: str) -> bool:
    """Return whether a package comes along because another one requires it."""
    return any(
        fact_name.endswith(".requires") and isinstance(fact, Known) and isinstance(fact.value, dict)
        and name in fact.value
        for fact_name, fact in environment.facts.items()
    )  # fmt: skip


def _unnamed(
    wanted: list[tuple[str, str]],
    over: OverImage,
    files: dict[str, _File],
    texts: dict[str, list[str]],
) -> list[Edit]:
    """Add what no file names: beside what is installed over an image, where something is."""
    return [edit for each in wanted if not over.along(each) for edit in _added(files, texts, *each)]


def _added(
    files: dict[str, _File], texts: dict[str, list[str]], wanted: str, index: str
) -> list[Edit]:
    """Add what no file names to the first list of requirements; where there is none, say it.

    A build with a label comes from its own index alone.
    """
    index = index if "+" in wanted else ""
    for name, file in files.items():
        if file.kind == KIND and file.asks and not file.is_locked:
            lines = texts[name]
            end = "\r" if lines[0].endswith("\r") else ""
            at = len(lines) - (not lines[-1])
            lines.insert(at, wanted + end)
            if index:
                _with_index(lines, at, index)
            return []
    source = f" and the index {index}" if index else ""
    return [Edit(name, text=f"{name}: name {wanted}{source}, too") for name in list(files)[:1]]


def _in_lock(
    place: Place, file: _File | None, change: tuple[str, str], *, is_brought: bool
) -> list[Edit]:
    """Return the command of the tool that a lock belongs to.

    It removes by itself what no package requires any more.
    """
    name, wanted = change
    kind = file.kind if file is not None else PurePath(place.file).name
    base = _LOCKS.get(kind, _COMPILED if kind == KIND else ())
    if base and not wanted and is_brought:
        return []
    if not base or not wanted:
        return _edits(place.file, by_hand(place, (name, wanted, "")))
    text = f"{place.file} is a lock: it is not edited, its tool writes it"
    if " @ " in wanted:
        text += "; first name a file by its URL in the project's own list of dependencies"
    return [Edit(place.file, command=(*base, wanted), text=text)]


def _edits(file: str, text: str) -> list[Edit]:
    return [Edit(file, text=text)] if text else []


def _kept(place: Place, name: str) -> str:
    return f"{place}: keep {name} only if you change how it is installed: `fadoctor check` says how"


def _with_its_index(
    texts: Mapping[str, list[str]], file: _File, change: tuple[Place, str, str, str], build: str
) -> list[Edit]:
    """Name the index that a build comes from, and none where it comes from PyPI; or say so.

    `build`: the one that alone the named index serves, "" where several can come.
    """
    place, name, wanted, index = change
    lines, kind = texts[place.file], file.kind
    if _is_named_by_now(index, file, lines, texts):
        return []
    is_of_pypi = bool(wanted) and not index and not {"@", "+"} & {*wanted}
    if index and kind == KIND:
        _with_index(lines, place.line - 1, index)
    elif index and kind in YAML and (option := option_for_pip(lines, place.line - 1, index)):
        lines[place.line - 1] = f"{option}\n{lines[place.line - 1]}"
    elif index:
        text = f"{place}: {name} comes from {index}: name that index there for it"
        return [Edit(place.file, text=text)]
    elif is_of_pypi and name == TORCH and kind == KIND:
        lines[:] = [GONE if is_index(line) else line for line in lines]
    elif (
        is_of_pypi
        and (name == TORCH or names_another(lines[place.line - 1], wanted))
        and (line := lines[place.line - 1]) != (bare := command_without_index(line, place.column))
    ):
        lines[place.line - 1] = bare
    elif is_of_pypi and build:
        text = f"{place}: {name} comes from PyPI: remove the index of {build} for it"
        return [Edit(place.file, text=text)]
    return []


def _is_named_by_now(
    index: str, file: _File, lines: list[str], texts: Mapping[str, list[str]]
) -> bool:
    """Return whether an index that a line needs is named by now: in its list, or for a bound."""
    if file.kind in YAML:
        return bool(index) and any(index in line for line in lines)
    others = (each for each in texts.values() if each is not lines)
    return bool(index) and not file.asks and any(index in line for each in others for line in each)


def _with_index(lines: list[str], at: int, index: str) -> None:
    """Put the index of a build of torch into the file: in place of another build's, or before."""
    end = "\r" if lines[at].endswith("\r") else ""
    for number, line in enumerate(lines):
        if is_index(line):
            lines[number] = index_line(line, index) + end
            return
    lines[at] = f"--extra-index-url {index}{end}\n{lines[at]}"


def diff_of(rewrite: Rewrite) -> str:
    """Return what becomes of a file, as a unified diff."""
    before, after = rewrite.source.text.split("\n"), rewrite.text.split("\n")
    name = rewrite.source.name
    found = difflib.unified_diff(before, after, name, name, lineterm="", n=1)
    return "\n".join(printable(line.rstrip("\r"), 4_000) for line in found)
