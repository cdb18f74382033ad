"""Fixes that install what has no file for Linux on ARM, where a text is about such a machine."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from fadoctor.judging.explain.fixes.shown_places import names_arm
from fadoctor.model.fact import fact_text
from fadoctor.model.fix import Fix, Safety, Step, StepKind
from fadoctor.syntax.patterns import compiled

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from fadoctor.judging.engine.scope import Scope
    from fadoctor.model.rule import Table

TABLE = "files-missing-on-arm"
EVERY = "*"
"""The release of a row that is about all releases of a package."""

_ARM = "aarch64"
_NAME = compiled(r"[\[=<>~! ;]")
# pip install --no-deps xformers==0.0.30, but not: pip install --no-build-isolation git+https://...
_INSTALLS = compiled(r"\bpip3? install\b(?P<rest>[^\n;|&]{0,200})")
_COMPILES = compiled(r"--no-build-isolation|--no-binary|git\+|jetson")


def without_missing(fixes: tuple[Fix, ...], scope: Scope, lines: Sequence[str]) -> tuple[Fix, ...]:
    """Return fixes; those that install what ARM has no file of are one that says so."""
    table = scope.matrix.tables.get(TABLE)
    if table is None or not _is_on_arm(scope, lines):
        return fixes
    rows = dict(_of_every_release(table))
    kept: list[Fix] = []
    told: set[str] = set()
    for fix in fixes:
        name = next((name for name in rows if _installs(fix, name)), "")
        if not name:
            kept.append(fix)
        elif name not in told:
            told.add(name)
            kept.append(_instead(name, rows[name]))
    return tuple(kept)


def _is_on_arm(scope: Scope, lines: Sequence[str]) -> bool:
    platform = fact_text(scope.environment.fact("host.platform"), "")
    return platform.endswith(_ARM) or names_arm(lines)


def _of_every_release(table: Table) -> Iterator[tuple[str, str]]:
    for row in table.rows:
        if row["version"] == EVERY and row.get("instead"):
            yield str(row["package"]), str(row["instead"])


def _installs(fix: Fix, name: str) -> bool:
    """Return whether a fix installs a ready-made file of a package by itself."""
    word = re.compile(rf"(?<![\w./-]){re.escape(name)}(?![\w-])")
    for step in fix.steps:
        if step.kind is StepKind.INSTALL:
            names = {_NAME.split(item, maxsplit=1)[0] for item in step.items}
            if name in names and not _COMPILES.search(" ".join(step.options)):
                return True
        for found in _INSTALLS.finditer(step.text):
            if word.search(found["rest"]) and not _COMPILES.search(found["rest"]):
                return True
    return bool(word.search(fix.title)) and fix.title.startswith("Install ")


def _instead(name: str, text: str) -> Fix:
    title = f"Compile {name} on this machine, or leave it out, as it has no file for ARM"
    return Fix("without-a-file-for-arm", title, Safety.SAFE, (Step(StepKind.ADVICE, text),))
