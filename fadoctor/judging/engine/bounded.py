"""Bound a range that a fix installs by what its releases need: this torch and this Python."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import msgspec

from fadoctor.judging.engine.fixes import command
from fadoctor.judging.engine.operators import is_below
from fadoctor.knowledge.matrix.versions import is_in, parse_version
from fadoctor.model.fact import Known

if TYPE_CHECKING:
    from fadoctor.knowledge.matrix.query import Matrix, Row
    from fadoctor.model.environment import Environment
    from fadoctor.model.fix import Step

_PYTHONS = "release-pythons"
# transformers>=4.49.0,<=5.24.0
_RANGE = re.compile(r"(?P<name>[A-Za-z][\w.-]{0,60}) ?(?P<range>>=\d[\w.,<>=! ]{0,80})")
# trl==0.14.0
_PIN = re.compile(r"(?P<name>[A-Za-z][\w.-]{0,60}) ?== ?(?P<version>\d[\w.]{0,30})")
_LOWER, _UPPER = re.compile(r">= ?([\d.]{1,20})"), re.compile(r"<=? ?([\d.]{1,20})")


def bounded_step(step: Step, environment: Environment, matrix: Matrix) -> Step | None:
    """Return a step whose ranges hold no release that needs another torch or Python.

    None where no release is left.
    """
    items = tuple(_bounded(item, environment, matrix) for item in step.items)
    if "" in items:
        return None
    if items == step.items:
        return step
    windows = environment.is_windows
    text = command(step.kind, items, step.options, step.index, windows=windows)
    return msgspec.structs.replace(step, items=items, text=text)


def another_python(step: Step, environment: Environment, matrix: Matrix) -> str:
    """Return what a step installs that no release for this Python is, and what it needs.

    As a sentence for a person; "" where this Python is not what is in the way.
    """
    here = environment.fact("python.version")
    if not isinstance(here, Known):
        return ""
    for item in step.items:
        found = _RANGE.fullmatch(item) or _PIN.fullmatch(item)
        low = _lowest(item)
        if found is None or not low:
            continue
        for row in _rows(found["name"], matrix, _PYTHONS):
            if is_in(low, str(row["version"])) and _needs_another(row, environment):
                return (
                    f"Make an environment with {_in_words(str(row['python']))} first, and run the"
                    f" next line there: {found['name']} {low} does not install on Python"
                    f" {here.value}."
                )
    return ""


def _lowest(item: str) -> str:
    pin = _PIN.fullmatch(item)
    low = _LOWER.search(item)
    return pin["version"] if pin else low[1] if low else ""


def _in_words(pythons: str) -> str:
    """Return a range of Pythons in words where it is a floor alone."""
    floor = _LOWER.fullmatch(pythons)
    return f"Python {floor[1]} or newer" if floor else f"a Python of {pythons}"


def _rows(name: str, matrix: Matrix, *tables: str) -> list[Row]:
    """Return rows of ranges of a package: of its own table, and of those of all packages."""
    found: list[Row] = []
    for title in tables or (f"{name.lower()}-releases", _PYTHONS):
        table = matrix.tables.get(title)
        if table is not None and table.keys.get("version") == "range":
            is_own = "package" not in table.keys
            found += [row for row in table.rows if is_own or row["package"] == name.lower()]
    return found


def _bounded(item: str, environment: Environment, matrix: Matrix) -> str:
    """Return a requirement below the first release that cannot work; "" where none is left."""
    pin = _PIN.fullmatch(item)
    if pin is not None:
        rows = [r for r in _rows(pin["name"], matrix, _PYTHONS) if _needs_another(r, environment)]
        return "" if any(is_in(pin["version"], str(row["version"])) for row in rows) else item
    found = _RANGE.fullmatch(item)
    rows = _rows(found["name"], matrix) if found else []
    if found is None or not rows:
        return item
    low, high = _LOWER.search(found["range"]), _UPPER.search(found["range"])
    needing = [row for row in rows if _needs_another(row, environment)]
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
