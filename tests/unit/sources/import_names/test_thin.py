"""What is left out of a lowered module, and what must stay."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from fadoctor.sources.import_names.child._fadoctor_lower import lower

if TYPE_CHECKING:
    from collections.abc import Callable


def asked(source: str) -> list[str]:
    """Return the questions ``a.b`` that are left of a source, in order."""
    found: list[str] = []

    def walk(node: Any) -> None:
        if isinstance(node, list) and node:
            if node[0] == "a" and len(node) == 4 and node[2][:1] == ["n"]:
                found.append(f"{node[2][1]}.{node[3]}")
            for each in node:
                walk(each)

    walk(lower(source.encode())["body"])
    return found


@pytest.mark.parametrize(
    ("source", "left"),
    [
        ("def f(x: a.B): ...\ndef g(x: a.B): ...", ["a.B"]),
        ("def f(x: a.B): ...\nclass C(a.B):\n  def g(self, x: a.B): ...", ["a.B"]),
        ("def f(x: a.B): ...\nimport a\ndef g(x: a.B): ...", ["a.B", "a.B"]),
        ("def f(x: a.B): ...\nfrom b import *\ndef g(x: a.B): ...", ["a.B", "a.B"]),
        ("def f(x: a.B): ...\nif y:\n  a = 1\ndef g(x: a.B): ...", ["a.B", "a.B"]),
        ("if y:\n  def f(x: a.B): ...\ndef g(x: a.B): ...", ["a.B", "a.B"]),
        ("def g(x: a.B): ...\nif y:\n  def f(x: a.B): ...", ["a.B"]),
        ("try:\n  def f(x: a.B): ...\nexcept E:\n  pass\ndef g(x: a.B): ...", ["a.B", "a.B"]),
        ("def f(x: a.B): ...\nclass C:\n  a = 1\n  def g(self, x: a.B): ...", ["a.B", "a.B"]),
        ("for a in y: ...\ndef f(x: a.B): ...\ndef g(x: a.C): ...", ["a.B", "a.C"]),
        ("def f(x: a.B): ...\nwith y as a:\n  z = 1\ndef g(x: a.B): ...", ["a.B", "a.B"]),
        ("def f(x: a.B): ...\nc = a.B", ["a.B", "a.B"]),
    ],
)  # fmt: skip
def test_a_question_is_asked_once_where_nothing_changed_between(
    source: str, left: list[str]
) -> None:
    assert asked(source) == left


def class_names(source: str) -> list[str]:
    [node] = [each for each in lower(source.encode())["body"] if each[0] == "C"]
    return [
        each[2] if each[0] == "D" else each[2][0][1] for each in node[4] if each[0] in "DA"
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("body", "kept"),
    [
        ("def f(self): ...\n  x = 1", []),
        ("x = 1\n  y = x", ["x"]),
        ("def f(self): ...\n  g = property(f)", ["f", "g"]),
        ("x = 1\n  if x:\n    from b import c", ["x"]),
        ("x = ask()", ["x"]),
        ("x = a.B", ["x"]),
        ("global x\n  x = 1", ["x"]),
        ("@deco\n  def f(self): ...", []),
        ("@a.deco\n  def f(self): ...", ["f"]),
    ],
)
def test_names_that_nothing_in_a_class_reads_are_left_out(body: str, kept: list[str]) -> None:
    assert class_names(f"class C:\n  {body}") == kept


def test_an_answer_is_the_same_behind_a_name_that_a_class_reads(
    told: Callable[..., list[str]],
) -> None:
    asker = "import provider\nclass C:\n  flag = True\n  if flag:\n    from provider import Gone"
    assert told(asker) == ["asker/__init__.py:5 provider Gone"]
    asker = "import provider\nclass C:\n  flag = False\n  if flag:\n    from provider import Gone"
    assert told(asker) == []


def test_a_function_that_is_called_keeps_what_it_does(told: Callable[..., list[str]]) -> None:
    asker = "import provider\ndef late(x=3):\n  return x == 3\nif late():\n  provider.Gone"
    assert told(asker) == ["asker/__init__.py:5 provider Gone"]
    unasked = "import provider\ndef late(x=3):\n  return x == 4\nif late():\n  provider.Gone"
    assert told(unasked) == []
