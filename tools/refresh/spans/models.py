"""Which models and quantizations each release of transformers and vLLM has by name.

Read are literals of the sources: the pairs of transformers' configurations, the registry of vLLM's
architectures, and the methods of its quantization.
"""

from __future__ import annotations

import ast
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from packaging.version import Version

from tools.refresh.spans.span import Span, cells, spans

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from tools.refresh.wheel import Wheel

TABLE = "model-names"

_NAME = re.compile(r"[A-Za-z][\w.-]{1,80}")


@dataclass(frozen=True)
class Names:
    """What a package has by name, and where its wheels say so."""

    package: str
    kind: str
    oldest: Version
    """Older releases are not read."""
    files: re.Pattern[str]
    variables: re.Pattern[str]
    """The names of the literals."""
    parts: int
    """How many parts of its number a release shares with the next one that may break."""


NAMES = (
    Names(
        "transformers",
        "model-type",
        Version("4.30.0"),
        re.compile(r"transformers/models/auto/(?:configuration_auto|auto_mappings)\.py"),
        re.compile(r"CONFIG_MAPPING_NAMES"),
        1,
    ),
    Names(
        "vllm",
        "architecture",
        Version("0.4.0"),
        re.compile(r"vllm/model_executor/models/(?:__init__|registry)\.py"),
        re.compile(r"_(?!PREVIOUS|ROCM|PARTIAL|OOT|UNSUPPORTED)\w{0,60}MODELS"),
        2,
    ),
    Names(
        "vllm",
        "quantization",
        Version("0.5.0"),
        re.compile(r"vllm/model_executor/layers/quantization/__init__\.py"),
        re.compile(r"QUANTIZATION_METHODS|QuantizationMethods"),
        2,
    ),
)


def names_of(what: Names, wheel: Wheel) -> frozenset[str]:
    """Return what a release has by name; nothing where its sources say it in another form."""
    found: set[str] = set()
    for path in filter(what.files.fullmatch, wheel.names):
        found |= set(read_names(wheel.text(path), what.variables))
    return frozenset(found)


def read_names(source: str, variables: re.Pattern[str]) -> Iterator[str]:
    """Yield the strings that literals hold: keys, first ones of pairs, items of lists."""
    for node in ast.parse(source).body:
        match node:
            case ast.Assign(targets=[ast.Name(id=name)], value=value):
                pass
            case ast.AnnAssign(target=ast.Name(id=name), value=ast.expr() as value):
                pass
            case _:
                continue
        if variables.fullmatch(name):
            yield from filter(_NAME.fullmatch, _strings(value))


def _strings(value: ast.expr) -> Iterator[str]:
    match value:
        case ast.Dict(keys=keys):
            for key in keys:
                yield from _text(key)
        case ast.Call(args=arguments):
            for each in arguments:
                yield from _strings(each)
        case ast.Subscript(slice=inner):
            yield from _strings(inner)
        case ast.List(elts=items) | ast.Tuple(elts=items):
            for item in items:
                yield from _text(item.elts[0] if isinstance(item, ast.Tuple) else item)
        case _:
            pass


def _text(node: ast.expr | None) -> Iterator[str]:
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        yield node.value


def name_rows(what: Names, had: Mapping[Version, frozenset[str]]) -> list[str]:
    """Return the rows of one kind; what each release has is ``had``.

    The last of them has what all releases have. What came back is there since then.
    """
    had = _since_it_came_back(had)
    rows = [_row(what, span, max(had)) for span in spans(had)]
    always = frozenset.intersection(*had.values())
    return [*rows, _row_of_all(what, always, had)] if always else rows


def _since_it_came_back(
    had: Mapping[Version, frozenset[str]],
) -> dict[Version, frozenset[str]]:
    """Return what each release has, without what a later one lacks that comes back after it."""
    found: dict[Version, frozenset[str]] = {}
    seen: frozenset[str] = frozenset()
    ended: frozenset[str] = frozenset()
    for version in sorted(had, reverse=True):
        ended |= seen - had[version]
        found[version] = had[version] - ended
        seen |= found[version]
    return found


def _row_of_all(what: Names, names: frozenset[str], had: Mapping[Version, frozenset[str]]) -> str:
    oldest, newest = min(had), max(had)
    releases = f">={oldest},<{_end(what, newest, newest)}"
    told = f"package: {what.package}, kind: {what.kind}, name: {' '.join(sorted(names))}"
    return f'  - {{{told}, releases: "{releases}"}}\n'


def _row(what: Names, span: Span, newest: Version) -> str:
    names = f"package: {what.package}, kind: {what.kind}, name: {' '.join(span.names)}"
    return f"  - {{{names}, {cells(span, _end(what, span.first or newest, newest))}}}\n"


def _end(what: Names, first: Version, newest: Version) -> str:
    """Return before which release one is asked for: packages beside it may refuse a new major."""
    release = (first if what.parts == 1 else newest).release
    return ".".join(map(str, (*release[: what.parts - 1], release[what.parts - 1] + 1)))
