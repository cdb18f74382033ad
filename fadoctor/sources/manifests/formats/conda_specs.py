"""Lists of conda's packages, one a line: ``conda list``, with ``--export``, ``create --file``."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from fadoctor.model.place import Place
from fadoctor.sources.manifests.draft import Draft
from fadoctor.sources.manifests.formats.conda_spec import (
    CondaNames,
    add_spec,
    parse_spec,
)
from fadoctor.sources.manifests.formats.conda_torch import settle_torch
from fadoctor.sources.manifests.requirement_text import read_requirement

if TYPE_CHECKING:
    from fadoctor.sources.manifests.planned import Manifest
    from fadoctor.sources.manifests.source import Source

KIND = "conda list"
LINE_LIMIT = 20_000

# python=3.8.18, numpy=1.26.4=py311h64a7726_0, wandb, pip>=24
_LINE = re.compile(
    r"[A-Za-z0-9_][\w.-]{0,100}(?:=[\w*][^=\s]{0,100}(?:=[^=\s]{1,100})?|[<>]=?[\w.,<>=*]{1,60})?"
)
_SINGLE = re.compile(r"[A-Za-z0-9_][\w.-]{0,100}=[\w*]")
# torch=2.0.1=pypi_0
_OF_PIP = re.compile(r"(?P<name>[^=]{1,100})=(?P<version>[^=]{1,100})=pypi_\d{1,3}")
# the table that conda list prints
_PRINTED = re.compile(
    r"^# packages in environment at |^# Name[ ]{1,60}Version[ ]{1,60}Build", re.MULTILINE
)
_PRINTED_ROW = re.compile(
    r"(?P<name>[A-Za-z0-9_][\w.-]{0,100}) {1,60}(?P<version>[\w.+!-]{1,80}) {1,60}"
    r"(?P<build>[\w.+-]{1,120})(?: {1,60}\S{1,200})?"
)
_BUILT = re.compile(r"[^=\s]{1,100}=[^=\s]{1,100}=[^=\s]{1,100}")


def recognises(name: str, head: str) -> bool:
    """Say whether a text is such a list: one ``=`` before each version, as no other has it.

    A single line of that form among names is a mistake in a list of pip's.
    """
    if _PRINTED.search(head) and not name.lower().endswith((".yml", ".yaml")):
        return True
    if not name.lower().endswith((".txt", ".in", ".conda", ".list")):
        return False
    rows = head.split("\n")
    said = [row for row in map(_bare, rows[:-1] if len(rows) > 1 else rows) if row]
    singles = sum(1 for row in said if _SINGLE.match(row))
    is_of_conda = 2 * singles >= len(said) or any(map(_BUILT.fullmatch, said))
    return bool(singles) and is_of_conda and all(map(_LINE.fullmatch, said))


def read(source: Source) -> Manifest:
    """Return what the lines ask for; with the builds of all of them it is all that is there."""
    rows = source.text.splitlines()
    if len(rows) > LINE_LIMIT:
        raise source.error("a list that is too long")
    draft, names = Draft(source, KIND), CondaNames()
    is_printed = _PRINTED.search(source.head) is not None
    bare = _exported if is_printed else _bare
    said = {number: row for number, text in enumerate(rows, 1) if (row := bare(text))}
    for number, row in said.items():
        place = Place(source.name, number, 1)
        if by_pip := _OF_PIP.fullmatch(row):
            text = f"{by_pip['name']}=={by_pip['version']}"
            draft.requirements.append(read_requirement(text, place, source))
            continue
        spec = parse_spec(row)
        if spec is None:
            raise source.error("no package as conda has it", line=number, key=row[:60])
        if problem := add_spec(draft, names, spec, place):
            raise source.error(problem, line=number, key=row[:60])
    settle_torch(draft, ())
    draft.is_complete = all(map(_BUILT.fullmatch, said.values()))
    return draft.manifest()


def _exported(row: str) -> str:
    """Return a row of the printed table as an export has it; what is no row is left out."""
    found = _PRINTED_ROW.fullmatch(_bare(row))
    return f"{found['name']}={found['version']}={found['build']}" if found else ""


def _bare(row: str) -> str:
    return row.partition("#")[0].strip()
