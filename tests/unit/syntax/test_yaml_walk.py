"""The walk down a tree of YAML: order, keys, states, aliases, bounds."""

from __future__ import annotations

import pytest

from fadoctor.syntax import yaml_walk
from fadoctor.syntax.tree import Node
from fadoctor.syntax.yaml_walk import descend


def node(value: object) -> Node:
    if isinstance(value, Node):
        return value
    if isinstance(value, dict):
        return Node({key: node(each) for key, each in value.items()}, 1, 1)
    if isinstance(value, list):
        return Node(tuple(map(node, value)), 1, 1)
    return Node(value, 1, 1)  # type: ignore[arg-type] # a scalar


def paths(tree: Node) -> list[str]:
    found = descend(tree, "", lambda _node, key, above: f"{above}/{key}")
    return [state for _, state in found]


def test_outer_mappings_first_in_the_order_of_the_file() -> None:
    tree = node({"a": {"b": {"c": 1}}, "d": [{"e": 2}, [{"f": 3}]], "g": {"h": 4}, "i": {}})
    assert paths(tree) == ["/", "//a", "//a/b", "//d", "//d", "//g"]


def test_what_an_alias_leads_to_is_met_once() -> None:
    shared = node({"x": 1})
    assert paths(node({"a": shared, "b": shared, "c": [shared]})) == ["/", "//a"]


@pytest.mark.parametrize(("limit", "count"), [(1, 1), (3, 3), (100, 21)])
def test_nodes_are_counted(limit: int, count: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(yaml_walk, "NODE_LIMIT", limit)
    tree = node({str(at): {"x": at} for at in range(20)})
    assert len(paths(tree)) == count


def test_depth_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(yaml_walk, "DEPTH_LIMIT", 2)
    assert paths(node({"a": {"b": {"c": {"d": 1}}}})) == ["/", "//a", "//a/b"]
