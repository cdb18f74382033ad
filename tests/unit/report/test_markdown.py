"""Markdown of each kind of document: escaped, folded, bounded."""

from __future__ import annotations

import re
from typing import Any

from msgspec import structs

from fadoctor.api import explain
from fadoctor.judging.diagnose import diagnose
from fadoctor.model.fact import Known
from fadoctor.model.finding import Evidence, Severity, Undecided
from fadoctor.report.markdown import render
from fadoctor.report.markdown_screen import SCREEN, height
from tests.smoke.smoke_recordings import complete
from tests.unit.judging.engine.builders import environment, shipped
from tests.unit.report.ci.hostile import HOSTILE, finding

A_V100: dict[str, Any] = {
    "gpu.count": 1,
    "gpu[0].name": "Tesla V100-SXM2-16GB",
    "gpu[0].compute_capability": "7.0",
    "gpu[0].visible": True,
    "gpu[0].vendor": "nvidia",
    "torch.version": "2.8.0",
    "torch.cuda": "12.8",
    "flash_attn.version": "2.8.3",
}


def report() -> Any:
    return diagnose(environment(complete(A_V100)), shipped())


def test_the_answer_stands_before_what_is_wrong_and_the_table_after_it() -> None:
    text = render(report())
    answer = "❌ Tesla V100-SXM2-16GB: FlashAttention-2 cannot run on this GPU."
    parts = ("### fadoctor check", answer, "**Use ", "#### ❌", "| backend")
    places = [text.index(part) for part in parts]
    assert places == sorted(places)
    assert text.count("<details>") == text.count("</details>") >= 2


def test_of_many_kinds_of_gpus_some_are_answered() -> None:
    names = ("V100", "T4", "A100", "H100", "L4", "A10")
    facts: dict[str, Any] = {**A_V100, "gpu.count": len(names)}
    for index, name in enumerate(names):
        facts |= {f"gpu[{index}].{key}": A_V100[f"gpu[0].{key}"] for key in (
            "compute_capability", "visible", "vendor")} | {f"gpu[{index}].name": name}  # fmt: skip
    text = render(diagnose(environment(complete(facts)), shipped()))
    assert text.count("cannot run on this GPU.\\\n") == 4
    assert "\nand 2 more kinds of GPU\n" in text


def test_commands_are_fenced_as_they_are_typed() -> None:
    shown = structs.replace(report(), findings=(finding("any", text="a `b` ```c```"),))
    text = render(shown)
    assert "````sh\npip install a `b` ```c```\n````" in text


def test_no_text_from_outside_becomes_markup() -> None:
    plain = report()
    facts = {**plain.environment, "torch.version": Known(HOSTILE, "x")}
    nasty = tuple(finding(f"nasty-{n}", each, HOSTILE) for n, each in enumerate(Severity))
    text = render(structs.replace(plain, environment=facts, findings=nasty, notes=(HOSTILE,)))
    fences = re.compile(r"^(`{3,})\w*\n.*?^\1$", re.DOTALL | re.MULTILINE)
    outside = re.sub(r"(`+) ?.*?\1", "", fences.sub("", text))
    assert "<script" not in re.sub(r"\\<", "", outside)
    assert all(char.isprintable() or char == "\n" for char in text)


def test_a_page_that_is_too_long_says_so() -> None:
    many = tuple(finding(f"rule-{n}", text="x" * 3_000) for n in range(300))
    text = render(structs.replace(report(), findings=many))
    assert len(text) < 1_000_000
    assert text.endswith("The rest does not fit: `--format json` has all of it.\n")


def test_a_cause_is_a_screen_at_most_with_all_its_subjects() -> None:
    """One rule stood there seven times, without its subject."""
    evidence = tuple(Evidence(f"fact-{number}", "x", "y") for number in range(90))
    alike = [
        structs.replace(finding("any", text="It is too old."), subject=f"gpu[{number}]",
                        evidence=evidence)
        for number in range(7)
    ]  # fmt: skip
    text = render(structs.replace(report(), findings=tuple(alike), verdicts=(), unknown=()))
    sections = text.split("#### ")[1:]
    assert len(sections) == 1
    assert "gpu\\[6\\]" in sections[0]
    assert len(sections[0].partition("<summary>Environment")[0].splitlines()) <= 40


def test_what_does_not_fit_a_screen_is_folded_and_is_all_there() -> None:
    """One cause took 77 lines: every way, every step and the table of each GPU stood open."""
    fix = finding("any").fixes[0]
    steps = tuple(structs.replace(fix.steps[0], text=f"step {number}") for number in range(30))
    ways = tuple(
        structs.replace(fix, id=f"way-{number}", title=f"Way {number}", steps=steps)
        for number in range(3)
    )
    long = structs.replace(finding("any", text="It is too old. " * 200), fixes=ways)
    long = structs.replace(long, title="Old", subject="gpu[0]")
    names = ("V100", "T4", "A100", "H100", "L4", "A10")
    facts: dict[str, Any] = {**A_V100, "gpu.count": len(names)}
    for index, name in enumerate(names):
        facts |= {f"gpu[{index}].{key}": A_V100[f"gpu[0].{key}"] for key in (
            "compute_capability", "visible", "vendor")} | {f"gpu[{index}].name": name}  # fmt: skip
    whole = diagnose(environment(complete(facts)), shipped())
    text = render(structs.replace(whole, findings=(long,), notes=("a",) * 90))
    assert height(text) <= SCREEN
    for said in ("step 0", "step 29", "Way 0", "Way 2", "27 more steps", "What works on gpu"):
        assert said in text
    opened = text.partition("<details><summary>27 more steps")[0]
    assert "step 0" in opened
    assert "Way 1" not in opened
    assert text.count("<details>") == text.count("</details>")


def test_what_fits_a_screen_stays_open() -> None:
    text = render(structs.replace(report(), findings=()))
    assert "<summary>What works on" not in text
    assert "| fa2 |" in text


def test_a_folded_block_is_one_line_and_a_long_sentence_several() -> None:
    assert height("a") == 2
    assert height("a " * 120) == 4
    assert height("<details><summary>a</summary>\n\nb\n\n</details>") == 2
    assert height(f"````sh\n{'a' * 300}\n```\n````") == 4


def test_what_stayed_open_is_told_by_reason() -> None:
    """It was a line for each of 170 rules."""
    many = tuple(Undecided(f"rule-{number}", (), "nobody read it") for number in range(170))
    text = render(structs.replace(report(), unknown=many))
    [line] = [line for line in text.splitlines() if "nobody read it" in line]
    assert line.endswith("and 164 more")


def test_commands_in_sentences_are_code() -> None:
    """An issue showed the backticks of a command, and its underscores escaped."""
    text = "ImportError: libcudart.so.12: cannot open shared object file: No such file or directory"
    said = render(explain(text))
    assert '`python -c "import torch; print(torch.__version__, torch.version.cuda)"`' in said
    assert "\\`" not in said
