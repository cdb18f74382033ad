from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from fadoctor.model.errors import InputError
from fadoctor.model.place import Place
from fadoctor.syntax.toml_tree import read_toml
from tests.unit.sources.manifests.given import given as source
from tests.unit.sources.manifests.given import place
from tests.work import examples

if TYPE_CHECKING:
    from fadoctor.syntax.tree import Node

tomllib = pytest.importorskip("tomllib")

TEXT = """\
# a comment
name = "demo" # another
"quoted key" = 'C:\\path'
a.b.c = 1
empty = ""
long = \"\"\"
first \\
   second "quoted" \\u00e9\"\"\"
raw = '''
it's'''
numbers = [1, -2, 3.5, 0x1F, 1_000, inf, 1e3,] # the end
moments = [1979-05-27T07:32:00Z, 1979-05-27 07:32:00, 07:32:00]
nested = [[1, 2], ["a", 'b'], {x = 1, y = {z = "w"}},
  # within
  []
]
yes = true
escaped = "tab\\tquote\\""
pair = {file = "x.whl", hash = "sha256:00"}

[table]
key="value"
[table.sub]
key = 1
[[list]]
name = "one"
[list.deep]
x = 1
[[list]]
name = "two"
[[list.inner]]
y = 2
"""


def plain(node: Node) -> Any:
    if isinstance(node.value, dict):
        return {name: plain(child) for name, child in node.value.items()}
    if isinstance(node.value, list):
        return [plain(child) for child in node.value]
    return node.value


def without_moments(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: without_moments(child) for name, child in value.items()}
    if isinstance(value, list):
        return [without_moments(child) for child in value]
    return None if hasattr(value, "isoformat") else value


def agrees(text: str) -> None:
    """Hold our reader against the standard library's."""
    try:
        expected = without_moments(tomllib.loads(text))
    except (ValueError, RecursionError):
        expected = None
    try:
        found = plain(read_toml(source(text)).root)
    except InputError:
        found = None
    assert repr(found) == repr(expected)


def test_values_are_those_of_the_library() -> None:
    agrees(TEXT)
    agrees(TEXT.replace("\n", "\r\n"))


@pytest.mark.parametrize(
    "text",
    [
        "a = 1\na = 2", "a = '1'\na = '2'", 'a = "1"\na = "2"', "[a]\n[a]", "[a]\n[[a]]",
        "[[a]]\n[a]", "a = []\n[[a]]", "a = {}\n[a]", "a = {b=1}\na.c = 2", "[a]\nb.c=1\n[a.b]",
        "[a.b]\n[a]\nc=1", "[a.b]\n[a]\nb.c=1", "a = [1 2]", "a = {b=1,}", "a = {b=1\n}",
        'a = "x\ny"', "a = 'x", 'a = """x', "a", "a =", "= 1", "[a", "[]", "[[a]", "a = 01",
        "a = 1__0", "a = +0x1", "a = .5", "a = 1.", "a = tru", "a = 1 b = 2", 'a = "\\x"',
        'a = "\\ud800"', 'a = "\\U00110000"', "a = 2020-13-45x", "a.b = 1\na.c = 2\n[a.d]\n",
        "a = [[[[[]]]]]", 'a = "\x01"', "# \x01", "a = 'b' # \x7f", 'a = """a""""', 'a = """a"""""',
        'a = """a""""""', "a = '''a''''", "a = '''a'''''", "[ a . 'b' ]\nx=1",
        'a = """\\\n  x"""',
        'a = """\\ x"""', "a={}\n", "\ufeffa=1", "a = '''\r\nx'''", "a\n= 1", "a = # no\n1",
        '"" = 1', '"a\\nb" = 1', "a = [,]", "a = [1,,2]", "[a]]", "a = 1\r", "\r", "a = {a={b=1}}",
        'a = {b = "1", b = "2"}', 'a = {b = "1" c = "2"}', "[[a]]\n[a.b]\n[a.b]",
        "[a]\n[[a.b]]\n[a.c]",
        'a = """x\ry"""',
        "a = '''x\ry'''",
        'a = """x\\\\"""',
        'a = """x\\""""',
        'a = "\\\\"',
        'a = "\\""',
        'a = """\\"\\"\\""""',
        'a = "x\\"',
        'a = """x\\"""',
        'a = "\\u00e9\\U0001F600"',
        "a = '''x\\'''",
        'a = """\\\r\n  x"""',
        'a = "\\',
        'a = """""""',
        'a = """"""""""',
        "a.b.c=1\na.b.d=2",
        "a . b = 1",
        "[a.b.c]\nx=1\n[a.b.d]\ny=2",
        "[a.b.]",
        "[.a]",
        "a.=1",
        "a..b=1",
    ],
)  # fmt: skip
def test_what_is_refused_is_what_the_library_refuses(text: str) -> None:
    agrees(text)


@settings(max_examples=examples(300), deadline=None)
@given(st.data())
@pytest.mark.property
def test_mutations_are_read_as_the_library_reads_them(data: st.DataObject) -> None:
    lines = TEXT.split("\n")
    start = data.draw(st.integers(0, len(lines) - 1))
    text = "\n".join(lines[start : start + data.draw(st.integers(1, 6))])
    for _ in range(data.draw(st.integers(1, 3))):
        at = data.draw(st.integers(0, len(text)))
        end = at + data.draw(st.integers(0, 2))
        text = text[:at] + data.draw(st.sampled_from([*"\"'[]{}=.,#\\\n x1-_+:", ""])) + text[end:]
    agrees(text)


@example("a = [")
@given(st.text(alphabet="ab[]{}=\"'.,# \n\\1-", max_size=30))
@settings(max_examples=examples(300), deadline=None)
@pytest.mark.property
def test_any_text_is_read_as_the_library_reads_it(text: str) -> None:
    agrees(text)


def test_every_value_has_its_place() -> None:
    tree = read_toml(source(TEXT, "x.toml"))
    assert place(tree, tree.root, "name") == Place("x.toml", 2, 8)
    second = tree.items(tree.root, "list")[1]
    assert tree.place(second) == Place("x.toml", 29, 1)
    inner = tree.items(tree.items(tree.root, "nested")[1])
    assert tree.place(inner[1]) == Place("x.toml", 13, 25)
    assert place(tree, tree.root, "pair", "hash") == Place("x.toml", 19, 32)


def test_a_wrong_type_names_line_and_key() -> None:
    tree = read_toml(source("[project]\ndependencies = [\n  'a',\n  3,\n]\n", "pyproject.toml"))
    items = tree.items(tree.root, "project", "dependencies")
    with pytest.raises(InputError, match=r"^pyproject.toml:4 at `project.dependencies\[1\]`: "):
        tree.as_text(items[1])
    with pytest.raises(InputError, match=r"^pyproject.toml:2 at `project.dependencies`: "):
        tree.table(tree.root, "project", "dependencies")


@pytest.mark.parametrize(
    "text",
    [
        "a = " + "[" * 10_000,
        "a = " + "{b=" * 10_000,
        "[" + "a." * 10_000 + "a]",
        ".".join("a" * 10_000) + " = 1",
        "a = " + "9" * 100_000,
    ],
)
def test_depth_and_digits_are_bounded(text: str) -> None:
    with pytest.raises(InputError, match=r"^given:1: no TOML: "):
        read_toml(source(text))
