from __future__ import annotations

import pytest

from fadoctor.model.errors import InputError
from fadoctor.model.place import Place
from fadoctor.sources.manifests.yaml_tree import read_yaml
from tests.unit.sources.manifests.given import given, place


def test_values_stay_text_and_have_places() -> None:
    tree = read_yaml(given("é: ü\r\nb:\n  - 'ö': 1\n    c: 3.10\nn: ~\nno: no\n", "e.yml"))
    assert tree.text(tree.root, "é") == "ü"
    assert place(tree, tree.root, "é") == Place("e.yml", 1, 4)
    item = tree.items(tree.root, "b")[0]
    assert place(tree, item, "c") == Place("e.yml", 4, 8)
    assert (tree.text(item, "ö"), tree.text(item, "c")) == ("1", "3.10")
    assert tree.items(tree.root, "n") == []
    assert tree.text(tree.root, "no") == "no"


def test_an_empty_text_is_nothing() -> None:
    assert read_yaml(given("")).root.value is None
    assert read_yaml(given("# only a comment\n")).root.value is None


def test_an_alias_is_what_it_names() -> None:
    tree = read_yaml(given("a: &x [one]\nb: *x\n"))
    assert tree.items(tree.root, "b")[0] is tree.items(tree.root, "a")[0]


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        (
            "a: !!python/object/apply:os.system [ls]",
            "given:1 at `a`: the tag .*: tags are not read",
        ),
        ("a: 1\nb: 2\na: 3", "given:3: this key is duplicated"),
        ("a: [\n", "given:2: not valid YAML: "),
        ("[a]: b", "given:1: a key is not plain text"),
        ("a: *x", "given:1: not valid YAML: |given:1 at `a`: an alias without an earlier anchor"),
        ("a: &x [*x]", r"given:1 at `a\[0\]`: an alias without an earlier anchor"),
        ("a: \x07", "given(:1)?: not valid YAML: "),
        ("a: \udcff", "given: is not UTF-8 text"),
        ("[" * 10_000, "given:1 at .*: more than 32 levels deep"),
        ("{a: " * 10_000, "given:1 at .*: more than 32 levels deep"),
        ("\n".join(" " * level + "a:" for level in range(1000)), "more than 32 levels deep"),
        ("a: &x []\nb: [" + "*x," * 1001 + "]", "given:2 at .*: more than 1,000 aliases"),
        ("[" + "a," * 5_000 + "]", "given:1: more than 4,000 values"),
    ],
    ids=str.split("tag twice open key unknown loop control surrogate list map block aliases many"),
)
def test_what_is_not_read_names_its_line(
    text: str, problem: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("fadoctor.sources.manifests.yaml_tree._Reader.event_limit", 4_000)
    with pytest.raises(InputError, match=problem):
        read_yaml(given(text))


def test_an_alias_bomb_costs_no_more_than_its_text() -> None:
    levels = [f"l{n}: &l{n} [{', '.join([f'*l{n - 1}'] * 9)}]" for n in range(1, 30)]
    tree = read_yaml(given("\n".join(["l0: &l0 [lol]", *levels])))
    assert len(tree.items(tree.root, "l29")) == 9
    with pytest.raises(InputError, match="at `l29`"):
        tree.text(tree.root, "l29")
