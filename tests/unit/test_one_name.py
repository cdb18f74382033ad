"""One word for one thing: two public classes share a name only if they are the same idea."""

from __future__ import annotations

import ast
from collections import defaultdict
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2] / "fadoctor"

SAME = {
    "Source": "a file, read: of configurations, of manifests, and as readers of syntax ask for it",
}
"""Name -> the idea that all classes of that name share. What is not here is taken once."""

ASKED = ("Asked", "Wanted", "Query", "Args")
"""Other words for what is asked of a part: its name ends with Request."""


def classes() -> dict[str, list[str]]:
    """Return the public classes of modules by name; scripts of other interpreters are apart."""
    found: dict[str, list[str]] = defaultdict(list)
    for path in sorted(ROOT.rglob("*.py")):
        name = path.relative_to(ROOT).as_posix()
        tree = ast.parse(path.read_text(encoding="utf-8"))
        # What is defined within a function is nobody else's.
        for node in tree.body if "child" not in path.parts else ():
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                found[node.name].append(name)
    return found


@pytest.mark.long
def test_no_two_public_classes_share_a_name() -> None:
    taken = {name: where for name, where in classes().items() if len(where) > 1}
    assert {name: where for name, where in taken.items() if name not in SAME} == {}
    assert sorted(taken) == sorted(SAME), "a name that is taken once needs no reason"


@pytest.mark.long
def test_what_is_asked_of_a_part_is_a_request() -> None:
    assert [name for name in classes() if name.endswith(ASKED)] == []
