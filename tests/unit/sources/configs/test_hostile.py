"""Files that mean harm, or went wrong: read or refused, soon, with file, line and key."""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fadoctor.model.errors import InputError, UsageError
from fadoctor.sources.configs.reading import read_configurations
from fadoctor.sources.configs.source import SIZE_LIMIT, Source, open_source
from fadoctor.syntax.tree import NODE_LIMIT, Node, walk
from tests.unit.sources.configs.read import UNREAD, facts
from tests.work import calls_of, examples

if TYPE_CHECKING:
    from pathlib import Path

BOMB = "a: &a [x, x]\n" + "".join(
    f"{new}: &{new} [*{old}, *{old}, *{old}, *{old}, *{old}, *{old}, *{old}, *{old}, *{old}]\n"
    for old, new in zip("abcdefghijklmnop", "bcdefghijklmnopq", strict=True)
)


def refusal(name: str, text: str) -> str:
    with pytest.raises(InputError) as caught:
        Source(name, text).document()
    return str(caught.value)


@pytest.mark.parametrize(
    ("name", "text", "problem"),
    [
        ("x.yaml", "stage: sft\nbf16: [true\n", "x.yaml:3: not valid YAML"),
        ("x.yaml", "a:\n  b: !!python/object:os.system x\n", "x.yaml:2 at `a.b`: the tag"),
        ("x.yaml", "a: !ENV x\n", "x.yaml:1 at `a`: the tag !ENV"),
        ("x.yaml", "a: &a [*a]\n", "x.yaml:1 at `a[0]`: an alias without an earlier anchor"),
        ("x.yaml", "a: *nowhere\n", "x.yaml:1"),
        ("x.yaml", "[1, 2]: 3\n", "x.yaml:1: a key is not plain text"),
        ("x.yaml", "a: " + "[" * 10_000, "at `a[0][0][0]`: more than 40 levels deep"),
        ("x.yaml", "- x\n" * (NODE_LIMIT + 10), "more than 50,000 values"),
        ("x.yaml", "a: \x01\n", "not valid YAML"),
        ("x.yaml", "a: b: c\n", "not valid YAML"),
        ("x.json", '{"bf16": {"enabled": tru}}', "x.json:1 at `bf16.enabled`: not valid JSON"),
        ("x.json", '{"a": 1,\n "b": }', "x.json:2 at `b`: not valid JSON: a value is due here"),
        ("x.json", '{"a": 1,}', "a comma after the last one"),
        ("x.json", "{'a': 1}", "not valid JSON"),
        ("x.json", '{"a" 1}', "x.json:1 at `a`: not valid JSON: a ':' is due here"),
        ("x.json", '{"a": 1', "x.json:1 at `a`: not valid JSON: a ',' is due here"),
        ("x.json", '{"a": "\\q"}', "an unknown escape"),
        ("x.json", '{"a": 1} {"b": 2}', "something follows the document"),
        ("x.json", '{"a": ' + "[" * 10_000, "more than 40 levels deep"),
        ("x.json", "[" + "1," * NODE_LIMIT + "1]", "more than 50,000 values"),
        ("x.json", '{"a": "no end', "not valid JSON"),
    ],
)
def test_what_is_refused_and_where(name: str, text: str, problem: str) -> None:
    told: list[str] = []
    assert calls_of(lambda: told.append(refusal(name, text))) < 3_000_000
    assert problem in told[0]


def test_aliases_of_aliases_take_no_room_and_no_work() -> None:
    found: list[Node | None] = []
    assert calls_of(lambda: found.append(Source("x.yaml", BOMB).document())) < 10_000
    [document] = found
    assert document is not None
    assert len(list(walk(document))) <= NODE_LIMIT


def test_a_merge_brings_its_keys_and_what_is_written_wins() -> None:
    text = "base: &b {bf16: true, tf32: true}\nrun:\n  <<: *b\n  tf32: false\n"
    document = Source("x.yaml", text).document()
    assert document is not None
    run = document.get("run")
    assert run is not None
    assert {key: node.scalar for key, node in run.mapping.items()} == {"bf16": True, "tf32": False}


