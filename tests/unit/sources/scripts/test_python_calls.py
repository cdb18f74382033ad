"""What is read out of a Python script, and that a hostile one costs little."""

from __future__ import annotations

import ast
import resource

import msgspec
import pytest

from fadoctor.model.errors import InputError
from fadoctor.sources.scripts.child._fadoctor_values import Script
from fadoctor.sources.scripts.python_calls import ArgumentValue, ChildAnswer, Found, read_calls

WANTED = frozenset({"from_pretrained", "half", "to", "padding_side", "autocast", "SFTConfig"})
SIZE = 2 << 20


def calls(source: str) -> tuple[Found, ...]:
    """Return what the child's script finds, here: most of it needs no process."""
    answer = Script(source, WANTED).read(ast.parse(source))
    return msgspec.convert({"ok": True, **answer}, ChildAnswer).found


def test_the_child_says_the_same() -> None:
    source = "K = {'dtype': 'a'}\nx.from_pretrained('m', **K)\nx.padding_side = 'left'\n"
    assert read_calls(source, "train.py", WANTED).found == calls(source)


def only(source: str, key: str | int = "dtype") -> ArgumentValue:
    (found,) = calls(source)
    given = found.argument(key)
    assert given is not None
    return given.value


def test_names_are_resolved_through_imports() -> None:
    source = (
        "import torch as t\nfrom transformers import AutoModelForCausalLM as M\n"
        "M.from_pretrained('x', dtype=t.bfloat16)\n"
    )
    (found,) = calls(source)
    assert found.name == "transformers.AutoModelForCausalLM.from_pretrained"
    assert only(source).name == "torch.bfloat16"
    assert (found.line, found.column) == (3, 1)


def test_a_renamed_import_of_a_wanted_class_is_found() -> None:
    (found,) = calls("from trl import SFTConfig as C\nC(bf16=True)\n")
    assert found.name == "trl.SFTConfig"


def test_places_count_characters() -> None:
    (found,) = calls("é = 1; x.from_pretrained('ö', dtype='a')\n")
    argument = found.argument("dtype")
    assert argument is not None
    assert (argument.line, argument.column, argument.written) == (1, 31, "dtype='a'")


@pytest.mark.parametrize(
    "setting",
    [
        "D = 'a'\n{}",
        "D, E = 'a', 'b'\n{}",
        "O = 'a'\nD = O\n{}",
        "C = {{'k': 'a'}}\nD = C['k']\n{}",
        "def f():\n    global D\n    D = 'a'\nf()\n{}",
        "import x\nD: str = 'a'\n{}",
        "class C:\n    k = 'a'\nD = C.k\n{}",
        "class C:\n    k: str = 'a'\nc = C()\nD = c.k\n{}",
    ],
)
def test_what_is_set_once_is_followed(setting: str) -> None:
    found = only(setting.format("x.from_pretrained(dtype=D)\n"))
    assert found.literal == "a", found


@pytest.mark.parametrize(
    "setting",
    [
        "D = 'a'\nD = 'b'\n{}",
        "D = 'a' if x else 'b'\n{}",
        "D = x or 'a'\n{}",
        "if x:\n    D = 'a'\nelse:\n    D = 'b'\n{}",
        "for D in ('a', 'b'):\n    pass\n{}",
        "D = 'a'\nD += 'b'\n{}",
        "with x as D:\n    {}",
        "def f(D='a'):\n    {}\nf('b')",
        "D = 'a'\ndef f():\n    global D\n    D = 'b'\n{}",
        "C = {{'k': 'a'}}\nif x:\n    C['k'] = 'b'\nD = C['k']\n{}",
        "C = {{'k': 'a'}}\nD = C['k']\n{}C['k'] = 'b'\n",
        "C = {{'k': 'a'}}\ndef f():\n    C['k'] = 'b'\nD = C['k']\n{}",
        "C = {{'k': 'a'}}\nC.update(x)\nD = C['k']\n{}",
        "C = {{'k': 'a'}}\nchange(C)\nD = C['k']\n{}",
        "D = f'{{x}}'\n{}",
        "D = x.y()\n{}",
        "D = args.dtype\n{}",
        "(D := 'a')\n(D := 'b')\n{}",
        "try:\n    D = 'a'\nexcept OSError:\n    D = 'b'\n{}",
        "D, E = x\n{}",
        "D = D\n{}",
        "class C:\n    k = 'a'\nC.k = 'b'\nD = C.k\n{}",
        "class C:\n    k = 'a'\nc = C(k='b')\nD = c.k\n{}",
        "class C:\n    def k(self):\n        pass\nD = C.k\n{}",
        "class C(B):\n    pass\nD = C.k\n{}",
        "class D:\n    pass\n{}",
    ],
)
def test_what_is_worked_out_is_computed(setting: str) -> None:
    found = only(setting.format("x.from_pretrained(dtype=D)\n"))
    assert found.kind in ("computed", "call"), found
    assert found.literal is None
    assert found.why


def test_an_unpacked_mapping_gives_arguments_with_their_places() -> None:
    source = "K = dict(\n  a=1,\n  **{'b': 'two'},\n)\nx.from_pretrained('m', **K)\n"
    (found,) = calls(source)
    assert [(a.key, a.value.literal, a.line) for a in found.arguments] == [
        (0, "m", 5), ("a", 1, 2), ("b", "two", 3),
    ]  # fmt: skip
    assert not found.open


