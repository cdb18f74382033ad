"""Which files of a release an import may run: those that were followed, and what they name."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from fadoctor.sources.import_names.child._fadoctor_lower import lower
from fadoctor.sources.import_names.child._fadoctor_thin import blocks_of

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

Node = list[Any]

_NEVER = ("TYPE_CHECKING", "SLOW_IMPORT")
"""In a condition: what is imported there is imported lazily otherwise."""


def lowered(file: Path) -> dict[str, Any] | None:
    """Return what a file does at import; None where this Python cannot parse it."""
    try:
        return lower(file.read_bytes())
    except (OSError, SyntaxError, ValueError, RecursionError):
        return None


def with_named(followed: dict[Path, dict[str, Any]], place: Path) -> dict[Path, dict[str, Any]]:
    """Return the files that were followed, and those of the release that they may import.

    Another machine has other packages beside it, so that other branches are taken there.
    """
    found, waiting = dict(followed), list(followed)
    while waiting:
        file = waiting.pop()
        for other in _named(found[file]["body"], file.relative_to(place).parts, place):
            if other not in found and (code := lowered(other)) is not None:
                found[other] = code
                waiting.append(other)
    return found


def _named(block: list[Node], parts: tuple[str, ...], place: Path) -> Iterator[Path]:
    for node in block:
        if node[0] == "I":
            for name, _ in node[2]:
                yield from _files(name.split("."), place)
        elif node[0] == "F":
            base = list(parts[: len(parts) - node[2]]) if node[2] else []
            module = [*base, *filter(None, node[3].split("."))]
            yield from _files(module, place)
            for name, _ in node[4]:
                yield from _files([*module, name], place)
        elif node[0] == "?" and any(word in str(node[2]) for word in _NEVER):
            yield from _named(node[4], parts, place)
        else:
            for inner in blocks_of(node):
                yield from _named(inner, parts, place)


def _files(module: list[str], place: Path) -> Iterator[Path]:
    """Yield the files that the import of a module of this release runs."""
    for count in range(1, len(module) + 1):
        folder = place.joinpath(*module[:count])
        for file in (folder / "__init__.py", folder.with_suffix(".py")):
            if file.is_file():
                yield file
                break
