"""Our limits come first, whichever parser lies below: with libyaml, without, or a stricter one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
import yaml
from hypothesis import given as generated
from hypothesis import settings
from hypothesis import strategies as st
from yaml.scanner import ScannerError

from fadoctor.knowledge.matrix.yaml_reader import read_yaml as read_rules
from fadoctor.model.errors import InputError, RuleDataError
from fadoctor.sources.configs.source import Source
from fadoctor.sources.manifests.yaml_tree import read_yaml as read_manifest
from fadoctor.syntax.yaml_tree import read_yaml as read_configuration
from tests.unit.sources.manifests.given import given
from tests.work import examples, which_ends

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


class Stricter(yaml.SafeLoader):
    """A parser with a limit of its own, a little above ours, that it meets while looking ahead."""

    limit = 44

    def fetch_flow_collection_start(self, token: Any) -> None:
        if self.flow_level >= self.limit:
            raise self.fault()
        super().fetch_flow_collection_start(token)

    def fault(self) -> Exception:
        mark = self.get_mark()
        return ScannerError("while increasing flow level", mark, "a limit of its own", mark)


class Recursive(Stricter):
    """One that ends by the interpreter's limit, and so without a place."""

    def fault(self) -> Exception:
        return RecursionError("maximum recursion depth exceeded")


PARSERS: dict[str, Any] = {
    "libyaml": getattr(yaml, "CSafeLoader", None), "Python": yaml.SafeLoader,
    "stricter": Stricter, "recursive": Recursive,
}  # fmt: skip
READERS: dict[str, Callable[[str], object]] = {
    "configuration": lambda text: read_configuration(Source("given", text)),
    "manifest": lambda text: read_manifest(given(text)),
    "rules": lambda text: read_rules(text, "given"),
}
LIMITS = {
    "configuration": "more than 40 levels deep", "manifest": "more than 32 levels deep",
    "rules": "nested too deeply",
}  # fmt: skip


@pytest.fixture(params=PARSERS)
def parser(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    if PARSERS[request.param] is None:
        pytest.skip("this PyYAML has no libyaml")
    _use(monkeypatch, request.param)
    return str(request.param)


def _use(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    monkeypatch.setattr("fadoctor.syntax.yaml_events._Loader", PARSERS[name])
    monkeypatch.setattr("fadoctor.knowledge.matrix.yaml_reader._Loader", PARSERS[name])


def said(reader: str, text: str) -> str:
    try:
        READERS[reader](text)
    except (InputError, RuleDataError) as error:
        return str(error)
    return "read"


DEEP = {
    "lists": ("[" * 1_200, "given:1 at `[0][0][0][0]`: "),
    "lists, closed": ("[" * 400 + "]" * 400, "given:1 at `[0][0][0][0]`: "),
    "below a key": ("x: 1\na: " + "[" * 1_200, "given:2 at `a[0][0][0]`: "),
    "below an item": ("- 1\n- " + "[" * 1_200, "given:2 at `[1][0][0][0]`: "),
    "with space": ("[ " * 1_200, "given:1 at `[0][0][0][0]`: "),
    "later items": ("[a,[b,[" + "[c," * 1_200, "given:1 at `[1][1][0][1]`: "),
    "tables": ("{a: " * 1_200, "given:1 at `a.a.a.a`: "),
    "tables and lists": ('{"a": [' * 1_200, "given:1 at `a[0].a[0]`: "),
    "after what was closed": ("[[b], {c: d}, [" + "[" * 1_200, "given:1 at `[2][0][0][0]`: "),
    "brackets in quotes": ("['[', \"]\", [" + "[" * 1_200, "given:1 at `[2][0][0][0]`: "),
    "several lines": ("[\n" * 10 + "[" * 1_200, "given:11 at `[0][0][0][0]`: "),
}


@pytest.mark.sampled(every=5)
@pytest.mark.parametrize("reader", READERS)
@pytest.mark.parametrize("name", DEEP)
@pytest.mark.usefixtures("parser")
def test_what_is_too_deep_is_told_in_our_words(reader: str, name: str) -> None:
    text, place = DEEP[name]
    if name == "after what was closed" and reader == "rules":
        text = text.replace("{c: d}", "{c: 'd'}")
    assert said(reader, text) == place + LIMITS[reader]


@pytest.mark.sampled
@pytest.mark.parametrize("reader", READERS)
@pytest.mark.parametrize("text", ["{" * 1_200, "[{" * 1_200, "{[" * 1_200])
@pytest.mark.usefixtures("parser")
def test_a_key_of_brackets_is_no_question_of_depth(reader: str, text: str) -> None:
    assert said(reader, text).endswith("a key is not plain text")


FAULTS = {
    "brackets in a text": "a: b" + "[" * 60 + "\n c: d\n",
    "brackets in a block": "a: |\n  " + "[" * 60 + "\x01\n",
    "brackets in quotes": "a: ['" + "[" * 60 + "\n",
    "brackets in a comment": "a: [ # " + "[" * 60 + "\n'\n",
    "a few": "a: [[[ '",
    "none": "a: b: c\n",
}


@pytest.mark.parametrize("reader", READERS)
@pytest.mark.parametrize("name", FAULTS)
@pytest.mark.usefixtures("parser")
def test_other_faults_stay_what_they_are(reader: str, name: str) -> None:
    assert "not valid YAML: " in said(reader, FAULTS[name])


PIECES = st.sampled_from([
    "[", "{", "[ ", "{a: ", "[b, ", "- ", "a: ", '"x[": ', "'q{',", "},", "],", "] ", "}", "[[[[[",
    "{'k': ", '{"a":', "\n", "x y ", ": ", ", ",
])  # fmt: skip


@pytest.mark.long
@pytest.mark.property
@settings(max_examples=examples(40))
@generated(st.lists(PIECES, min_size=1, max_size=3), st.integers(1, 1_100), st.sampled_from(
    ["", "a: ", "- ", "a:\n  b: ", "x: [1, 2, {c: d, e: ", "{a: {b: c}, d: "]))  # fmt: skip
def test_every_parser_gives_the_same_answer(pieces: list[str], times: int, head: str) -> None:
    """Of what is not valid the parsers speak in their own words.

    Keys by `? ` are left out: how far libyaml looks ahead decides which of two faults it tells.
    """
    text = head + "".join(pieces) * times
    answers = {reader: list(_answers(reader, text)) for reader in READERS}
    for reader, found in answers.items():
        assert len({"invalid" if "not valid" in each else each for each in found}) == 1, (
            reader, text[:80], found,
        )  # fmt: skip


def _answers(reader: str, text: str) -> Iterator[str]:
    for name in ("libyaml", "Python"):
        if PARSERS[name] is not None:
            with pytest.MonkeyPatch.context() as patch:
                _use(patch, name)
                yield said(reader, text)


@pytest.mark.parametrize("reader", READERS)
@pytest.mark.parametrize("piece", ["  #t1", "&!", "- ", "# ", "&a ", "? "])
def test_what_stands_before_a_node_is_read_in_one_way(reader: str, piece: str) -> None:
    """Regression: a line with 40 comment signs before a fault was read in 2**40 ways."""
    with which_ends(piece):
        said(reader, f"a:\n  - b{piece * 60}\n      - c: [\n  - d: }}\n")
