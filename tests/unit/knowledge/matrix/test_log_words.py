"""Lists of words that patterns refer to by name."""

from __future__ import annotations

import re
from pathlib import Path

from fadoctor.knowledge.matrix.load import SOURCE, load_knowledge
from fadoctor.knowledge.matrix.log_words import NAMED, PLACES, spell_out, words_of


def test_names_become_what_they_stand_for_and_repetitions_stay() -> None:
    symptom = {"pattern": "a{0,20} {our-stack}b", "near": ["{our-stack}"], "anchor": "{our-stack}"}
    assert spell_out(symptom, {"our-stack": "x|y"}) == ""
    assert symptom == {
        "pattern": "a{0,20} (?:x|y)b",
        "near": ["(?:x|y)"],
        "anchor": "{our-stack}",
    }


def test_a_name_that_there_is_not_is_told() -> None:
    assert spell_out({"absent": ["{our-stack}|{theirs}"]}, {"our-stack": "x"}) == "theirs"


def test_every_list_is_used_in_several_places_and_is_a_pattern() -> None:
    words = words_of(load_knowledge().tables)
    rules = [path for path in Path(SOURCE).glob("*/*.yaml") if path.parent.name != "matrix"]
    used = [name for path in rules for name in NAMED.findall(path.read_text(encoding="utf-8"))]
    places = {str(row["situation"]) for row in load_knowledge().tables[PLACES].rows}
    assert [name for name in words if name not in places and used.count(name) < 1] == []
    for pattern in words.values():
        re.compile(pattern)


def test_a_place_is_a_list_of_words_for_fixes() -> None:
    fix = {"logged": ["{on-wsl}"], "unlogged": ["{on-wsl}"], "title": "{on-wsl}"}
    assert spell_out(fix, words_of(load_knowledge().tables)) == ""
    assert "{" not in fix["logged"][0] + fix["unlogged"][0]
    assert fix["title"] == "{on-wsl}"
