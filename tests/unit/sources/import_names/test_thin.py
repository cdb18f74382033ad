"""What is left out of a lowered module, and what must stay."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from fadoctor.sources.import_names.child import _fadoctor_lower as parsing
from fadoctor.sources.import_names.child._fadoctor_blank import without_bodies
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


METHODS = (
    "class C:\n    def f(self, x: O[a.B]):\n        y\n%s    def g(self, x: O[a.B]):\n        z\n"
)


@pytest.mark.parametrize(
    ("between", "left"),
    [
        ("", ["a.B"]),
        ("    def h(self, x: a.D = None): z\n", ["a.B", "a.D"]),
        ("    y = a.E\n", ["a.B", "a.E"]),
        ("    a = 1\n", ["a.B", "a.B"]),
        ("    for a in y: z\n", ["a.B", "a.B"]),
        ("    from b import c\n", ["a.B", "a.B"]),
        ("    def a(self): z\n", ["a.B", "a.B"]),
        ("    def a(self):\n        z\n", ["a.B", "a.B"]),
        ("class D:\n", ["a.B"]),
        ("if y:\n", ["a.B"]),
    ],
)
def test_parameters_of_a_body_that_is_left_out_ask_once(between: str, left: list[str]) -> None:
    """Each annotation of each method was parsed, lowered and asked anew."""
    assert asked(METHODS % between) == left


@pytest.mark.parametrize(
    ("source", "left"),
    [
        ("if y:\n%s", ["a.B", "a.C"]),
        ("class D:\n    if y:\n%s", ["a.B", "a.C"]),
        ("try:\n%s", ["a.B", "a.C"]),
    ],
)
def test_what_may_not_run_answers_for_nothing_that_follows(source: str, left: list[str]) -> None:
    body = "        def f(self, x: O[a.B]):\n            z\n"
    end = "except E: pass\n" if source.startswith("try") else ""
    text = source % body + end + "class C:\n    def g(self, x: O[a.B], y: a.C):\n        z\n"
    assert asked(text) == ["a.B", *left]


@pytest.mark.parametrize(
    "header",
    [
        'def f(self, x: "a.B" = a.C):', "def f(self, x=lambda: a.B):", "def f(self, x=g()):",
        "def f(self, x=(a.b or 1).c):", "def f(self, x=[1][0] . real):",
        "def f(self, x=1.5, y=...):",
        "async def f(self, x: a.B) -> a.C:", "def f(self, *a: b.C):",
    ],
)  # fmt: skip
def test_each_header_keeps_its_first_questions(header: str) -> None:
    """The short way gives what parsing all of it gives."""
    source = f"class C:\n    {header}\n        return 1\n\n    x = later.D\n"
    assert lower(source.encode()) == lower(source.replace("return 1", "...").encode())


@pytest.mark.parametrize(
    ("header", "left"),
    [
        ("self, a, x: b.C = None, y=1, z: int = 0", b"( x: b.C = None, z: int = 0)"),
        ("self, a, *, x: b.C = None, y=1,", b"( *, x: b.C = None,)"),
        ("self, x: b.C, *, y=1,", b"( x: b.C, )"),
        ("self, k: D[str, E[int, F]] = 1.5, t='a.b', x: b.C = None", b"( x: b.C = None)"),
        ("self, k: D[b.C, int, str], x=1,", b"( k: D[b.C, str],)"),
        ("self, /, x: b.C", b"(self, /, x: b.C)"),
        ("self, x: b.C = call(y, z)", b"(self, x: b.C = call(y, z))"),
        ("self, *a, x: b.C", b"( *a, x: b.C)"),
    ],
)
def test_a_header_loses_the_parameters_that_ask_for_nothing(
    monkeypatch: pytest.MonkeyPatch, header: str, left: bytes
) -> None:
    """A fifth of what was parsed of a training stack were such parameters."""
    source = f"class C:\n    def f({header}):\n        return 1\n    x = later.D\n"
    assert left in without_bodies(source.encode())
    known = asked(source)
    monkeypatch.setattr(parsing, "without_bodies", lambda text: text)
    assert asked(source) == known


@pytest.mark.parametrize(
    ("header", "left"),
    [
        ("x: a.B", []), ("x: a.B = a.C", ["a.C"]), ("x: O[a.B] = None, y: a.B = 1.5", []),
        ("x=\n    a.B", ["a.B"]), ("x: A = [c, a.B]", ["a.B"]),
    ],
)  # fmt: skip
def test_annotations_that_are_not_evaluated_ask_for_nothing(header: str, left: list[str]) -> None:
    later = "from __future__ import annotations\n"
    source = f"class C:\n    def f(self, {header}):\n        z\n"
    assert asked(later + source) == left
    assert (b"a.B" in without_bodies((later + source).encode())) is bool(left and "a.B" in header)


def test_annotations_are_evaluated_where_a_text_only_speaks_of_the_future() -> None:
    text = '"""\nfrom __future__ import annotations\n"""\n'
    assert asked(text + "class C:\n    def f(self, x: a.B):\n        z\n") == ["a.B"]


@pytest.mark.parametrize(
    ("use", "kept"),
    [("x = f()", True), ("x = f ()", True), ("x = a.f()", False),
     ("x = if_f()", False), ("@f()\ndef g(): pass", True), ("class C:\n  def f(): pass", False),
     (200 * "a.f();" + "f()", True), ("__all__ = ['f']", False), ("# about f", False)],
)  # fmt: skip
def test_only_a_body_that_may_be_called_is_parsed(use: str, kept: bool) -> None:  # noqa: FBT001
    text = without_bodies(f"def f(x):\n    return a.B\n\n{use}\n".encode())
    assert (b"return a.B" in text) is kept


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
