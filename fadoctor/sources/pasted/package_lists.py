"""Lists of packages: of pip, uv, conda, poetry and others, with a head or without, whole or not."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from fadoctor.model.packages import FLASH_ATTN, PACKAGES
from fadoctor.sources.pasted.claims import (
    COMPLETE,
    INSTALLER,
    OF_CONDA,
    Claim,
    PastedLine,
    machine_facts,
)
from fadoctor.sources.pasted.names import distribution_of
from fadoctor.sources.pasted.requirement_lines import TOOL as UNMET
from fadoctor.sources.pasted.requirement_lines import requirement_lines
from fadoctor.sources.probes.metadata import normalise_name
from fadoctor.syntax.likely_lines import likely_numbers
from fadoctor.syntax.patterns import compiled

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from fadoctor.model.fact import Value

TOOL = "a list of packages"

# Package                   Version         Editable project location
_HEADER = compiled(r"Package\s{1,120}Version(?:\s{1,60}[A-Z][\w ]{2,60})?")
_RULE = compiled(r"-{3,120}(?:\s{1,8}-{3,200}){1,3}")
_ROW = compiled(
    r"(?P<name>[A-Za-z0-9][\w.-]{0,100})\s{1,120}(?P<version>\d[\w.+!-]{0,80})(?:\s{1,60}\S[^\n]{0,300})?"
)
# flash-attn==2.8.3, flash-attn @ https://.../flash_attn-2.8.3+cu12torch2.8cxx11abiTRUE-cp312-...whl#sha256=..
_FROZEN = compiled(r"(?P<name>[A-Za-z0-9][\w.-]{0,100})===?(?P<version>\d[\w.+!-]{0,80})")
_AT = compiled(
    r"(?P<name>[A-Za-z0-9][\w.-]{0,100}) @ \S{0,1000}?/[A-Za-z0-9_.]{1,100}"
    r"-(?P<version>\d[\w.!]{0,40}(?:(?:\+|%2B)[\w.]{1,60})?)-\w{2,20}-\S{1,200}"
)
# -cp311-cp311-linux_x86_64.whl, but not: -cp39-abi3-manylinux1_x86_64.whl, which fits others, too
_FITS = compiled(
    r"-cp3(?P<minor>\d{1,2})-cp3(?P=minor)(?P<free>t?)-(?:(?P<windows>win_amd64)"
    r"|(?:[\w.]{0,60}?linux[\w.]{0,30}?_)(?P<machine>x86_64|aarch64)|[\w.]{3,80})\.whl\b"
)
# # packages in environment at /opt/conda/envs/train:
_CONDA = compiled(r"# packages in environment at \S[^\n]{0,300}:")
_CONDA_ROW = compiled(
    r"(?P<name>[A-Za-z0-9_][\w.-]{0,100})\s{1,60}(?P<version>\d[\w.+!-]{0,80})"
    r"\s{1,60}(?P<build>\S{1,120})(?:\s{1,60}(?P<channel>\S{1,120}))?"
)
# cuda126_py312h_0, py3.11_cuda12.1_cudnn8.9.2_0
_BUILD_CUDA = compiled(r"cuda_?(?P<major>[0-9]{2})\.?(?P<minor>[0-9])(?![0-9])")

# py312_cu121, py3.12_cuda12.1_cudnn9.1.0_0
_BUILD_PYTHON = compiled(r"py3\.?(?P<minor>\d{1,2})(?=[_h])")

# Using Python 3.12.9 environment at: /opt/venv
_UV = compiled(r"Using Python (?P<version>3\.\d{1,2}\.\d{1,2}) environment at: \S[^\n]{0,300}")
# |-- torch [required: >=2.0, installed: 2.6.0]
_TREE = compiled(
    r"[\s|`+\\\u2502\u251c\u2514\u2500-]{0,60}(?P<name>[A-Za-z0-9][\w.-]{0,100}) "
    r"\[required: [^\]\n]{1,80}, installed: (?P<version>\d[\w.+!-]{0,80})\]"
)
# torch   2.6.0, torch (!) 2.6.0 and what it is for, as poetry has it
_LOOSE = compiled(
    r"[\s*|\u2502-]{0,8}(?P<name>[A-Za-z][\w.-]{1,100})(?P<gone>\s{1,60}\(!\))?"
    r"(?:\s{1,120}|\s{0,8}[|\u2502]\s{0,40})"
    r"v?(?P<version>\d{1,5}(?:\.\d{1,5}){1,3}[\w.+!-]{0,60})(?P<rest>(?:\s{1,60}|\s{0,8}[|\u2502])"
    r"[^\n]{0,300})?"
)
# py310h5f9d8c6_0, ha16c6d3_5, pypi_0, py3.10_cuda12.1_cudnn8.9.2_0
_BUILD = compiled(r"[\w.]{0,100}_\d{1,3}|py\w{3,60}")
# # Name                    Version                   Build  Channel
_CONDA_COLUMNS = compiled(r"# Name\s{1,60}Version\s{1,60}Build[^\n]{0,80}")
# $ pip list | grep torch | conda list torch | mamba list -n train "cuda"
_CHOSEN = compiled(
    r"\blist\b[^|\n]{0,80}\|\s{0,4}\S|\b(?:conda|mamba) list(?: -\w \S{1,60}){0,3} [\"'^]?[a-z]"
)
ABOVE, HEAD = 3, 4
"""Lines above a list in which its command stands, and those of its head."""

FEWEST = 2
"""Rows on end of names and versions that make a list without a head."""

_NAME = compiled(r"Name: (?P<name>[A-Za-z0-9][\w.-]{0,100})")
# Name: flash_attn Version: 2.8.3, as a tracker folds it
_FOLDED = compiled(
    r"Name: (?P<name>[A-Za-z0-9][\w.-]{0,100}) {1,4}Version: (?P<version>\d[\w.+!-]{0,80})"
)
_SHOWN = compiled(r"Version: (?P<version>\d[\w.+!-]{0,80})")
# $ pip show torch | grep Version
_GREPPED = compiled(
    r"\bpip3? show (?P<name>[A-Za-z0-9][\w.-]{0,100}) ?\|[^\n]{0,60}(?i:version)\W{0,4}$"
)
_CUT = compiled(
    r"\s{0,8}(?:\.{3}|…|\[\.{3}\]|\(.{0,20}(?:truncated|omitted|cut).{0,20}\))\s{0,4}",
    re.IGNORECASE,
)


_RARE = (_UV, _FROZEN, _AT, _FOLDED, _NAME, _GREPPED, _SHOWN)
"""What is asked of few lines: each holds words."""


def read(lines: Iterable[PastedLine]) -> Iterator[Claim]:
    """Yield every package that is listed, and whether a list names all there are."""
    lines = tuple(lines)
    claims = [*_tables(lines)]
    yield from claims
    yield from _without_head(lines, {claim.line for claim in claims})
    shown = ""
    rare = frozenset(likely_numbers((line.text for line in lines), *_RARE))
    for number, line in enumerate(lines):
        text = line.text.strip()
        if number not in rare:
            yield from _tree_or_unmet(line)
        elif used := _UV.fullmatch(text):
            yield Claim("python.version", used["version"], line.number, TOOL)
        elif told := tuple(_tree_or_unmet(line)):
            yield from told
        elif found := _FROZEN.fullmatch(text) or _AT.fullmatch(text):
            version = found["version"].replace("%2B", "+")
            yield Claim(f"package:{found['name']}", version, line.number, "pip freeze")
            if " @ " in text:
                yield from _of_wheel(normalise_name(found["name"]), text, line.number)
        elif folded := _FOLDED.match(text):
            yield Claim(f"package:{folded['name']}", folded["version"], line.number, "pip show")
        elif name := _NAME.fullmatch(text) or _GREPPED.search(text):
            shown = name["name"]
        elif shown and (version_line := _SHOWN.fullmatch(text)):
            yield Claim(f"package:{shown}", version_line["version"], line.number, "pip show")
            shown = ""


def _tree_or_unmet(line: PastedLine) -> Iterator[Claim]:
    """Yield what a branch of a tree says, or an installer of what does not fit."""
    if tree := _TREE.fullmatch(line.text.rstrip()):
        yield Claim(f"package:{tree['name']}", tree["version"], line.number, "pipdeptree")
    else:
        yield from _there(line.text.strip(), line.number)


def is_head(text: str) -> bool:
    """Return whether a line heads a list, or is a rule below its head."""
    plain = text.strip()
    return any(each.fullmatch(plain) for each in (_RULE, _HEADER, _CONDA_COLUMNS))


def _of_wheel(name: str, text: str, line: int) -> Iterator[Claim]:
    """Yield what the file that a package was installed from says of Python, as it fits there."""
    said: dict[str, Value] = {}
    if fit := _FITS.search(text):
        tag = f"cp3{fit['minor']}"
        said = {"python.tag": tag, "python.version": f"3.{fit['minor']}"}
        said["python.abi_tag"] = tag + fit["free"]
        if fit["windows"]:
            said |= machine_facts("windows", "amd64")
        elif fit["machine"]:
            said |= machine_facts("linux", fit["machine"])
    if name in PACKAGES[FLASH_ATTN]:
        said["flash_attn.direct_url"] = text.partition(" @ ")[2].partition("#")[0].strip()
    yield from (Claim(fact, value, line, "pip freeze") for fact, value in said.items())


def _there(text: str, line: int) -> Iterator[Claim]:
    """Yield the releases of which an installer, or a check, says that they do not fit."""
    for told in requirement_lines(text):
        if told.is_certain:
            said = ((told.asker, told.release), (told.needs, told.found))
            yield from (Claim(f"package:{n}", v, line, UNMET) for n, v in said if n and v)


def _without_head(lines: tuple[PastedLine, ...], told: set[int]) -> Iterator[Claim]:
    """Yield the rows of lists that have no head: a part of them, as grep leaves it."""
    run: list[Claim] = []
    marked: list[int] = []
    for line in lines:
        row = None if line.number in told else _LOOSE.fullmatch(line.text.rstrip())
        if row is not None and row["gone"]:
            marked.append(line.number)
        if row is not None and _is_row(row):
            run += _named_row(row, line.number)
            continue
        if _RULE.fullmatch(line.text.strip()):
            continue
        yield from _listed(run, marked)
        run, marked = [], []
    yield from _listed(run, marked)


def _is_row(row: re.Match[str]) -> bool:
    """Return whether a line is a row and not a sentence: its rest is a column, or nothing."""
    rest = (row["rest"] or "").split()
    between = row.string[row.end("name") : row.start("version")]
    return not rest or between != " " or _BUILD.fullmatch(rest[0]) is not None


def _named_row(row: re.Match[str], line: int) -> list[Claim]:
    name, rest = row["name"], (row["rest"] or "").split()
    if len(rest) in (1, 2) and _BUILD.fullmatch(rest[0]):
        return _of_conda(name, row["version"], rest[0], (*rest, "")[1], line)
    if name == "python":
        return [Claim("python.version", row["version"], line, TOOL)]
    return [Claim(f"package:{name}", row["version"], line, TOOL)]


def _listed(run: list[Claim], marked: list[int]) -> list[Claim]:
    """Return the claims of rows on end, if they are a list: one of them is of the stack.

    `marked`: the rows that poetry marks as locked, but not installed. Where all are, another
    environment was asked than the one that runs.
    """
    rows = {claim.line for claim in run}
    names = {claim.name.partition(":")[2] for claim in run}
    of_stack = any(distribution_of(name) for name in names)
    is_sure = any(claim.name == INSTALLER for claim in run)  # conda's row of torch has four columns
    if (len(rows) < FEWEST and not is_sure) or not of_stack:
        return []
    gone = set(marked) if rows - set(marked) else set[int]()
    return [
        Claim(each.name, None, each.line, each.tool) if each.line in gone else each for each in run
    ]


def _of_conda(name: str, version: str, build: str, channel: str, line: int) -> list[Claim]:
    """Return what a row of conda says; its own packages have names and builds of their own."""
    if channel == "pypi" or build.startswith("pypi_"):
        claims = [Claim(f"package:{name}", version, line, TOOL)]
        return [*claims, *([Claim(INSTALLER, "pip", line, TOOL)] if name == "torch" else [])]
    if name == "python":
        return [Claim("python.version", version, line, TOOL)]
    if name == "pytorch-cuda":
        return [Claim("torch.cuda", version, line, TOOL)]
    name = OF_CONDA.get(name, name)
    claims = [Claim(f"package:{name}", version, line, TOOL)]
    if python := _BUILD_PYTHON.match(build):
        minor = f"3.{python['minor']}"
        claims.append(Claim("python.version", minor, line, TOOL))
    if name != "torch":
        return claims
    claims.append(Claim(INSTALLER, "conda", line, TOOL))
    if found := _BUILD_CUDA.search(build):
        cuda = f"{found['major']}.{found['minor']}"
        claims.append(Claim("torch.cuda", cuda, line, TOOL))
    elif "cpu" in build:
        claims.append(Claim("torch.cuda", None, line, TOOL))
    return claims


def _tables(lines: tuple[PastedLine, ...]) -> Iterator[Claim]:
    """Yield the rows below a header; a table that was not cut names all packages."""
    index = 0
    while index < len(lines):
        head = lines[index].text.strip()
        is_conda = _CONDA.fullmatch(head) is not None
        if not (is_conda or _HEADER.fullmatch(head)):
            index += 1
            continue
        whole = _is_headed(lines[max(0, index - ABOVE) : index + HEAD], is_conda=is_conda)
        index += 1
        rows = 0
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


def _is_headed(around: tuple[PastedLine, ...], *, is_conda: bool) -> bool:
    """Return whether a list has its whole head, which grep leaves out, and no command cuts it."""
    texts = [line.text.strip() for line in around]
    rule = _CONDA_COLUMNS if is_conda else _RULE
    return any(map(rule.fullmatch, texts)) and not any(map(_CHOSEN.search, texts))


def _row(text: str, line: int, *, is_conda: bool) -> list[Claim] | None:
    """Return what a row says, None where it is none."""
    found = (_CONDA_ROW if is_conda else _ROW).fullmatch(text)
    if found is None:
        return None
    if is_conda:
        channel = found["channel"] or ""
        return _of_conda(found["name"], found["version"], found["build"], channel, line)
    claims = [Claim(f"package:{found['name']}", found["version"], line, TOOL)]
    if found["name"] == "torch":
        claims.append(Claim(INSTALLER, "pip", line, TOOL))
    return claims
