"""``setup.cfg``: what setuptools takes from ``[options]``, and its extras."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fadoctor.sources.manifests.draft import Draft
from fadoctor.sources.manifests.entries import is_specifier
from fadoctor.sources.manifests.formats.ini_values import ini_values
from fadoctor.sources.manifests.planned import UNASKED, Setting
from fadoctor.sources.manifests.requirement_text import read_requirement, without_remark

if TYPE_CHECKING:
    from fadoctor.sources.manifests.formats.ini_values import IniValue
    from fadoctor.sources.manifests.planned import Manifest
    from fadoctor.sources.manifests.source import Source

KIND = "setup.cfg"
_LIMIT = 5_000
"""Requirements of one file."""


def recognises(name: str, _head: str) -> bool:
    """Say whether a file is one, by its name."""
    return name == KIND


def read(source: Source) -> Manifest:
    """Return what the project asks for, with the extras that were chosen."""
    draft = Draft(source, KIND)
    others: dict[str, list[str]] = {}
    lines: dict[str, int] = {}
    for each in ini_values(source):
        if (each.section, each.key) == ("options", "python_requires"):
            draft.python = _python(each, source)
        is_plain = (each.section, each.key) == ("options", "install_requires")
        is_extra = each.section == "options.extras_require"
        if not (is_plain or is_extra):
            continue
        if each.text.startswith(("file:", "%(")):
            draft.note(each.place.line, "references to other files are not followed")
            continue
        asked = read_requirement(without_remark(each.text), each.place, source)
        if is_plain or draft.takes_extra(each.key):
            draft.requirements.append(asked)
        else:
            lines.setdefault(each.key, each.place.line)
            others.setdefault(each.key, []).append(asked.name)
        if len(draft.requirements) > _LIMIT:
            raise source.error(f"more than {_LIMIT:,} requirements", line=each.place.line)
    for extra, names in others.items():
        shown = ", ".join(names[:8]) + (" and more" if len(names) > 8 else "")
        told = f"the extra {extra}{UNASKED} by default: {shown}; --extra {extra} takes it"
        draft.note(lines[extra], told)
    return draft.manifest()


def _python(each: IniValue, source: Source) -> Setting:
    if not is_specifier(each.text):
        raise source.error("is not a version range", line=each.place.line, key=each.key)
    return Setting(each.text, each.place)
