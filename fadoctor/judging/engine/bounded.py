"""Bound a range that a fix installs by what its releases need: this torch and this Python."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import msgspec

from fadoctor.judging.engine.fixes import command
from fadoctor.judging.engine.operators import is_below
from fadoctor.knowledge.matrix.fitting_release import (
    FittingSetting,
    bounds_on,
    is_listed,
    moved_with,
    refusing,
)
from fadoctor.knowledge.matrix.versions import is_in, parse_version
from fadoctor.model.fact import Known
from fadoctor.sources.targets.accepted_releases import setting_of

if TYPE_CHECKING:
    from fadoctor.knowledge.matrix.query import Matrix, Row
    from fadoctor.model.environment import Environment
    from fadoctor.model.fix import Step

_PYTHONS = "release-pythons"
# transformers>=4.49.0,<=5.24.0
_RANGE = re.compile(r"(?P<name>[A-Za-z][\w.-]{0,60}) ?(?P<range>>=\d[\w.,<>=! ]{0,80})")
# trl==0.14.0
_PIN = re.compile(r"(?P<name>[A-Za-z][\w.-]{0,60}) ?== ?(?P<version>\d[\w.]{0,30})")
# ctranslate2>=4.8.5,<5
_LISTED = re.compile(r"(?P<name>[A-Za-z][\w.-]{0,60}) ?(?P<range>[<>=!~][\w.,<>=!~* ]{1,80})")
_LOWER, _UPPER = re.compile(r">= ?([\d.]{1,20})"), re.compile(r"<=? ?([\d.]{1,20})")


def bounded_step(step: Step, environment: Environment, matrix: Matrix) -> Step | None:
    """Return a step whose ranges hold no release that needs another torch or Python.

    None where no release is left.
    """
    items = tuple(_bounded(item, environment, matrix) for item in step.items)
    if "" in items:
        return None
    items = _with_askers(items, environment, matrix)
    if not items:
        return None
    if items == step.items:
        return step
    windows = environment.is_windows
    text = command(step.kind, items, step.options, step.index, windows=windows)
    return msgspec.structs.replace(step, items=items, text=text)


def _with_askers(
    items: tuple[str, ...], environment: Environment, matrix: Matrix
) -> tuple[str, ...]:
    """Return requirements with newer releases of those installed packages that refuse them.

    Empty where such a package has no release that accepts them, too. That is told of packages of
    which a table has every release.
    """
    setting, asked, askers = _refused(items, environment, matrix)
    more = [
        f"{asker}=={release}" if release else ""
        for asker, name in askers.items()
        for release in [moved_with(asker, {name: asked[name]}, setting, matrix)]
    ]
    return (*items, *more) if all(more) and asked.keys().isdisjoint(askers) else ()


def _refused(
    items: tuple[str, ...], environment: Environment, matrix: Matrix
) -> tuple[FittingSetting, dict[str, str], dict[str, str]]:
    """Return what is there, which ranges are asked for, and which package refuses which of them."""
    found = [each for item in items if (each := _LISTED.fullmatch(item))]
    asked = {
        each["name"].lower(): each["range"] for each in found if is_listed(each["name"], matrix)
    }
    setting = setting_of(environment.facts) if asked else FittingSetting({})
    askers = {
        asker: name
        for name, text in asked.items()
        for asker in refusing(name, text, setting, matrix)
    }
    return setting, asked, askers


def refused_by(step: Step, environment: Environment, matrix: Matrix) -> str:
    """Return which installed package refuses what a step installs, and what accepts it.

    In sentences for a person; "" where none refuses it.
    """
    setting, asked, askers = _refused(step.items, environment, matrix)
    if not askers:
        return ""
    asker, name = next(iter(askers.items()))
    bound = bounds_on(name, setting, matrix)[asker]
    ends = (
        f"{asker} {setting.there[asker]} requires {name}{bound}, which {name}{asked[name]} breaks."
    )
    free = msgspec.structs.replace(setting, there={asker: setting.there[asker]})
    release = moved_with(asker, {name: asked[name]}, free, matrix)
    if not release:
        return f"{ends} The tables list no release of {asker} that accepts it."
    line = f"pip install {asker}=={release} '{name}{asked[name]}'"
    fits = f"{asker} {release} accepts it, but not all that is installed."
    return f"{ends} {fits} In a new environment: {line}"


def another_python(step: Step, environment: Environment, matrix: Matrix) -> str:
    """Return what a step installs that no release for this Python is, and what it needs.

    As a sentence for a person; "" where this Python is not what is in the way.
    """
    here = environment.fact("python.version")
    if not isinstance(here, Known):
        return ""
    for item in step.items:
        name, low = _lowest(item)
        for row in _refusing(name, environment, matrix, _PYTHONS):
            if is_in(low, str(row["version"])):
                return (
                    f"Make an environment with {_in_words(str(row['python']))} first, and run the"
                    f" next line there: {name} {low} does not install on Python {here.value}."
                )
    return ""


def _lowest(item: str) -> tuple[str, str]:
    """Return the package of a pin or a range, and the lowest release that it admits."""
    if pin := _PIN.fullmatch(item):
        return pin["name"], pin["version"]
    found, low = _RANGE.fullmatch(item), _LOWER.search(item)
    return (found["name"], low[1]) if found and low else ("", "")


def _in_words(pythons: str) -> str:
    """Return a range of Pythons in words where it is a floor alone."""
    floor = _LOWER.fullmatch(pythons)
    return f"Python {floor[1]} or newer" if floor else f"a Python of {pythons}"


def _refusing(name: str, environment: Environment, matrix: Matrix, *titles: str) -> list[Row]:
    """Return the rows of some tables whose releases of a package need another torch or Python."""
    found: list[Row] = []
    for title in titles:
        table = matrix.tables.get(title)
        if table is not None and table.keys.get("version") == "range":
            is_own = "package" not in table.keys
            found += [row for row in table.rows if is_own or row["package"] == name.lower()]
    return [row for row in found if _needs_another(row, environment)]


def _bounded(item: str, environment: Environment, matrix: Matrix) -> str:
    """Return a requirement below the first release that cannot work; "" where none is left."""
    pin = _PIN.fullmatch(item)
    if pin is not None:
        rows = _refusing(pin["name"], environment, matrix, _PYTHONS)
        return "" if any(is_in(pin["version"], str(row["version"])) for row in rows) else item
    found = _RANGE.fullmatch(item)
    if found is None:
        return item
    own = f"{found['name'].lower()}-releases"
    needing = _refusing(found["name"], environment, matrix, own, _PYTHONS)
    low, high = _LOWER.search(found["range"]), _UPPER.search(found["range"])
    if low is None or any(is_in(low[1], str(row["version"])) for row in needing):
        return "" if low is not None else item
    ends = [found_end[1] for row in needing if (found_end := _LOWER.search(str(row["version"])))]
    inside = [
        end
        for end in ends
        if is_below(low[1], end) and (high is None or is_below(end, high[1]) is not False)
    ]
    if not inside:
        return item
    end = min(inside, key=lambda text: parse_version(text) or text)
    return f"{found['name']}>={low[1]},<{end}"


def _needs_another(row: Row, environment: Environment) -> bool:
    torch, python = environment.fact("torch.version"), environment.fact("python.version")
    floor, pythons = row.get("torch"), row.get("python")
    if isinstance(torch, Known) and isinstance(floor, str) and is_below(torch.value, floor) is True:
        return True
    return (
        isinstance(python, Known)
        and isinstance(pythons, str)
        and is_in(str(python.value), pythons) is False
    )
