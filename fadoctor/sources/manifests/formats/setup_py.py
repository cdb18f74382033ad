"""``setup.py``: what it gives to ``setup``, by its syntax tree; nothing of it is run."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from fadoctor.model.errors import InputError
from fadoctor.model.place import Place
from fadoctor.sources.manifests.draft import Draft, listed_in, only_named
from fadoctor.sources.manifests.entries import is_specifier
from fadoctor.sources.manifests.formats import script
from fadoctor.sources.manifests.formats.listed_beside import listed_beside
from fadoctor.sources.manifests.installed.isolated import marked
from fadoctor.sources.manifests.planned import Setting
from fadoctor.sources.manifests.requirement_text import read_requirement, without_remark
from fadoctor.sources.scripts.python_calls import read_calls

if TYPE_CHECKING:
    from fadoctor.sources.manifests.planned import Manifest, Requirement
    from fadoctor.sources.manifests.source import Source
    from fadoctor.sources.scripts.python_calls import Argument, Found

KIND = "setup.py"
_WANTED = frozenset(("setup",))
# the name of a list in quotes: requirements.txt, requirements/base.txt
_LIST = re.compile(
    r"[\"']((?:[\w.-]{1,80}/){0,4}(?:requirements?|base)[\w.-]{0,60}\.(?:txt|in))[\"']"
)
_NAMES = ("setup", "setuptools.setup", "distutils.core.setup")


def recognises(name: str, _head: str) -> bool:
    """Say whether a file is one, by its name."""
    return name == KIND


def read(source: Source) -> Manifest:
    """Return what the project asks for, with the extras that were chosen.

    InputError where it is no Python. Starts one process, which has limits on time and memory.
    """
    text = source.text.replace("\r\n", "\n").replace("\r", "\n")
    found = read_calls(text, source.name, _WANTED).found
    call = next((each for each in found if each.name in _NAMES and each.form == "call"), None)
    if call is None or call.argument("install_requires", "extras_require") is None:
        return script.read(source)
    draft = Draft(source, KIND)
    _plain(source, draft, call)
    _extras(source, draft, call)
    python = call.argument("python_requires")
    said = python.value.literal if python is not None else None
    if python is not None and isinstance(said, str) and is_specifier(said):
        draft.python = Setting(said, Place(source.name, python.line, python.column))
    draft.requirements = marked(draft.requirements)
    return draft.manifest()


def _plain(source: Source, draft: Draft, call: Found) -> None:
    """Take the list of the call, or the only list beside that the script names."""
    given = call.argument("install_requires")
    if given is None:
        return
    named = set(_LIST.findall(source.text))
    if given.value.kind != "list" and len(named) == 1:
        draft.requirements += listed_beside(source, draft, given.line, named.pop())
    else:
        draft.requirements += _listed(source, draft, given, "install_requires")


def _extras(source: Source, draft: Draft, call: Found) -> None:
    """Take the extras that were chosen, and note the others."""
    given = call.argument("extras_require")
    if given is None:
        return
    if given.value.kind != "mapping" or given.value.open:
        draft.note(given.line, "extras_require is computed: not all of it is read")
    for each in given.value.items:
        name = str(each.key)
        asked = listed_in(_listed(source, draft, each, f"the extra {name}"), "extra", name)
        if draft.takes_extra(name):
            draft.requirements += asked
        else:
            draft.aside += asked
            only_named(draft, each.line, f"the extra {name}", [one.name for one in asked])


def _listed(source: Source, draft: Draft, given: Argument, what: str) -> list[Requirement]:
    """Return the requirements of a list; a note says where more of it is computed."""
    items = given.value.items if given.value.kind == "list" else ()
    texts = [each for each in items if isinstance(each.value.literal, str)]
    if given.value.kind != "list" or given.value.open or len(texts) < len(items):
        draft.note(given.line, f"{what} is computed: not all of it is read")
    found = []
    for each in texts:
        place = Place(source.name, each.line or given.line, each.column)
        try:
            found.append(read_requirement(without_remark(str(each.value.literal)), place, source))
        except InputError as error:
            draft.note(place.line, error.problem)
    return found
