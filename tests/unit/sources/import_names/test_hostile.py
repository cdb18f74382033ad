"""Sources that mean harm, or are no Python: bounded, and never an alarm or a crash."""

from __future__ import annotations

import os
from random import Random
from typing import TYPE_CHECKING

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from fadoctor.sources.import_names.child._fadoctor_blank import without_bodies
from fadoctor.sources.import_names.child._fadoctor_lower import lower
from tests.work import examples
from tools.fuzz.mutation import mutate_text
from tools.fuzz.sources import SOURCE, follow_tree

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.unit.sources.import_names.conftest import Tree

ASKS = "from provider import Gone\n"

HOSTILE = {
    "brackets": "(" * 10_000,
    "attributes": "x" + ".a" * 10_000,
    "sums": "1" + "+1" * 10_000,
    "calls": "f(" * 150 + ")" * 150,
    "nots": "not " * 10_000 + "x",
    "ifs": "".join(" " * n + "if unknown():\n" for n in range(99)) + " " * 99 + "pass\n",
    "elifs": "if a: pass\n" + "elif b: pass\n" * 3_000,
    "classes": "".join(" " * n + f"class C{n}:\n" for n in range(99)) + " " * 99 + "pass\n",
    "tries": "".join(" " * n + "try:\n" for n in range(90)) + "junk",
    "strings": '"""' * 9_999,
    "quotes": "'" * 9_999,
    "backslashes": "\\\n" * 9_999,
    "nul": "a = 1\0\n",
    "coding": "# -*- coding: no-such-coding -*-\n",
    "utf16": "\ufeff".encode("utf-16").decode("latin-1"),
    "surrogates": "x = '\\udcff'\nfrom \udcff import y\n",
    "forever": "def is_a(): return is_b()\ndef is_b(): return is_a()\nif is_a(): pass\n",
    "doubling": "a = [1]\n" + "a += a\n" * 60,
    "texts": "a = 'x' * 10\n" + "a = a + a\n" * 60,
    "loops": "for a in range(10**9):\n  for b in range(10**9):\n    import c\n",
    "nested loops": "l = [" + "1," * 390 + "]\n" + "".join(
        " " * n + f"for a{n} in l:\n" for n in range(8)) + " " * 8 + "b = 1\n",
    "itself": "from asker import *\nimport asker.asker\n",
    "numbers": "a = " + "9" * 5_000 + "\nb = 1e400\n",
    "dunder": "__name__ = 3\n__file__ = []\n__all__ = 7\n",
    "dict": "d = {}\nd[d] = d\nd.update(d)\nx = {**d, None: d}\n",
    "version": "from packaging.version import parse\nif parse('1.' * 90) < parse('x' * 99): pass\n",
    "future": "from __future__ import braces\n",
    "match": "match x:\n  case [*_]: from provider import Gone\n",
    "newer syntax": "type X[T = int] = list[T]\ndef f[T](): ...\n",
}  # fmt: skip


@pytest.mark.sampled
@pytest.mark.parametrize("name", sorted(HOSTILE))
def test_hostile_sources_end_in_time_and_harm_no_other(tree: Tree, name: str) -> None:
    text = HOSTILE[name].encode("utf-8", "surrogatepass").decode("latin-1")
    tree.install("asker", init="from . import hostile\n").install("provider", init=ASKS)
    (tree.folder / "asker" / "hostile.py").write_bytes(text.encode("latin-1"))
    answer = tree.read()
    assert not [each for each in answer.broken if each.asker == "asker"]


def test_an_alarm_of_others_stands_beside_a_hostile_source(tree: Tree) -> None:
    tree.install("provider", init="import asker.hostile\n")
    tree.install("asker", init=ASKS, hostile=HOSTILE["brackets"])
    assert tree.told() == ["asker/__init__.py:1 provider Gone"]


def test_large_files_links_in_circles_pipes_and_folders(tree: Tree) -> None:
    tree.install("asker", init="".join(f"import asker.m{n}\n" for n in range(5)))
    tree.install("provider")
    package = tree.folder / "asker"
    with (package / "m0.py").open("wb") as file:
        file.truncate(50 << 20)
    (package / "m1.py").symlink_to(package / "m1.py")
    os.mkfifo(package / "m2.py")
    (package / "m3").symlink_to(package)
    (package / "m4.py").mkdir()
    assert tree.told() == []


def test_a_thousand_modules_in_a_chain(tree: Tree) -> None:
    tree.install("asker", init="import asker.m0").install("provider")
    for number in range(1_000):
        (tree.folder / "asker" / f"m{number}.py").write_text(f"import asker.m{number + 1}\n")
    (tree.folder / "asker" / "m1000.py").write_text(ASKS)
    assert tree.read().problem == ""


def mutated(chance: Random) -> bytes:
    return mutate_text(SOURCE, chance, [SOURCE])


@pytest.mark.property
@given(st.integers(0, 2**32))
@settings(
    max_examples=examples(300),
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
def test_mutated_sources_are_read_or_refused(seed: int) -> None:
    source = mutated(Random(seed))  # noqa: S311 -- mutations are no secrets
    try:
        lower(source)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return


@pytest.mark.property
@given(st.integers(0, 2**32))
@settings(
    max_examples=examples(100),
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
def test_mutated_trees_raise_no_alarm_about_what_is_there(
    tmp_path_factory: pytest.TempPathFactory, seed: int
) -> None:
    random_ = Random(seed)  # noqa: S311 -- mutations are no secrets
    folder = tmp_path_factory.mktemp("tree")
    found = follow_tree(folder, lambda: mutated(random_))
    assert len(found["files"]) <= 6


@pytest.mark.property
@given(st.integers(0, 2**32))
@settings(max_examples=examples(200), deadline=None)
def test_bodies_are_left_out_and_lines_stay(seed: int) -> None:
    source = mutated(Random(seed)).replace(b"\r", b"")  # noqa: S311 -- mutations are no secrets
    assert without_bodies(source).count(b"\n") == source.count(b"\n")


def test_what_is_left_out_are_bodies(told: Callable[..., list[str]]) -> None:
    body = "".join(f"        x{n} = '''\nfrom provider import Gone{n}\n'''\n" for n in range(50))
    asker = (
        f"class A:\n    def f(\n        self,\n    ) -> int:\n{body}\nfrom provider import Gone\n"
    )
    line = asker.count("\n")
    assert told(asker) == [f"asker/__init__.py:{line} provider Gone"]
