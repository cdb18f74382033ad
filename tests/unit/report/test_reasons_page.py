"""The page that says why a rule came out as it did, and the lines of ``check --debug``."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from fadoctor.judging.engine.reasons import RuleReasons, reasons_of
from fadoctor.model.environment import Target
from fadoctor.model.fact import Unknown
from fadoctor.report import page_markdown, page_text
from fadoctor.report.reasons_page import (
    DEBUG_LINES,
    SUBJECTS_SHOWN,
    build_reasons_page,
    debug_lines,
    render_json,
)
from fadoctor.report.style import Style
from tests.unit.judging.engine.builders import UNREAD, Facts, assess, rule

if TYPE_CHECKING:
    from fadoctor.model.rule import Rule

HOSTILE = "\x1b[31mred\u202e"
EACH_GPU: dict[str, Any] = {
    "for_each": ["gpu"],
    "when": {"gpu.compute_capability": {"below": "8.0"}},
}


def reasons_for(one: Rule, facts: Facts) -> RuleReasons:
    return RuleReasons(Target("facts", "here", "test"), reasons_of(assess(facts, one)))


def page(facts: Facts, **keys: Any) -> str:
    one = rule(**keys)
    return page_text.render(build_reasons_page(one, reasons_for(one, facts)), Style(width=200))


def debug(facts: Facts, **keys: Any) -> list[str]:
    return list(debug_lines(reasons_for(rule(**keys), facts)))


def test_what_is_found_tells_all_conditions_and_fixes() -> None:
    fix = {"id": "mend", "title": "Mend", "steps": [{"advice": "Do."}], "when": {"host.wsl": True}}
    when = {"host.os": "linux", "any": [{"torch.version": "2"}, {"driver.version": "1"}]}
    text = page({"host.os": "linux", "torch.version": "2", "driver.version": None}, when=when,
                fixes=[fix])  # fmt: skip
    assert "environment: found\n  Found, severity error: all conditions hold.\n" in text
    assert "  - true: host.os is linux\n    - host.os is linux (test)\n" in text
    assert "  - true: any of\n    - true: torch.version is 2\n" in text
    assert (
        "    - not there: driver.version is 1\n      - driver.version is not there (test)" in text
    )
    assert "  - mend: not offered: its conditions do not surely hold\n    - unknown: host." in text


def test_what_is_not_found_says_which_condition_decides() -> None:
    when = {"host.os": "linux", "torch.version": {"below": "2"}}
    text = page({"host.os": "linux", "torch.version": "2.6"}, when=when)
    assert "environment: not found\n  Not found. This is false: torch.version is below 2.\n" in text
    text = page({"host.os": None, "torch.version": "2.6"}, when=when)
    assert "environment: does not apply" in text
    assert "Does not apply. There are no facts for: host.os is linux.\n" in text


def test_what_is_undecided_names_what_is_unknown_and_what_it_can_be() -> None:
    few = Unknown("no table says it", "test", among=("1", "3"))
    text = page({"torch.version": few}, when={"torch.version": {"below": "2"}})
    assert "Undecided: no table says it. This is unknown: torch.version is below 2.\n" in text
    assert "- torch.version is unknown: no table says it; it is one of 1, 3\n" in text


def test_what_is_found_for_each_possible_value_says_so() -> None:
    few = Unknown("no table says it", "test", among=("1", "3"))
    text = page({"torch.version": few}, when={"torch.version": {"below": "4"}})
    assert "all conditions hold for each value that the unknown facts can have." in text
    text = page({"torch.version": few}, when={"torch.version": {"below": "1"}})
    assert "Not found. This holds for each value that the unknown facts can have." in text


def test_evidence_that_overrules_and_conditions_of_the_severity() -> None:
    facts = {"host.os": "linux", "host.wsl": True}
    text = page(facts, overruled_by={"host.wsl": True})
    assert "Not found. Evidence overrules the conditions." in text
    assert "Evidence that overrules them (true):\n  - true: host.wsl is true" in text
    text = page(facts, when_severity={"severity": "note", "unless": {"host.wsl": False}})
    assert "Found, severity note: all conditions hold." in text
    assert "Conditions of the full severity (false):" in text


def test_many_subjects_are_bounded() -> None:
    many = {f"gpu[{i}].compute_capability": "7.0" for i in range(64)}
    text = page({"gpu.count": 64, **many}, **EACH_GPU)
    assert text.count(": found\n") == SUBJECTS_SHOWN
    assert "not shown" not in text
    one = rule(**EACH_GPU)
    told = reasons_for(one, {"gpu.count": 64, **many})
    twice = RuleReasons(told.target, (*told.subjects, *told.subjects))
    text = page_text.render(build_reasons_page(one, twice), Style())
    assert "64 more subjects are not shown." in text


def test_a_kind_that_is_not_there_names_its_count() -> None:
    text = page({"gpu.count": 0}, **EACH_GPU)
    assert "gpu: does not apply\n  Does not apply. There is nothing to judge it for.\n" in text
    assert "  - gpu.count is 0 (test)\n" in text


def test_a_rule_of_logs_alone_says_so() -> None:
    one = rule(when={}, symptoms=[{"anchor": "boom"}])
    text = page_text.render(build_reasons_page(one, reasons_for(one, {})), Style())
    assert "Only a log shows it" in text


def test_texts_from_outside_do_no_harm() -> None:
    one = rule(when={"host.os": {"not": "linux"}})
    told = reasons_for(one, {"host.os": HOSTILE})
    shown = [
        page_text.render(build_reasons_page(one, told), Style()),
        page_markdown.render(build_reasons_page(one, told)),
        "\n".join(debug_lines(told)),
        render_json(one.id, told),
    ]
    for text in shown:
        assert text.replace("\n", "").isprintable()
        assert "red" in text


def test_long_values_are_cut() -> None:
    packages = {f"package-{i}": "1" for i in range(1_000)}
    text = page({"packages.installed": packages}, when={"packages.installed": {"contains": "a"}})
    assert "package-1 1, " in text
    assert len(text) < 1_500


def test_json_holds_each_test_with_its_facts() -> None:
    one = rule(when={"torch.version": {"below": "2"}})
    document = json.loads(render_json(one.id, reasons_for(one, {"torch.version": "2.6"})))
    assert (document["schema_version"], document["rule_id"]) == (1, "some-rule")
    [subject] = document["subjects"]
    [part] = subject["when"]["parts"]
    assert (part["path"], part["operator"], part["operand"]) == ("torch.version", "below", "2")
    assert part["met"] == [
        {"name": "torch.version", "fact": {"state": "known", "value": "2.6", "source": "test"}}
    ]
    assert (part["truth"], subject["outcome"]) == ("false", "pass")


def test_debug_tells_a_pass_in_one_line_and_a_failure_whole() -> None:
    when = {"torch.version": {"below": "2"}}
    assert debug({"torch.version": "2.6"}, when=when) == [
        (
            "some-rule for environment: Not found. This is false: "
            "torch.version is below 2 (torch.version is 2.6 (test))."
        )
    ]
    assert debug({"torch.version": "1.0"}, when=when)[1:] == [
        "  Conditions, all of which must hold (true):",
        "  - true: torch.version is below 2",
        "    - torch.version is 1.0 (test)",
    ]
    assert len(debug({"torch.version": UNREAD}, when=when)) == 4


def test_debug_is_bounded_and_says_how_much_is_left_out() -> None:
    [one] = reasons_for(rule(), {"host.os": "linux"}).subjects
    many = RuleReasons(Target("facts", "here", "test"), (one,) * DEBUG_LINES)
    lines = list(debug_lines(many))
    assert len(lines) == DEBUG_LINES + 1
    assert lines[-1].startswith(f"{3 * DEBUG_LINES} more lines are not shown")
