"""The table of names that are imported under a condition, and the words that find them in logs."""

from __future__ import annotations

from fadoctor.knowledge.matrix.load import load_knowledge


def test_patterns_have_the_names_of_the_table() -> None:
    tables = load_knowledge().tables
    words = {row["name"]: str(row["pattern"]) for row in tables["log-words"].rows}
    found = [*words["accelerate-names"].split("|"), *words["guarded-names"].split("|")]
    named = " ".join(str(row["name"]) for row in tables["guarded-names"].rows)
    assert sorted(found) == sorted(named.split())
