"""Commands that install, in files of other kinds: workflows, SkyPilot, compose, Kubernetes, make.

Each job, service, container or target is a machine of its own. The one that installs most of what
is judged is read; notes name the others.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from typing import TYPE_CHECKING

import msgspec

from fadoctor.knowledge.matrix.load import load_knowledge
from fadoctor.model.errors import InputError
from fadoctor.model.place import Place
from fadoctor.sources.manifests.commands.docker_installs import (
    FOR_A_CONDITION,
    Installs,
    shared_by,
)
from fadoctor.sources.manifests.commands.install_options import is_installer
from fadoctor.sources.manifests.commands.new_environment import (
    begins_empty,
    is_fresh,
    over_nothing,
)
from fadoctor.sources.manifests.draft import Draft
from fadoctor.sources.manifests.formats.environments import weight_of
from fadoctor.sources.manifests.formats.yaml_units import Unit, read_units
from fadoctor.sources.manifests.images import dockerfile
from fadoctor.sources.manifests.images.container_image import read_image
from fadoctor.sources.manifests.images.planned_stage import Stage
from fadoctor.sources.manifests.installed.isolated import marked
from fadoctor.sources.manifests.planned import (
    UNSEEN_BASE,
    UNSEEN_REST,
    Setting,
    is_unfollowed,
    open_image,
    unseen_image,
)
from fadoctor.sources.manifests.requirement_text import (
    is_local,
    read_address,
    read_requirement,
)
from fadoctor.syntax.dockerfile import Text
from fadoctor.syntax.hcl_tree import SUFFIXES
from fadoctor.syntax.recipes import image_of, is_recipes, recipe_script, recipes_of
from fadoctor.syntax.text_lines import line_starts

if TYPE_CHECKING:
    from fadoctor.sources.manifests.commands.docker_installs import Shared
    from fadoctor.sources.manifests.formats.yaml_units import Build
    from fadoctor.sources.manifests.planned import Manifest
    from fadoctor.sources.manifests.source import Source

KIND = "commands"
LENGTH_LIMIT = 1 << 18
UNIT_LIMIT = 200
_READ = (".yml", ".yaml", "devcontainer.json", *SUFFIXES)
_SHOWN = 5
_BY_DEFAULT = re.compile(r"(?:\A|(?<=/))Dockerfile\Z")
"""Docker takes ``dockerfile`` in its place where there is none."""
_NOTHING = (
    "has no command that installs packages, and no list of packages, as far as they can be "
    "followed. Looked for: pip, uv, conda, poetry, pdm and pixi in scripts, and the keys "
    "requirements, python_packages and pip"
)


class _Installed(msgspec.Struct, frozen=True):
    unit: Unit
    stage: Stage
    script: str

    @property
    def weight(self) -> tuple[int, int]:
        """How much of what is judged it installs."""
        return weight_of(self.stage.packages)

    @property
    def size(self) -> int:
        """How many packages it installs."""
        return len(self.stage.packages)


def recognises(name: str, head: str) -> bool:  # noqa: ARG001 -- the contract of all readers
    """Say whether a file may be one, by its name."""
    base = name.lower()
    return is_recipes(base) or base.endswith(_READ)


def read(source: Source) -> Manifest:
    """Return what the commands of one machine install, as far as they are known."""
    if len(source.text) > LENGTH_LIMIT:
        raise source.error("a file of commands that is too long")
    units = _recipes(source) if is_recipes(_base(source)) else read_units(source)
    return read_machines(source, units, KIND, _NOTHING)


def read_machines(source: Source, units: list[Unit], kind: str, nothing: str) -> Manifest:
    """Return what one machine installs; InputError with `nothing` where none installs anything."""
    shared = shared_by(source, load_knowledge().tables)
    found = [_installed(source, shared, unit) for unit in units[:UNIT_LIMIT]]
    told = [each for each in found if each.stage.packages]
    noted = [each for each in found if is_installer(each.script) or each.unit.notes]
    noted = [each for each in noted if each.stage.notes]
    if not told and not noted:
        raise source.error(nothing)
    chosen = max(told or noted, key=lambda each: (each.weight, each.size))
    draft = _draft(source, chosen, kind)
    others = [
        each.unit
        for each in told
        if each.weight > (0, 0) and each.stage.packages.keys() - chosen.stage.packages.keys()
    ]
    for unit in others[:_SHOWN]:
        draft.note(unit.line, f"{unit.name} installs apart from {chosen.unit.name}: not read")
    return draft.manifest()


def _base(source: Source) -> str:
    return source.name.replace("\\", "/").rpartition("/")[2].lower()


def _recipes(source: Source) -> list[Unit]:
    """Return the targets of a Makefile or a justfile; of another file all its lines as one."""
    base = _base(source)
    rows = recipe_script(base, source.text).split("\n")
    units = []
    for recipe in recipes_of(base, source.text):
        unit = Unit(recipe.name, recipe.line)
        unit.rows = {row + 1: rows[row] for row in recipe.rows if row < len(rows)}
        units.append(unit)
    if not units:
        units = [Unit("this file", 1)]
        units[0].rows = dict(enumerate(rows, 1))
        image, line = image_of(base, source.text)
        units[0].image = Setting(image, Place(source.name, line, 1)) if image else None
    return units


def _installed(source: Source, shared: Shared, unit: Unit) -> _Installed:
    """Return what a unit holds in the end."""
    stage = Stage()
    stage.python = unit.python
    if unit.image is not None:
        said = read_image(unit.image.value, unit.image.place, shared.matrix.tables)
        stage.install(said.requirements)
        stage.facts, stage.image = dict(said.facts), unit.image
        stage.python = stage.python or said.python
        note = open_image if "$" in unit.image.value else unseen_image
        if not said.is_known:
            stage.note(unit.image.place.line, note(unit.image.value[:160]))
    if unit.build is not None:
        _take_build(shared, stage, unit.build)
    stage.variables |= unit.variables
    _take_lists(source, stage, unit)
    script = "\n".join(unit.rows.values())
    if is_installer(script):
        Installs(shared, stage, _Lines(source, unit)).run(script)
    for line, text in unit.notes:
        if is_installer(text):
            stage.note(line, f"{FOR_A_CONDITION}, so not followed: {text.strip()[:160]}")
    return _Installed(unit, stage, script)


def _take_build(shared: Shared, stage: Stage, build: Build) -> None:
    """Begin with what a Dockerfile builds; a note says why it is not read."""
    line = build.place.line
    try:
        source = shared.files.read(build.file, _BY_DEFAULT.sub("dockerfile", build.file))
        built = dockerfile.read_built(source, build.target, build.arguments)
    except InputError as error:
        stage.note(line, f"{build.file} is not read: {error.problem}")
        return
    stage.take(built, line)
    stage.python, stage.image = built.python or stage.python, built.image
    stage.indexes += built.indexes


class _Lines(Text):
    """The lines of a unit as one text, in the order in which they run."""

    def __init__(self, source: Source, unit: Unit) -> None:
        super().__init__(source, [])
        self.text = "\n".join(unit.rows.values())
        self._file, self._rows = source.name, tuple(unit.rows)
        self._starts_of_rows = line_starts(self.text)

    def place(self, index: int) -> Place:
        """Return where a character stands in the file: what needs a target may stand above it."""
        row = bisect_right(self._starts_of_rows, index) - 1
        column = index - self._starts_of_rows[row] + 1
        return Place(self._file, self._rows[row], column)


def _take_lists(source: Source, stage: Stage, unit: Unit) -> None:
    """Install the lists of packages of a unit; a local path is none."""
    found = []
    for text, place in unit.wishes:
        if text.lstrip().startswith("-"):
            stage.note(place.line, f"not followed: {text[:160]}")
        elif is_local(text) or ("://" in text and " @ " not in text):
            found += [asked] if (asked := read_address(text, place)) is not None else []
        else:
            found.append(read_requirement(text, place, source))
    stage.install(marked(found))


def _draft(source: Source, chosen: _Installed, kind: str) -> Draft:
    """Return what is read of the unit that is chosen."""
    stage, draft = chosen.stage, Draft(source, kind)
    # a list without commands is one call of pip, which heeds all of it
    draft.is_in_steps = is_installer(chosen.script) or stage.image is not None
    draft.requirements = [each for asked in stage.packages.values() for each in asked]
    draft.constraints, draft.indexes = stage.constraints, list(stage.indexes)
    draft.python, draft.facts, draft.image = stage.python, stage.facts, stage.image
    draft.later, draft.early, draft.steps = stage.later, stage.early, stage.steps
    for line, note in stage.notes:
        draft.note(line, note)
    is_empty = (
        is_fresh(chosen.script)
        or chosen.unit.is_bare
        or (is_recipes(_base(source)) and begins_empty(chosen.script, draft.requirements))
    )
    if stage.image is None and is_empty:
        draft.requirements, unread = over_nothing(chosen.script, stage, draft, [*chosen.unit.rows])
        draft.notes += unread
    elif stage.image is None and not chosen.unit.wishes:
        draft.notes.append(UNSEEN_BASE)
    elif any(map(is_unfollowed, draft.notes)):
        draft.notes.append(UNSEEN_REST)
    return draft
