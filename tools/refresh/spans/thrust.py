"""Which header of thrust declares a name, by its headers in the wheels of CUDA."""

from __future__ import annotations

import re
from collections import defaultdict
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

TABLE = "thrust-includes"
PACKAGES = {"nvidia-cuda-cccl-cu12": "12.8.90", "nvidia-cuda-cccl": "13.0.85"}
"""A name has a row where the headers of all of these have it."""

_HEADER = re.compile(r"(?:.*/)?include/(?:cccl/)?(thrust/(?:iterator/)?[a-z]\w*\.h)")
_ASIDE = re.compile(
    r"//[^\n]*|/\*.*?\*/|^[ \t]*#(?:[^\n]*\\\n)*[^\n]*|\"[^\"\n]*\"|\\\n", re.DOTALL | re.MULTILINE
)
"""Comments, lines of the preprocessor, texts."""
_BEGIN, _END = re.compile(r"\bTHRUST_NAMESPACE_BEGIN\b"), re.compile(r"\bTHRUST_NAMESPACE_END\b")
_PART = re.compile(r"[{};]|[^{};]+")
_NAMESPACE = re.compile(r"(?:inline\s+)?namespace\s*(\w*)\s*\Z")
_TEMPLATE = re.compile(r"\btemplate\s*<")
_CLASS = re.compile(r"\b(?:class|struct)\s+(?:[A-Z_]+\s+)?(\w+)\s*(?:final\s*)?(?::|\Z)")
_USING = re.compile(r"\busing\s+(?:(\w+)\s*=|(?:::)?[\w:]*::(\w+)\s*\Z)")
_MACRO = re.compile(r"\b[A-Z_]{6,}\s*\(\s*\)")
"""A macro whose argument was a text: that something is deprecated."""
# static const detail::host_t host | THRUST_INLINE_CONSTANT detail::device_t device
_VARIABLE = re.compile(
    r"\A\s*(?:static\s+const(?:expr)?|constexpr|_?[A-Z_]+_CONSTANT)\s+[\w:]+\s+(\w+)\s*\Z"
)
_FUNCTION = re.compile(r"(?:\s|[*&>])(\w+)\s*\(")
_NO_FUNCTION = frozenset({"decltype", "noexcept", "operator", "alignas", "static_assert"})
_NAME = re.compile(r"[a-z]\w{2,59}")


def header_of(path: str) -> str | None:
    """Return how code includes a member of a wheel; None for what it does not include."""
    match = _HEADER.fullmatch(path)
    return match[1] if match else None


def declared_in(text: str) -> frozenset[str]:
    """Return what a header declares in the namespace thrust itself."""
    code = _BEGIN.sub(" namespace thrust { ", _ASIDE.sub(" ", text))
    return frozenset(
        name
        for segment in _segments(_END.sub(" } ", code))
        for name in _names(_without_templates(_MACRO.sub(" ", segment)))
        if _NAME.fullmatch(name)
    )


def _segments(code: str) -> Iterator[str]:
    """Yield the declarations that stand in the namespace thrust, and in none within it."""
    spaces: list[str | None] = []
    last = ""
    for part in _PART.findall(code):
        if part == "}":
            if spaces:
                spaces.pop()
        elif part in "{;":
            is_here = spaces == ["thrust"]
            space = _NAMESPACE.search(last) if part == "{" else None
            if part == "{":
                spaces.append(space[1] if space else None)
            if is_here and not space:
                yield last
        last = "" if part in "{};" else part


def _without_templates(segment: str) -> str:
    """Return a declaration without the parameters of its templates."""
    while match := _TEMPLATE.search(segment):
        depth, end = 0, len(segment)
        for place in range(match.end() - 1, len(segment)):
            depth += {"<": 1, ">": -1}.get(segment[place], 0)
            if depth == 0:
                end = place + 1
                break
        segment = f"{segment[: match.start()]} {segment[end:]}"
    return segment


def _names(segment: str) -> Iterator[str]:
    if match := _USING.search(segment):
        yield match[1] or match[2]
    elif match := _CLASS.search(segment) or _VARIABLE.search(segment):
        yield match[1]
    elif "friend" not in segment.split():
        name = next(
            (each for each in _FUNCTION.findall(f" {segment}") if each not in _NO_FUNCTION), None
        )
        if name and not name.isupper() and not name.startswith("_"):
            yield name


def include_rows(had: Sequence[Mapping[str, frozenset[str]]]) -> list[str]:
    """Return the rows of names that one header alone declares, in every release.

    ``had``: header -> the names that it declares, release by release.
    """
    owners = [_owners(each) for each in had]
    rows: dict[str, list[str]] = defaultdict(list)
    for name in sorted(set.intersection(*(set(each) for each in owners))):
        headers = {each[name] for each in owners}
        if len(headers) == 1:
            rows[headers.pop()].append(name)
    return [
        f"  - {{name: {' '.join(names)}, header: {header}}}\n"
        for header, names in sorted(rows.items())
    ]


def _owners(had: Mapping[str, frozenset[str]]) -> dict[str, str]:
    """Return name -> its header: the one that is called so, or the only one."""
    found: dict[str, list[str]] = defaultdict(list)
    for header in sorted(had):
        for name in had[header]:
            found[name].append(header)
    return {
        name: named[0] if (named := _named(name, headers)) else headers[0]
        for name, headers in found.items()
        if len(headers) == 1 or _named(name, headers)
    }


def _named(name: str, headers: Sequence[str]) -> list[str]:
    return [each for each in headers if each.rpartition("/")[2] == f"{name}.h"]
