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

# transformers>=4.49.0,<=5.24.0
_RANGE = re.compile(r"(?P<name>[A-Za-z][\w.-]{0,60}) ?(?P<range>>=\d[\w.,<>=! ]{0,80})")
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


def _bounded(item: str, environment: Environment, matrix: Matrix) -> str:
    """Return a requirement below the first release that cannot work; "" where none is left."""
    found = _RANGE.fullmatch(item)
    table = matrix.tables.get(f"{found['name'].lower()}-releases") if found else None
    if found is None or table is None or table.keys.get("version") != "range":
        return item
    low, high = _LOWER.search(found["range"]), _UPPER.search(found["range"])
    needing = [row for row in table.rows if _needs_another(row, environment)]
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
