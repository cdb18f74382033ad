"""The words that the compiler works out for the shipped rules lose no match of theirs."""

from __future__ import annotations

import re

from fadoctor.model.rule import LOG_PATTERNS
from fadoctor.syntax.patterns import compiled as late
from tests.shipped import compiled

COMPILED = compiled()


def test_each_match_of_a_case_holds_the_words_that_it_needs() -> None:
    matched = 0
    for rule in COMPILED.knowledge.rules:
        texts = [str(case["log"]) for case in COMPILED.cases[rule.id] if "log" in case]
        for text, symptom in ((text, each) for text in texts for each in rule.symptoms):
            beside = (*symptom.near, *symptom.same_line)
            patterns = (symptom.pattern or re.escape(symptom.anchor), *beside)
            if all(re.search(each, text, re.ASCII) for each in patterns):
                small = text.lower()
                assert all(any(x in small for x in choice) for choice in symptom.needs), rule.id
                matched += bool(symptom.needs)
    assert matched > 1_000


def test_each_line_that_chooses_a_fix_holds_the_words_that_its_pattern_needs() -> None:
    matched = 0
    for rule in COMPILED.knowledge.rules:
        lines = [
            line
            for case in COMPILED.cases[rule.id]
            for line in str(case.get("log", "")).splitlines()
        ]
        for fix, key in ((fix, key) for fix in rule.fixes for key in LOG_PATTERNS):
            words = fix.words.get(key, ())
            for pattern, needed in zip(getattr(fix, key), words, strict=bool(words)):
                for line in filter(re.compile(pattern, re.ASCII).search, lines):
                    assert not needed or any(x in line.lower() for x in needed), (fix.id, pattern)
                    matched += bool(needed)
    assert matched > 1_000


def test_a_pattern_that_is_compiled_late_finds_what_it_finds_at_once() -> None:
    matched = 0
    for rule in COMPILED.knowledge.rules:
        texts = [str(case["log"]) for case in COMPILED.cases[rule.id] if "log" in case]
        for symptom in rule.symptoms:
            beside = (*symptom.near, *symptom.same_line, *symptom.absent, *symptom.survived)
            for pattern in filter(None, (symptom.pattern, *beside)):
                for text in texts:
                    found = re.search(pattern, text, re.ASCII)
                    late.cache_clear()
                    assert str(late(pattern).search(text)) == str(found), pattern
                    matched += found is not None
    assert matched > 1_000
