"""Say what wheels of frameworks tell beside METADATA, and what of theirs cannot be installed."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from packaging.specifiers import SpecifierSet
from packaging.version import Version

from fadoctor.knowledge.matrix.versions import parse_specifier
from fadoctor.model.packages import RELEASES, TRANSFORMERS
from tools.refresh.artefact import Value
from tools.refresh.derive import DerivedRow
from tools.refresh.derive_requires import clause_key, columns, file_of, needs_of
from tools.refresh.errors import FetchError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from tools.refresh.document import Document
    from tools.refresh.index import File, Index, Release

    Tables = Mapping[str, Document]

_ATTENTION = "unsloth/utils/attention_dispatch.py"
_GUARD = re.compile(r"\bV\.to\((?:flash|downcast)_dtype\)")
_BITSANDBYTES_MINIMUM = re.compile(r"^BITSANDBYTES_MIN_VERSION = \"([0-9.]{1,12})\"", re.MULTILINE)
_ZOO = "unsloth-zoo"
_LOWEST = re.compile(r"(?:>=|==)([0-9A-Za-z.]{1,40})")
_GUARD_MERGED = "2026-06-23"
"""The day on which the guard was merged: what was published before cannot have it."""

_UNSLOTH = columns(RELEASES["unsloth"][1], unbound=">=0", others=("torchvision", "torchaudio"))
_SGLANG = {
    "torch": ("torch",), "flashinfer": ("flashinfer-python",),
    "kernel": ("sglang-kernel", "sgl-kernel"), "flash_attn_4": ("flash-attn-4",),
    "transformers": ("transformers",), "xgrammar": ("xgrammar",),
}  # fmt: skip


def unsloth(release: Release, index: Index, tables: Tables) -> Iterator[DerivedRow]:
    """Derive ``unsloth-releases``: METADATA, and whether the source casts back what DoRA widens."""
    for row in _UNSLOTH(release, index, tables):
        file = file_of(release)
        guard = _dora_guard(index, file) if file else None
        cells = {**row.cells, **({"dora_guard": guard} if guard else {})}
        yield DerivedRow(row.version, row.keys, {**cells, TRANSFORMERS: _as_zoo(cells, index)})


def _as_zoo(cells: Mapping[str, Value], index: Index) -> Value:
    """Return a range of transformers from where each unsloth-zoo that may come begins."""
    own = cells[TRANSFORMERS]
    here, zoo = _LOWEST.search(own.text or ""), _LOWEST.search(cells["unsloth_zoo"].text or "")
    if own.text is None or here is None or zoo is None:
        return own
    releases = (r for v, r in index.releases(_ZOO).items() if v >= Version(zoo[1]))
    files = (file for each in releases if (file := file_of(each)) is not None)
    found = [_LOWEST.search(needs_of(index, file).get(TRANSFORMERS, "")) for file in files]
    least = min((Version(each[1]) if each else Version("0") for each in found), default=None)
    if least is None or least <= Version(here[1]):
        return own
    clauses = SpecifierSet(own.text.replace(here[0], f">={least}", 1))
    kept = (f"!={c.version}" for c in clauses if c.operator == "!=" and Version(c.version) > least)
    others = (str(c) for c in clauses if c.operator != "!=")
    told = ",".join(sorted({*kept, *others}, key=clause_key))
    return Value(told, f"{own.source}; {_ZOO} since {zoo[1]}")


def _dora_guard(index: Index, file: File) -> Value | None:
    if file.uploaded and file.uploaded < _GUARD_MERGED:
        return Value("false", f"{file.name}, published before the guard was merged")
    wheel = index.wheel(file)
    if _ATTENTION not in wheel.names:
        return None
    is_there = _GUARD.search(wheel.text(_ATTENTION)) is not None
    return Value(str(is_there).lower(), f"{file.name}, {_ATTENTION}")


def sglang(release: Release, index: Index, _: Tables) -> Iterator[DerivedRow]:
    """Derive ``sglang-releases``; older releases name the stack in the extra ``srt`` alone."""
    file = file_of(release)
    if file is None:
        return
    needs = needs_of(index, file)
    is_in_extra = "torch" not in needs
    if is_in_extra:
        needs = {**needs_of(index, file, "runtime_common"), **needs_of(index, file, "srt")}
    source = f"{file.name}, METADATA{', extra srt' if is_in_extra else ''}"
    cells = {
        column: Value(next((needs[name] for name in names if needs.get(name)), None), source)
        for column, names in _SGLANG.items()
    }
    cells["in_extra"] = Value("true" if is_in_extra else None, source)
    yield DerivedRow(release.version, {}, cells)


def lacking(index: Index, release: Release) -> list[str]:
    """Return the requirements of a release of which the index has nothing, without extras.

    Pre-releases count where a bound names one: installers take them then.
    """
    file = file_of(release)
    if file is None:
        return []
    return [
        f"{name}{bounds}"
        for name, bounds in sorted(needs_of(index, file).items())
        if bounds and not is_offered(index, name, bounds)
    ]


def is_offered(index: Index, name: str, bounds: str) -> bool:
    """Return whether the index has a release in a range; true where it cannot be asked."""
    allowed = parse_specifier(bounds)
    try:
        releases = index.releases(name).values()
    except FetchError:
        return True
    return allowed is None or any(
        allowed.contains(each.version)
        for each in releases
        if not all(file.yanked for file in each.files)
    )


def transformers_bitsandbytes(release: Release, index: Index, _: object) -> Iterator[DerivedRow]:
    """Derive the lowest bitsandbytes: the constant, which older releases do not have."""
    for file in release.wheels():
        name = "transformers/utils/import_utils.py"
        bound = _BITSANDBYTES_MINIMUM.search(index.wheel(file).text(name))
        value = Value(bound.group(1) if bound else None, f"{file.name}, {name}")
        yield DerivedRow(release.version, {}, {"minimum": value})
