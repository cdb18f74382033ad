"""How a finding and its fixes are printed: the best, what is at stake, and what else there is."""

from __future__ import annotations

from fadoctor.model.finding import Confidence, Evidence, Finding, Severity
from fadoctor.model.fix import Fix, Safety, Step, StepKind
from fadoctor.report.paper import Paper, wrapped
from fadoctor.report.style import Style

COMMAND = "pip install 'flash-attn @ https://example.org/" + "a" * 120 + ".whl'"


def finding(*fixes: Fix, rule_id: str = "a-rule") -> Finding:
    return Finding(
        rule_id, Severity.ERROR, Confidence.HIGH, "Title", "Message.", "Why.", "environment",
        (Evidence("a.fact", "x", "test"),), fixes, (), (), "0",
    )  # fmt: skip


def printed(*findings: Finding, verbose: bool = False) -> list[str]:
    paper = Paper(Style(width=80, verbose=verbose))
    for each in findings:
        paper.finding(each, ["environment"])
    return [line.strip() for line in paper.lines]


def fix(fix_id: str, title: str, safety: Safety = Safety.UNSAFE, effects: str = "") -> Fix:
    return Fix(fix_id, title, safety, (Step(StepKind.ADVICE, f"Do {fix_id}."),), effects)


def test_what_is_at_stake_is_said_and_nothing_is_called_unsafe() -> None:
    lines = printed(finding(fix("one", "Upgrade", effects="It is slow.")))
    assert "fix: Upgrade" in lines
    assert "but: It is slow." in lines
    assert not any("safe" in line for line in lines)


def test_the_fix_that_risks_nothing_is_always_shown() -> None:
    risky, safe = fix("one", "Replace it"), fix("two", "Or use another", Safety.SAFE)
    lines = printed(finding(risky, fix("three", "Or remove it"), safe))
    assert [line for line in lines if line.startswith("fix:")] == [
        "fix: Replace it",
        "fix: Or use another",
    ]
    assert "or: remove it (--verbose)" in lines


def test_what_comes_first_is_no_alternative() -> None:
    """The fixes before it may be refuted, and not shown."""
    assert "fix: Take another" in printed(finding(fix("one", "Or take another")))


def test_a_setting_stays_whole_and_goes_below_its_framework_where_both_are_too_long() -> None:
    short, long = 'attn_implementation="sdpa"', 'attn_implementation="sdpa", dtype=torch.float16'
    steps = tuple(Step(StepKind.SETTING, f"transformers: {each}") for each in (short, long))
    paper = Paper(Style(width=50))
    paper.finding(finding(Fix("one", "Use it", Safety.SAFE, steps)), ["environment"])
    assert f"    - transformers: {short}" in paper.lines
    assert paper.lines[paper.lines.index("    - transformers:") + 1] == f"      {long}"


def test_what_is_typed_within_a_sentence_is_never_broken() -> None:
    typed = "`fadoctor fix --dry-run --want fa4`"
    for width in range(40, 60):
        assert any(typed in line for line in wrapped(f"For this torch {typed} names one.", width))


def test_commands_stay_whole_and_are_printed_once() -> None:
    step = Step(StepKind.INSTALL, COMMAND, ("flash-attn",))
    plan = Fix("plan", "Install it", Safety.SAFE, (step,))
    lines = printed(finding(plan), finding(plan, rule_id="b-rule"))
    assert lines.count(f"- {COMMAND}") == 1
    assert "fix: the same as for a-rule, above" in lines
