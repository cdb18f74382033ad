"""Say beside a fix that installs a newer torch what that breaks in the program of the text."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import msgspec

from fadoctor.knowledge.matrix.versions import is_older
from fadoctor.model.fix import Step, StepKind
from fadoctor.syntax.patterns import compiled

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from fadoctor.model.fix import Fix
    from fadoctor.model.rule import Table

TABLE = "newer-torch-breaks"
# torch==2.7.1+cu128, but neither torch==2.* nor pytorch==2.5
_INSTALLED = compiled(r"(?<![\w-])torch==(?P<version>\d\.\d{1,2})(?![\d*])")


def with_breaks(
    fixes: tuple[Fix, ...], texts: Sequence[str], tables: Mapping[str, Table]
) -> tuple[Fix, ...]:
    """Return fixes with what a torch that they install breaks, as the table tells it."""
    if TABLE not in tables or not any(map(_releases, fixes)):
        return fixes
    text = "\n".join(texts)
    rows = [
        (str(row["program"]), str(row["since"]), str(row["says"]))
        for row in tables[TABLE].rows
        if re.search(str(row["shows"]), text, re.ASCII)
        and not (row.get("unless") and re.search(str(row["unless"]), text, re.ASCII))
    ]
    return tuple(_told(fix, rows) for fix in fixes) if rows else fixes


def _told(fix: Fix, rows: Sequence[tuple[str, str, str]]) -> Fix:
    releases = _releases(fix)
    said = "\n".join((fix.title, *(step.text for step in fix.steps)))
    more = [
        Step(StepKind.ADVICE, says)
        for program, since, says in rows
        if releases and not any(is_older(each, since) for each in releases) and program not in said
    ]
    return msgspec.structs.replace(fix, steps=(*fix.steps, *more)) if more else fix


def _releases(fix: Fix) -> list[str]:
    """Return the minor releases of torch that a fix installs, in its commands and in its words."""
    return [found["version"] for step in fix.steps for found in _INSTALLED.finditer(step.text)]
