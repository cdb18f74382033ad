"""``pip list``, ``pip freeze``, ``pip show``, ``uv pip list`` and ``conda list``."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from fadoctor.sources.pasted.claims import COMPLETE, INSTALLER, Claim, Line

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

TOOL = "a list of packages"

# Package                   Version         Editable project location
_HEADER = re.compile(r"Package\s{1,120}Version(?:\s{1,60}[A-Z][\w ]{2,60})?")
_RULE = re.compile(r"-{3,120}(?:\s{1,8}-{3,200}){1,3}")
_ROW = re.compile(
    r"(?P<name>[A-Za-z0-9][\w.-]{0,100})\s{1,120}(?P<version>\d[\w.+!-]{0,80})(?:\s{1,60}\S[^\n]{0,300})?"
)
# flash-attn==2.8.3, flash-attn @ https://.../flash_attn-2.8.3+cu12torch2.8cxx11abiTRUE-cp312-...whl#sha256=..
_FROZEN = re.compile(r"(?P<name>[A-Za-z0-9][\w.-]{0,100})===?(?P<version>\d[\w.+!-]{0,80})")
_AT = re.compile(
    r"(?P<name>[A-Za-z0-9][\w.-]{0,100}) @ \S{0,1000}?/[A-Za-z0-9_.]{1,100}"
    r"-(?P<version>\d[\w.!]{0,40}(?:(?:\+|%2B)[\w.]{1,60})?)-\w{2,20}-\S{1,200}"
)
# # packages in environment at /opt/conda/envs/train:
_CONDA = re.compile(r"# packages in environment at \S[^\n]{0,300}:")
_CONDA_ROW = re.compile(
    r"(?P<name>[A-Za-z0-9_][\w.-]{0,100})\s{1,60}(?P<version>\d[\w.+!-]{0,80})"
    r"\s{1,60}(?P<build>\S{1,120})(?:\s{1,60}(?P<channel>\S{1,120}))?"
)
_OF_CONDA = {"pytorch": "torch"}
"""Names that conda has for what pip calls otherwise."""

_NAME = re.compile(r"Name: (?P<name>[A-Za-z0-9][\w.-]{0,100})")
# Name: flash_attn Version: 2.8.3, as a tracker folds it
_FOLDED = re.compile(
    r"Name: (?P<name>[A-Za-z0-9][\w.-]{0,100}) {1,4}Version: (?P<version>\d[\w.+!-]{0,80})"
)
_SHOWN = re.compile(r"Version: (?P<version>\d[\w.+!-]{0,80})")
_CUT = re.compile(
    r"\s{0,8}(?:\.{3}|…|\[\.{3}\]|\(.{0,20}(?:truncated|omitted|cut).{0,20}\))\s{0,4}",
    re.IGNORECASE,
)


def read(lines: Iterable[Line]) -> Iterator[Claim]:
    """Yield every package that is listed, and whether a list names all there are."""
    lines = tuple(lines)
    yield from _tables(lines)
    shown = ""
    for line in lines:
        text = line.text.strip()
        if found := _FROZEN.fullmatch(text) or _AT.fullmatch(text):
            version = found["version"].replace("%2B", "+")
            yield Claim(f"package:{found['name']}", version, line.number, "pip freeze")
        elif folded := _FOLDED.match(text):
            yield Claim(f"package:{folded['name']}", folded["version"], line.number, "pip show")
        elif name := _NAME.fullmatch(text):
            shown = name["name"]
        elif shown and (version_line := _SHOWN.fullmatch(text)):
            yield Claim(f"package:{shown}", version_line["version"], line.number, "pip show")
            shown = ""


def _tables(lines: tuple[Line, ...]) -> Iterator[Claim]:
    """Yield the rows below a header; a table that was not cut names all packages."""
    index = 0
    while index < len(lines):
        head = lines[index].text.strip()
        is_conda = _CONDA.fullmatch(head) is not None
        if not (is_conda or _HEADER.fullmatch(head)):
            index += 1
            continue
        index += 1
        rows, whole = 0, True
        while index < len(lines):
            text = lines[index].text.strip()
            if _CUT.fullmatch(text):
                whole = False
            elif not (_RULE.fullmatch(text) or text.startswith("#")):
                claim = _row(text, lines[index].number, is_conda=is_conda)
                if claim is None:
                    break
                rows += 1
                yield from claim
            index += 1
        if rows and whole:
            yield Claim(COMPLETE, True, lines[index - 1].number, TOOL)


def _row(text: str, line: int, *, is_conda: bool) -> list[Claim] | None:
    """Return what a row says, None where it is none."""
    found = (_CONDA_ROW if is_conda else _ROW).fullmatch(text)
    if found is None:
        return None
    name, by = found["name"], "pip"
    if is_conda and found["channel"] != "pypi":
        name, by = _OF_CONDA.get(name, name), "conda"
    claims = [Claim(f"package:{name}", found["version"], line, TOOL)]
    if name == "torch":
        claims.append(Claim(INSTALLER, by, line, TOOL))
    return claims
