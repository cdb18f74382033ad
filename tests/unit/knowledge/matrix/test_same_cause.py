"""Two rules that are one root cause are refused, and exceptions that except nothing."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from fadoctor.knowledge.matrix.compile import compile_rules
from tests.unit.knowledge.matrix.folders import rule_text, write

if TYPE_CHECKING:
    from pathlib import Path

FIX = "\n  - id: other-gcc\n    title: Take another gcc\n    steps: [{advice: Do it.}]"
AROUND = FIX.replace("other-gcc", "use-sdpa")
SYMPTOMS = "\n  - anchor: no such gcc"
PAIR = "by-facts and by-words share the fix other-gcc"


def compiled(
    tmp_path: Path, facts_fixes: str, words_fixes: str, stated: str = "", when: str = ""
) -> list[str]:
    """Compile a rule about facts beside one about words, which may have conditions, too."""
    by_words = {"when": when, "symptoms": SYMPTOMS, "fixes": words_fixes, "message": "It is so."}
    facts, words = (
        rule_text("by-facts", fixes=facts_fixes),
        rule_text("by-words", area="other", **by_words),
    )
    folder = write(tmp_path, area__by_facts=facts, other__by_words=words)
    (folder / "knowledge.yaml").write_text(f'version: "7"\n{stated}')
    found = compile_rules(folder).problems
    return [str(each).replace(f"{folder}/", "") for each in found]


def test_a_shared_fix_makes_two_rules_one_cause(tmp_path: Path) -> None:
    (problem,) = compiled(tmp_path, FIX, FIX)
    assert problem.startswith(f"knowledge.yaml:1: {PAIR}: write one rule")


@pytest.mark.parametrize(("other", "when"), [(AROUND, ""), (FIX, "{host.os: linux}"), ("[]", "")])
def test_other_fixes_or_both_ways_are_no_second_id(tmp_path: Path, other: str, when: str) -> None:
    assert compiled(tmp_path, FIX, other, when=when) == []


def test_a_fix_that_leads_around_says_nothing_of_a_cause(tmp_path: Path) -> None:
    stated = "ways_around:\n  use-sdpa: another attention\n"
    assert compiled(tmp_path, AROUND, AROUND, stated) == []
    assert len(compiled(tmp_path, FIX, FIX, stated)) == 1 + 1  # the pair, and an idle exception


def test_two_causes_are_listed_with_a_reason(tmp_path: Path) -> None:
    stated = "two_causes:\n  by-facts by-words: one is a state, the other a command\n"
    assert compiled(tmp_path, FIX, FIX, stated) == []
    assert PAIR in compiled(tmp_path, FIX, FIX, 'two_causes:\n  by-facts by-words: ""\n')[0]


def test_an_exception_that_excepts_nothing_is_refused(tmp_path: Path) -> None:
    stated = "ways_around:\n  gone-fix: for a rule that went\ntwo_causes:\n  by-facts gone: no\n"
    assert compiled(tmp_path, FIX, "[]", stated) == [
        "knowledge.yaml:5 at `two_causes.by-facts gone`: these rules share no fix",
        "knowledge.yaml:3 at `ways_around.gone-fix`: no rule has such a fix",
    ]