def test_an_unpacked_mapping_that_cannot_be_told_leaves_a_call_open() -> None:
    assert [one.open for one in calls("x.from_pretrained(**f())\nx.from_pretrained(1)\n")] == [
        True, False,
    ]  # fmt: skip


def test_a_variable_says_which_calls_it_may_come_from() -> None:
    source = "m = A.from_pretrained('x')\nm = wrap(m)\nm.half()\nimages.half()\n"
    found = [one for one in calls(source) if one.name.endswith(".half")]
    assert [(one.name, one.of) for one in found] == [
        ("<m>.half", ("A.from_pretrained", "wrap")), ("images.half", ()),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("source", "is_sure"),
    [
        ("x.half()", True),
        ("if y:\n    x.half()", False),
        ("if True:\n    x.half()", True),
        ("if __name__ == '__main__':\n    x.half()", True),
        ("y and x.half()", False),
        ("try:\n    x.half()\nexcept OSError:\n    pass", False),
        ("try:\n    x.half()\nexcept OSError:\n    raise", True),
        ("try:\n    pass\nfinally:\n    x.half()", True),
        ("for i in y:\n    x.half()", True),
        ("with y:\n    x.half()", True),
        ("match y:\n    case 1:\n        x.half()", False),
        ("def main():\n    x.half()", True),
        ("def f():\n    x.half()", False),
        ("def f():\n    x.half()\nf()", True),
        ("@hook\ndef f():\n    x.half()", True),
        ("class A:\n    def f(self):\n        x.half()", True),
    ],
)
def test_what_may_not_happen_says_so(source: str, is_sure: bool) -> None:  # noqa: FBT001
    (found,) = calls(source)
    assert (not found.condition) == is_sure


def test_the_environment_that_a_script_sets() -> None:
    (found,) = calls("import os\nos.environ['VLLM_ATTENTION_BACKEND'] = 'XFORMERS'\n")
    assert found.name == "os.environ[VLLM_ATTENTION_BACKEND]"
    assert found.value is not None
    assert found.value.literal == "XFORMERS"


def test_a_cell_that_is_no_python_costs_only_itself() -> None:
    source = "x.half()\nfor for\ny.half()\n"
    answer = read_calls(source, "n.ipynb", WANTED, (1, 2, 3))
    assert ([one.line for one in answer.found], answer.skipped_cells) == ([1, 3], (2,))


HOSTILE = {
    "parentheses": "(" * SIZE,
    "minus": "x=" + "-" * SIZE + "1",
    "sum": "x=" + "1+" * 10_000 + "1",
    "attributes": "a" + ".b" * 10_000,
    "list": "x=[" + "1," * (SIZE // 2) + "]",
    "calls": "f(a=1)\n" * (SIZE // 7),
    "wanted": "x.half()\n" * (SIZE // 9),
    "f-string": "x=f'" + "{a}" * (SIZE // 3) + "'",
    "number": "x=" + "1" * SIZE,
    "branches": "if a: pass\n" + "elif a: pass\n" * 50_000,
    "syntax": "if x:\npass\n",
    "python 2": "print 'x'\n",
}


def read_or_refuse(source: str) -> ChildAnswer | InputError:
    try:
        return read_calls(source, "train.py", WANTED)
    except InputError as error:
        return error


READ_BY_SOME = ("sum", "attributes", "branches")
"""What depends on the Python that parses: some refuse what others read."""


@pytest.mark.sampled(every=3)
@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_script_is_refused_within_its_limits(name: str) -> None:
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    outcome = read_or_refuse(HOSTILE[name])
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    if name not in READ_BY_SOME:
        assert isinstance(outcome, InputError), outcome
    if isinstance(outcome, InputError):
        assert str(outcome).startswith("train.py")
    # The most that any child of this process has used so far: that of another test counts, and
    # so does what this process had when it made the child.
    mine = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    assert used.ru_maxrss <= max(300 << 10, before.ru_maxrss, mine)


def test_names_that_double_with_every_step_are_cut() -> None:
    steps = "".join(f"a{i + 1} = [{', '.join([f'a{i}'] * 9)}]\n" for i in range(30))
    answer = read_or_refuse(f"a0 = 1\n{steps}x.from_pretrained(dtype=a30)\n")
    assert isinstance(answer, ChildAnswer)
    assert answer.is_cut


def test_a_syntax_error_names_file_and_line() -> None:
    with pytest.raises(InputError, match=r"^train\.py:2: not Python that can be read: expected"):
        read_calls("if x:\npass\n", "train.py", WANTED)


def test_a_surrogate_in_the_text_is_no_crash() -> None:
    assert isinstance(read_or_refuse("x = '\\ud800'\nx.half()\n"), ChildAnswer)


@pytest.mark.parametrize(
    "text",
    [
        'f"{names["a"]}"',
        "rf'{names['a']}'",
        'f"{names["a"]:>{width}} {{}}", 1, "x"',
        'F"{", ".join(a)}"',
    ],
)
def test_texts_with_quotes_of_their_own_cost_only_themselves(text: str) -> None:
    """Python reads them since 3.12; another Python here does not refuse the file."""
    found = read_calls(f"print({text})\nload(dtype=1)\n", "a.py", frozenset(("load",))).found
    assert [argument.value.literal for argument in found[0].arguments] == [1]


def test_a_text_that_never_ends_is_refused() -> None:
    with pytest.raises(InputError):
        read_calls("print(f'{a['b}')\n", "a.py", frozenset())
