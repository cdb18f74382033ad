"""What sources of a release, and the index itself, say of rows that people write."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from packaging.version import Version

from tools.refresh.cli import TABLES
from tools.refresh.drawn_cells import Row, Told, wheels_of, words
from tools.refresh.names.tables import rows_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tools.refresh.index import Index, Release
    from tools.refresh.wheel import Wheel

_FLASH = re.compile(r"^\s{4}_supports_flash_attn(?:_2)?\s{0,3}=\s{0,3}True", re.MULTILINE)
_RIGHT = re.compile(r"padding_side='right'|padding_side=\"right\"|padding side.{0,9}right")
_REGISTRIES = (
    "vllm/v1/attention/backends/registry.py", "vllm/attention/backends/registry.py",
    "vllm/platforms/interface.py", "vllm/attention/selector.py",
)  # fmt: skip
_ENUM = re.compile(
    r"^class (?:_Backend|AttentionBackendEnum)\b.*?(?=^\S|\Z)", re.MULTILINE | re.DOTALL
)
_MEMBER = re.compile(r"^    ([A-Z][A-Z0-9_]*)\s*=", re.MULTILINE)
_MODELS = 3
"""Models of one row and release."""


def _text(wheel: Wheel, name: str) -> str:
    return wheel.text(name) if name in wheel.names else ""


def _modeling(index: Index, release: Release, row: Row) -> Iterator[tuple[str, str]]:
    """Yield some models of a row, and the text of each one's file where there is one."""
    wheel = index.wheel(wheels_of(release)[0])
    found = 0
    for model in sorted(words(row["model"])):
        folder = model.replace("-", "_")
        text = _text(wheel, f"transformers/models/{folder}/modeling_{folder}.py")
        if text and found < _MODELS:
            found += 1
            yield model, text


def no_flash_attention(row: Row, release: Release, index: Index) -> Iterator[Told]:
    """Hold that no class of a model declares FlashAttention."""
    said = frozenset({str(row["fa2"]).lower()})
    for model, text in _modeling(index, release, row):
        yield Told(model, "fa2", said, frozenset({str(bool(_FLASH.search(text))).lower()}))


def padding_check(row: Row, release: Release, index: Index) -> Iterator[Told]:
    """Hold whether a model refuses padding on the right."""
    said = frozenset({str(row["refuses"]).lower().replace("absent", "false")})
    for model, text in _modeling(index, release, row):
        yield Told(model, "refuses", said, frozenset({str(bool(_RIGHT.search(text))).lower()}))


def backend_names(row: Row, release: Release, index: Index) -> Iterator[Told]:
    """Hold the names of backends against the enumeration of a release."""
    wheel = index.wheel(wheels_of(release)[0])
    for name in _REGISTRIES:
        match = _ENUM.search(_text(wheel, name))
        if match and (members := frozenset(_MEMBER.findall(match[0]))):
            yield Told("", "names", words(row["names"]), members)
            return


def entry_points(row: Row, release: Release, index: Index) -> Iterator[Told]:
    """Hold that a function is in its module: defined, assigned or imported there."""
    module, attribute = str(row["module"]), str(row["attribute"])
    made = module == "torch"  # its functions of C++ are in no text
    if not wheels_of(release) or made or "*" in module or ":" in module:
        return
    wheel = index.wheel(wheels_of(release)[0])
    place = module.replace(".", "/")
    text = _text(wheel, f"{place}.py") or _text(wheel, f"{place}/__init__.py")
    if text:
        last = re.escape(attribute.rpartition(".")[2])
        has = re.search(
            rf"(?:\bdef|\bclass|\bimport)\s[^\n]*\b{last}\b|^\s*{last}\b", text, re.MULTILINE
        )
        said = frozenset({attribute})
        yield Told(f"{module}.{attribute}", "attribute", said, said if has else frozenset())


def served(row: Row, release: Release, index: Index) -> Iterator[Told]:
    """Hold which releases the index serves under a name."""
    if "serves" in row:
        found = frozenset(map(str, index.releases(release.package)))
        yield Told("", "serves", words(row["serves"]), found)


def withdrawn(row: Row, release: Release, index: Index) -> Iterator[Told]:
    """Hold the releases that a table leaves out, between its oldest and its newest one."""
    if "table" not in row:
        return
    package, table = release.package, str(row["table"])
    listed = {
        Version(word)
        for each in rows_of(TABLES / f"{table}.yaml")
        if package in words(each.get("package", package))
        for word in words(each["version"])
    }
    between = (
        version
        for version in index.releases(package)
        if min(listed) < version < max(listed) and not version.is_prerelease
    )
    missing = frozenset(str(version) for version in between if version not in listed)
    yield Told("", "withdrawn", words(row.get("withdrawn")), missing)
