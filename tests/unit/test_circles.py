"""Files that import each other, types and late imports included, say at their top why."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path

import grimp

ROOT = Path(__file__).parents[2]
_SAYS_WHY = "# A circle ", "# Circles "


def circles() -> list[list[str]]:
    """Return the modules of each circle: all that reach each other."""
    graph = grimp.build_graph("fadoctor")
    # What nothing imports, or what imports nothing that is left, is in no circle.
    left = {each: graph.find_modules_directly_imported_by(each) for each in graph.modules}
    while ends := {each for each, imported in left.items() if not imported & left.keys()}:
        left = {each: imported for each, imported in left.items() if each not in ends}
    found = []
    while left:
        start = min(left)
        away = graph.find_upstream_modules(start) & graph.find_downstream_modules(start)
        found += [sorted({start, *away})] if away else []
        left = {each: imported for each, imported in left.items() if each not in {start, *away}}
    return found


def test_each_circle_of_files_says_why() -> None:
    silent = [circle for circle in circles() if not any(map(says_why, circle))]
    assert silent == [], "break it, or begin a file of it with a comment: # A circle with ..."


def says_why(module: str) -> bool:
    spec = find_spec(module)
    assert spec is not None
    assert spec.origin is not None
    head = Path(spec.origin).read_text("utf-8").partition("\nfrom __future__")[0]
    return any(line.startswith(_SAYS_WHY) for line in head.splitlines())