def test_values_of_a_wrong_kind_are_unknown_and_harmless() -> None:
    text = (
        "stage: sft\ntemplate: x\nflash_attn: [a]\nbf16: {b: 1}\nlora_target: {c: 1}\n"
        "quantization_bit: []\nfp16: 1e309\ntf32: .inf\ninfer_dtype: [x]\n"
    )
    found = facts(text)
    assert (found["attention"], found["bf16"], found["fp16"], found["tf32"]) == (UNREAD,) * 4
    assert "quantization" not in found
    escaped = facts('stage: sft\ntemplate: x\nflash_attn: "\\e[31mred\\u202e"\n')
    assert escaped["attention"] == "?[31mred?"


def test_merges_of_merges_are_counted() -> None:
    text = "a: &a {" + ",".join(f"k{i}: 1" for i in range(2_000)) + "}\n"
    text += "".join(f"m{i}:\n  <<: *a\n" for i in range(40))
    assert "more than 50,000 values" in refusal("x.yaml", text)


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        (b"bf16: true\nx: \0\n", "train.yaml:2: has a NUL byte"),
        (b"x" * (SIZE_LIMIT + 1), "larger than 2 MiB"),
        (b"", "fadoctor found no setting in it"),
        (b"hello: world\n", "fadoctor found no setting in it"),
    ],
)
def test_files_that_are_refused(tmp_path: Path, content: bytes, problem: str) -> None:
    file = tmp_path / "train.yaml"
    file.write_bytes(content)
    with pytest.raises(InputError, match=problem):
        read_configurations([str(file)])


@pytest.mark.parametrize(
    ("name", "problem"),
    [
        ("/dev/zero", "is not a regular file"),
        ("nowhere.yaml", "No such file"),
        ("a\0b", "not a path"),
        (".", "is a folder"),
    ],
)
def test_names_that_are_no_files(name: str, problem: str) -> None:
    with pytest.raises(InputError, match=problem):
        open_source(name)


def test_a_pipe_and_a_loop_of_links_are_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.yaml")
    (tmp_path / "loop.yaml").symlink_to(tmp_path / "loop.yaml")
    with pytest.raises(InputError, match="is not a regular file"):
        open_source(str(tmp_path / "pipe.yaml"))
    with pytest.raises(InputError):
        open_source(str(tmp_path / "loop.yaml"))


def test_a_kind_that_there_is_not_names_the_near_ones(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="Did you mean deepspeed"):
        read_configurations([str(tmp_path / "x")], "deepsped")
    with pytest.raises(UsageError, match="more than 16 files"):
        read_configurations(["x.yaml"] * 17)


def test_a_kind_that_is_forced_reads_what_nothing_recognises(tmp_path: Path) -> None:
    file = tmp_path / "args.yaml"
    file.write_text("bf16: true\n")
    [found] = read_configurations([str(file)], "trainer")
    assert found.kind == "trainer"


@settings(deadline=None, max_examples=examples(150))
@given(st.text(alphabet="{}[]:,\"\\ \n\t-&*!<a1.e+true?|>#'", max_size=80), st.booleans())
def test_nothing_else_comes_of_any_text(text: str, is_json: bool) -> None:  # noqa: FBT001
    source = Source("x.json" if is_json else "x.yaml", text)
    try:
        document = source.document()
    except InputError:
        return
    assert document is None or list(walk(document)) is not None


@settings(deadline=None, max_examples=examples(100))
@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.text(max_size=8),
        lambda inner: (
            st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=6), inner, max_size=4)
        ),
        max_leaves=12,
    )
)
def test_json_is_read_as_the_standard_reader_does(data: object) -> None:
    for text in (json.dumps(data), json.dumps(data, indent=2, ensure_ascii=False)):
        document = Source("x.json", text).document()
        assert document is not None
        assert plain(document) == json.loads(text)


def plain(node: object) -> object:
    value = node.value  # type: ignore[attr-defined]
    if isinstance(value, dict):
        return {key: plain(entry) for key, entry in value.items()}
    return [plain(item) for item in value] if isinstance(value, tuple) else value
