"""``tox.ini``: environments of tox, each a machine of its own that begins with a bare Python.

What an environment lists below ``deps`` is one call of pip; its commands follow.
"""

from __future__ import annotations

import re
import shlex
from contextlib import suppress
from typing import TYPE_CHECKING

from fadoctor.sources.manifests.commands.command_files import read_machines
from fadoctor.sources.manifests.commands.install_options import is_installer
from fadoctor.sources.manifests.formats.ini_values import ini_values
from fadoctor.sources.manifests.formats.yaml_units import Unit
from fadoctor.sources.manifests.planned import Setting
from fadoctor.sources.manifests.requirement_text import without_remark

if TYPE_CHECKING:
    from collections.abc import Iterable

    from fadoctor.sources.manifests.formats.ini_values import IniValue
    from fadoctor.sources.manifests.planned import Manifest
    from fadoctor.sources.manifests.source import Source

KIND = "tox.ini"
_BASE = "testenv"
_COMMANDS = ("commands_pre", "commands", "commands_post")
_NOTHING = "has no environment of tox that installs packages: no deps, no command that installs"
# {[testenv]deps}
_SHARED = re.compile(r"\{\[([^\]{}\n]{1,100})\](\w{1,40})\}")
# gpu: torch==2.6.0, py{310,311}-cuda,!cpu: xformers
_FACTOR = re.compile(r"([\w.!,{}-]{1,100})\s{0,9}:\s{1,9}(\S[^\n]{0,2000})")
_FOLDER = re.compile(r"\{(?:toxinidir|tox_root)\}[/\\]?")
_PYTHON = re.compile(r"(?:python|py)(3)\.?(\d{1,2})")


def recognises(name: str, _head: str) -> bool:
    """Say whether a file is one, by its name."""
    return name == KIND


def read(source: Source) -> Manifest:
    """Return what one environment installs; notes name the others."""
    sections: dict[str, list[IniValue]] = {}
    for each in ini_values(source):
        sections.setdefault(each.section, []).append(each)
    names = [name for name in sections if name == _BASE or name.startswith(f"{_BASE}:")]
    units = [_unit(name, sections) for name in names]
    return read_machines(source, units, KIND, _NOTHING)


def _unit(name: str, sections: dict[str, list[IniValue]]) -> Unit:
    own = sections[name]
    unit = Unit(name.partition(":")[2] or name, own[0].place.line)
    unit.is_bare = True
    given = {each.key for each in own}
    values = [*own, *(each for each in sections.get(_BASE, ()) if each.key not in given)]
    unit.python = _python(unit.name, values)
    _installs(unit, list(_lines(values, sections, "deps")))
    for key in _COMMANDS:
        for each in _lines(values, sections, key):
            text = each.text.lstrip("- ")
            if is_installer(text):
                _add(unit, each.place.line, _words(text))
    return unit


def _words(text: str) -> str:
    """Return a command as a shell reads it: tox starts it without one, so that < is a word."""
    with suppress(ValueError):
        return shlex.join(shlex.split(text))
    return ""


def _lines(
    values: Iterable[IniValue], sections: dict[str, list[IniValue]], key: str
) -> Iterable[IniValue]:
    """Yield the lines of a value, with those of a section that it refers to."""
    for each in values:
        if each.key != key:
            continue
        shared = _SHARED.fullmatch(each.text)
        if shared is None:
            yield each
            continue
        yield from (one for one in sections.get(shared[1], ()) if one.key == shared[2])


def _installs(unit: Unit, lines: list[IniValue]) -> None:
    """Add the packages as one command of pip that goes over their lines."""
    words: dict[int, str] = {}
    for each in lines:
        factor = _FACTOR.fullmatch(each.text)
        text = without_remark(_FOLDER.sub("", factor[2] if factor else each.text))
        if factor and factor[1] != unit.name:
            unit.notes.append((each.place.line, f"pip install {text}"))
        else:
            is_option = text.startswith("-")
            words[each.place.line] = text if is_option else "'" + text.replace("'", '"') + "'"
    last = max(words, default=0)
    for at, (line, text) in enumerate(sorted(words.items())):
        begin = "pip install " if not at else ""
        _add(unit, line, f"{begin}{text}{'' if line == last else ' ' + chr(92)}")


def _add(unit: Unit, line: int, text: str) -> None:
    before = unit.rows.get(line, "")
    unit.rows[line] = f"{before}; {text}" if before else text


def _python(name: str, values: list[IniValue]) -> Setting | None:
    """Return the Python of an environment: what it says, else what its name says."""
    said = [each for each in values if each.key in ("basepython", "base_python")]
    for text, place in ((each.text, each.place) for each in said):
        if found := _PYTHON.fullmatch(text):
            return Setting(f"=={found[1]}.{found[2]}.*", place)
    found = next(filter(None, map(_PYTHON.fullmatch, name.split("-"))), None)
    return Setting(f"=={found[1]}.{found[2]}.*", values[0].place) if found and values else None
