"""What the headers of torch declare, minor release by minor release: macros, types, functions.

A name is gone where no header so much as names it, and new where the oldest releases do not.
"""

from __future__ import annotations

import re
from collections import defaultdict
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from tools.refresh.spans.headers import headers_in
from tools.refresh.spans.span import spans

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from packaging.version import Version

    from tools.refresh.names.archive import WheelSources

GONE, NEW = "torch-names-gone", "torch-names-new"

# What is left where `std` has a name, too: c10::variant went, std::variant is still named.
_WORD = re.compile(r"(?<!std::)\b[A-Za-z_]\w{3,59}")
_OUTER = re.compile(r"[A-Za-z]\w{2,58}[A-Za-z0-9]")
"""A name that other code uses: no member and no intrinsic of a compiler."""
_ASIDE = re.compile(
    r"//[^\n]*|/\*.*?\*/|^[ \t]*#[ \t]*include\b[^\n]*|\"[^\"\n]*\"", re.DOTALL | re.MULTILINE
)
"""Comments, what is included, and texts."""
_OF_STD = re.compile(r"\bstd::\s+")
_DECLARED = tuple(
    re.compile(pattern, re.MULTILINE)
    for pattern in (
        r"^[ \t]*#[ \t]*define[ \t]+(\w+)",
        # class TORCH_API Tensor : | enum class ScalarType : | struct Half {
        (
            r"\b(?:class|struct|enum|enum class|union)\s+(?:[A-Z][A-Z0-9_]*(?:\([^)\n]*\))?\s+)?"
            r"(\w+)\s*(?:final\s*)?[:{;]"
        ),
        r"\busing\s+(\w+)\s*=",
        r"\btypedef\b[^;{}()]{1,200}\b(\w+)\s*;",
        # inline bool is_cuda(const Tensor& t) | ::std::tuple<Tensor> qr(
        r"(?:^|[\n;{}])[ \t]*(?:[\w:<>,*&\[\]]+[ \t]+){1,8}[*&]?(\w+)[ \t]*\(",
    )
)
_FOR_EXTENSIONS = re.compile(
    r"c10/(?:core|cuda|macros|util)/.*|ATen/(?:core|cuda|detail)/.*|ATen/[^/]*"
    r"|torch/(?:extension|library|types)\.h|torch/headeronly/.*|torch/csrc/(?:stable|utils)/.*"
)
"""Headers from which extensions take names."""
_INNER = re.compile(r"/torch/csrc/(?:distributed|dynamo|inductor|jit|lazy|onnx|profiler)/")
"""Headers with so many words of their own that a name which is gone elsewhere is among them."""
_GENERATED = re.compile(
    r"ATen/(?:\w*Functions\w*|\w*Plumbing|\w*Declarations|\w*Operators\w*|\w*Type|TypeDefault"
    r"|core/(?:TensorBody|TensorMethods|\w*interned_strings\w*))\.h|.*/pythoncapi_compat\.h"
)
"""Headers that are written from the list of operators, or belong to another project."""
_LINE = 1_000
"""Letters of names in a row."""


@dataclass
class HeaderNames:
    """The names of one release."""

    named: frozenset[str]
    declared: frozenset[str]


@dataclass
class Reader:
    """Reads the headers of wheels; those that an earlier one had alike are not read again."""

    _known: dict[str, tuple[frozenset[str], frozenset[str]]] = field(default_factory=dict)

    def names(self, sources: WheelSources) -> HeaderNames:
        """Return what the headers of one wheel name and declare."""
        marks = sources.marks
        outer = (path for path in marks if not _INNER.search(path))
        paths = {path: header for path in outer for header in headers_in([path])}
        new = [path for path in paths if marks[path] not in self._known]
        for path, raw in sources.read_raw(new).items():
            self._known[marks[path]] = names_in(raw.decode("utf-8", "replace"))
        found = [(header, *self._known[marks[path]]) for path, header in paths.items()]
        return HeaderNames(
            frozenset().union(*(named for _, named, _ in found)),
            frozenset().union(*(declared for header, _, declared in found if _is_meant(header))),
        )


def _is_meant(header: str) -> bool:
    return _FOR_EXTENSIONS.fullmatch(header) is not None and not _GENERATED.fullmatch(header)


def names_in(text: str) -> tuple[frozenset[str], frozenset[str]]:
    """Return the words of a header outside of comments, and those of them that it declares."""
    code = _OF_STD.sub("std::", _ASIDE.sub(" ", text))
    named = frozenset(_WORD.findall(code))
    declared = {each for pattern in _DECLARED for each in pattern.findall(code)}
    return named, frozenset(each for each in named & declared if _OUTER.fullmatch(each))


def name_rows(had: Mapping[Version, list[HeaderNames]]) -> tuple[list[str], list[str]]:
    """Return the rows of the names that went, and of those that came.

    ``had``: what each wheel of a release has. Names that the wheel of one platform alone ever has
    are left out.
    """
    of_one = {
        name
        for wheels in had.values()
        for each in wheels[1:]
        for name in wheels[0].named ^ each.named
    }
    named = {version: wheels[0].named - of_one for version, wheels in had.items()}
    declared = frozenset().union(*(each.declared for wheels in had.values() for each in wheels))
    gone: dict[str, list[str]] = defaultdict(list)
    new: dict[str, list[str]] = defaultdict(list)
    for span in spans({version: names & declared for version, names in named.items()}):
        if span.last is None:
            new[f"first: {span.first}"] += span.names
        else:
            gone[f"last: {span.last}, gone: {span.gone}"] += span.names
    return list(_rows(gone)), list(_rows(new))


def _rows(groups: Mapping[str, Iterable[str]]) -> Iterator[str]:
    for cells, names in groups.items():
        line = ""
        for name in sorted(names):
            if len(line) + len(name) > _LINE:
                yield f"  - {{name: {line.strip()}, {cells}}}\n"
                line = ""
            line += f" {name}"
        yield f"  - {{name: {line.strip()}, {cells}}}\n"
