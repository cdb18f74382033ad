"""Every text of rules, tables and program reads well: short sentences, one name for one thing.

Which words are meant stands in docs/terminal.md, below "Words".
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.shipped import compiled

if TYPE_CHECKING:
    from collections.abc import Iterator

_SENTENCE_WORDS = 35
_TITLE_CHARACTERS = 82
_FIX_TITLE_WORDS = 20

_END = re.compile(r"[.?:][\"')]?(?:\]\])*$|\}(?:\]\])?$")
"""A full stop, or what a fact or table says, which ends by itself."""

VERBS = frozenset(
    re.findall(
        r"\w+",
        "Allow Ask Build Cast Change Check Choose Compile Compute Convert Copy Create Delete Do "
        "Fetch Find Get Give Go Import Inspect Install Keep Leave Let Load Lower Make Move Name "
        "Pad Pass Point Print Pin Read Rebuild Reinstall Remove Rename Repeat Replace Restart Run "
        "Say Serve Set Show Stay Start Stop Switch Tell Train Trust Try Turn Uninstall Unset "
        "Update Upgrade Use Write ",
    )
)
"""A fix begins with one of these, after ``Or`` where it is an alternative."""

AVOIDED = {
    "two blanks": r"\S {2,}\S",
    "a blank at an end": r"^\s|\s$",
    "both numbers at once": r"\(s\)",
    "a dash between clauses": "[\u2013\u2014]| -- ",
    "a name after its state": r", installed is|; installed is",
    "prebuilt wheel": r"ready-made",
    "Hub kernel": r"[Kk]ernels? of the Hub\b(?! has no row)",
    "from the Hub": r"(?:Flash|Sage)Attention(?:-\d)? of the Hub",
    "still works": r"\b(?:goes|go) on (?:working|to work)",
    "side by side": r"beside each other",
    "predicted": r"\bforetold\b",
    "is missing, or is not installed": r"\bnowhere\b(?! else)",
    "says": r"\b(?:transformers|torch|vLLM|xformers) notes\b",
    "is not": r"(?<!there )\bis no (?:list|log|name|number|range|switch|text|version)\b",
    "checks, or predicts": r"\bjudged on the facts\b",
    "made for each other": r"\bof the same time\b",
    "is in, or is listed": r"\bstands? (?:above|below|in the lines|only in)\b",
    "CPU build": r"\bbuild for the CPU\b",
    "is too old, or checks": r"\bwhile it is imported\b(?=: it)",
    "can be loaded": r"\bcannot be had\b(?! without the network)",
    "an": r"\b[Aa] (?=xformers|[aeio][a-z]|8\b)(?!one\b|once\b)",
    "a": r"\b[Aa]n (?=[bcdgjkpqtvwyz][a-z])",
    "half precision": r"\b(?:a|is|becomes?|stay|in) half(?=[,.;]| (?:query|value|dtype|while))",
}
"""What a text says -> how it must not be said."""


def texts() -> Iterator[tuple[str, str, str]]:
    """Yield the place, the kind and the text of everything that a person reads of a rule."""
    for rule in compiled().knowledge.rules:
        yield rule.id, "title", rule.title
        yield rule.id, "sentence", rule.message
        yield rule.id, "sentence", rule.why
        if rule.affects is not None and rule.affects.nothing:
            yield rule.id, "part", rule.affects.nothing
        for symptom in rule.symptoms:
            if symptom.message:
                yield rule.id, "sentence", symptom.message
        for fix in rule.fixes:
            place = f"{rule.id}: {fix.id}"
            yield place, "fix", fix.title
            if fix.side_effects:
                yield place, "sentence", fix.side_effects
            for step in fix.steps:
                if step.advice:
                    yield place, "sentence", step.advice


def cells() -> Iterator[tuple[str, str]]:
    """Yield the table and the text of each cell of words, and of each reason for an unknown."""
    for table in compiled().knowledge.tables.values():
        columns = [name for name, kind in table.columns.items() if kind == "text"]
        for row in table.rows:
            for name in columns:
                cell = row.get(name)
                text = cell.get("unknown") if isinstance(cell, dict) else cell
                if isinstance(text, str) and text.count(" ") > 2:
                    yield f"{table.table}.{name}", text


ALL = [(place, kind, " ".join(text.split("\n"))) for place, kind, text in texts()]
OF_OTHERS = ("log-words.", "names-", "status-codes.", "told-causes.telling")
"""Tables of patterns, and of what other programs and people say."""
CELLS = [each for each in dict.fromkeys(cells()) if not each[0].startswith(OF_OTHERS)]


PACKAGE = Path(__file__).parents[2] / "fadoctor"
_DOCSTRING = re.compile(r'"""[\s\S]*?"""')
_COMMENT = re.compile(r"(?m)(?:^|\s)# .*$")
_LITERAL = re.compile(r'"((?:[^"\\\n]|\\.)*)"')

OF_TEXTS_ALONE = {"two blanks", "a blank at an end", "a dash between clauses"}
"""What code may hold: ends of lines that go on, columns, ``run -- COMMAND``."""

LOGGED = ("foretold to fail, imported", "nothing foretold, import failed", "kernel of the Hub")
"""What a rule looks for in the program's own report, and the name of an operand."""


def program() -> Iterator[tuple[str, str]]:
    """Yield the module and the text of each string of several words: about 2,400 in 0.15 s."""
    for path in sorted(PACKAGE.rglob("*.py")):
        code = _COMMENT.sub("", _DOCSTRING.sub("", path.read_text(encoding="utf-8")))
        for found in _LITERAL.finditer(code):
            if found[1].count(" ") > 1 and found[1] not in LOGGED:
                yield path.relative_to(PACKAGE).as_posix(), found[1]


SAID = list(program())


def test_there_is_something_to_read() -> None:
    assert len(SAID) > 2_000
    assert len(ALL) > 2_000
    assert len(CELLS) > 100


@pytest.mark.parametrize("meant", AVOIDED)
def test_no_text_says_it_the_other_way(meant: str) -> None:
    pattern = re.compile(AVOIDED[meant])
    found = [(place, text) for place, _, text in ALL if pattern.search(text)]
    assert found == []
    assert [(place, text) for place, text in CELLS if pattern.search(text)] == []
    if meant not in OF_TEXTS_ALONE:
        assert [(place, text) for place, text in SAID if pattern.search(text)] == []


def test_titles_are_short_and_have_no_full_stop() -> None:
    titles = [(place, text) for place, kind, text in ALL if kind in ("title", "fix")]
    assert [each for each in titles if each[1].endswith((".", ":", ";", ","))] == []
    short = [text for place, kind, text in ALL if kind == "title" and len(text) > _TITLE_CHARACTERS]
    assert short == []


def test_a_fix_begins_with_what_to_do() -> None:
    fixes = [(place, text) for place, kind, text in ALL if kind == "fix"]
    assert [
        each for each in fixes if each[1].removeprefix("Or ").split()[0].capitalize() not in VERBS
    ] == []
    assert [each for each in fixes if len(each[1].split()) > _FIX_TITLE_WORDS] == []


def test_sentences_end_and_are_short() -> None:
    found = [(place, text) for place, kind, text in ALL if kind == "sentence"]
    assert [each for each in found if not _END.search(each[1])] == []
    long = [
        (place, sentence)
        for place, text in found
        for sentence in re.split(r"(?<=[.:;?])\s+", text)
        if len(sentence.split()) > _SENTENCE_WORDS
    ]
    assert long == []
