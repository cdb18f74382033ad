"""HCL as data, with its places."""

from __future__ import annotations

import pytest
from hypothesis import given as drawn
from hypothesis import strategies

from fadoctor.sources.configs.source import Source
from fadoctor.syntax.hcl_tree import read_hcl
from fadoctor.syntax.json_remarks import without_remarks
from fadoctor.syntax.tree import Node

TEXT = """\
# a remark
job "llm" {
  task "a" {
    config {
      args = [
        "--dtype", "bfloat16", /* kept apart */
      ]
    }
    env { A = "1" }
    env { A = "2" }
  }
}
on   = true
n    = 3 + 4
code = jsonencode([{ "image": "x\\ty" }])
text = <<-EOF
  first
    second
  EOF
last = 1.5
"""


def plain(node: Node) -> object:
    if node.mapping:
        return {key: plain(each) for key, each in node.mapping.items()}
    return [plain(each) for each in node.items] if node.items else node.scalar


def of(text: str) -> Node:
    return read_hcl(Source("a.tf", text))


def test_blocks_lists_and_texts() -> None:
    found = of(TEXT)
    assert plain(found) == {
        "job": {
            "task": {"config": {"args": ["--dtype", "bfloat16"]}, "env": [{"A": "1"}, {"A": "2"}]}
        },
        "on": True,
        "n": None,
        "code": [{"image": "x\ty"}],
        "text": "first\n  second\n",
        "last": 1.5,
    }
    args = found.get("job", "task", "config", "args")
    assert args is not None
    assert [(each.line, each.column) for each in args.items] == [(6, 9), (6, 20)]


@pytest.mark.parametrize("text", ["a {", "a = [", 'a = "', "a = <<EOF\nx", "}", "= = {", "a b c"])
def test_a_file_that_ends_early_is_no_error(text: str) -> None:
    assert isinstance(of(text), Node)


@pytest.mark.parametrize("text", ["/*" * 50_000, '"\\' * 50_000, "<<A\n" * 20_000, '"' * 50_000])
def test_what_is_not_closed_is_met_once(text: str) -> None:
    assert isinstance(of(text), Node)
    assert len(without_remarks(text)) == len(text)


@pytest.mark.parametrize("text", ["a {" * 5_000, "a = [" + "[" * 5_000, "f(" * 5_000])
def test_depth_is_bounded(text: str) -> None:
    assert isinstance(of(text), Node)


@drawn(strategies.text('a1"{}[]()=,:#/*\n <E', max_size=60))
def test_nothing_is_refused(text: str) -> None:
    assert isinstance(of(text), Node)
