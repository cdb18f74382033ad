"""Whatever a file holds, it is read or refused: readers raise nothing else."""

from __future__ import annotations

import ast
from contextlib import suppress
from pathlib import Path

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fadoctor.model.errors import InputError
from fadoctor.sources.configs import python_models, python_training
from fadoctor.sources.configs.intent import Computed
from fadoctor.sources.configs.join import join
from fadoctor.sources.configs.python_meaning import ScriptMeaning as Meanings
from fadoctor.sources.configs.reading import _read
from fadoctor.sources.configs.source import Source
from fadoctor.sources.scripts.child._fadoctor_values import Script
from fadoctor.sources.scripts.python_calls import ChildAnswer
from tests.work import examples

pytestmark = pytest.mark.property

EXAMPLES = sorted(
    each
    for each in (Path(__file__).parent / "public").iterdir()
    if each.suffix in (".yaml", ".yml", ".sh", ".json", ".Dockerfile")
)
SHELL = st.text(alphabet=" \n\t'\"\\$`;&|()<>{}#=-.ab01EOF[]@*!", max_size=200)


def read(name: str, text: str) -> None:
    """Read and join a text; a refusal is as good."""
    with suppress(InputError):
        found = _read(Source(name, text), "")
        assert all(each.place.line >= 1 and each.place.column >= 1 for each in found.intents)
        assert all(len(each.written) <= 400 for each in found.intents)
        join([found])


@given(SHELL)
@settings(max_examples=examples(300), deadline=None)
def test_any_text_is_a_shell_script(text: str) -> None:
    read("run.sh", text)


@given(SHELL)
@settings(max_examples=examples(150), deadline=None)
def test_any_text_is_a_dockerfile(text: str) -> None:
    read("Dockerfile", f"FROM x\nENV {text}\nCMD {text}\n")


@given(
    st.sampled_from(EXAMPLES),
    st.integers(0, 40),
    st.integers(0, 60),
    st.sampled_from(
        ["", "{", "[1, 2]", "null", "'", "\\", "$X", ": :", "true", "- a", "\u202e", "1e9"]
    ),
)
@settings(max_examples=examples(400), deadline=None)
def test_a_damaged_example_is_read_or_refused(
    file: Path, line: int, column: int, inserted: str
) -> None:
    lines = file.read_text().split("\n")
    at = line % len(lines)
    lines[at] = lines[at][:column] + inserted
    read(file.name, "\n".join(lines))


SCRIPTS = sorted((Path(__file__).parent / "public").glob("*.py.txt"))
WANTED = frozenset(python_models.WANTED | python_training.WANTED)


@given(
    st.sampled_from(SCRIPTS),
    st.lists(st.integers(0, 60), max_size=6),
    st.sampled_from(
        ["x", "[1]", "{'a': 1}", "*y", "None", "-1", "''", "lambda: 1", "a.b", "f(g)(h)"]
    ),
    st.sampled_from(["torch.bfloat16", "True", '"auto"', "NAME", '"out"', "batch", "model"]),
)
@settings(max_examples=examples(300), deadline=None)
def test_any_python_is_read(file: Path, dropped: list[int], put: str, instead: str) -> None:
    lines = file.read_text().replace(instead, put).split("\n")
    text = "\n".join(line for at, line in enumerate(lines) if at not in dropped)
    try:
        tree = ast.parse(text)
    except SyntaxError:
        return
    found = msgspec.convert({"ok": True, **Script(text, WANTED).read(tree)}, ChildAnswer).found
    script = Meanings(Source("a.py", text), lambda line: line)
    for call in found:
        if not python_training.say(script, call):
            python_models.say(script, call)
    assert all(intent.place.line <= len(lines) for intent in script.finish())


@pytest.mark.parametrize("file", EXAMPLES, ids=lambda file: file.name)
def test_what_a_file_leaves_to_variables_is_never_told(file: Path) -> None:
    """Every value after a colon or an equals sign becomes a variable: nothing of it is guessed."""
    text = file.read_text()
    for word in ("bf16", "fp16", "bfloat16", "flash_attention_2", "sdpa", "half", "true", "True"):
        text = text.replace(f": {word}\n", ": ${X}\n").replace(f" {word} ", " $X ")
    with suppress(InputError):
        told = {
            intent.name
            for intent in _read(Source(file.name, text), "").intents
            if "$" in intent.written.partition(":")[2] and not isinstance(intent.value, Computed)
        }
        assert not told - {"config.model"}
