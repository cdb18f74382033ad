"""Results of the API as a person prints them: the command's text, and one short line."""

from __future__ import annotations

import sys
from importlib import util
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from fadoctor import api
from fadoctor.model.errors import TargetError, UsageError

if TYPE_CHECKING:
    from fadoctor.report.results import FactsResult

ERROR = "RuntimeError: FlashAttention only support fp16 and bf16 data type"


@pytest.fixture(scope="module")
def here(tmp_path_factory: pytest.TempPathFactory) -> FactsResult:
    """Return the facts of an environment that holds nothing."""
    site: Path = tmp_path_factory.mktemp("site-packages")
    return api.facts(site_packages=site, cache=False)


def test_check_prints_what_the_command_prints(here: FactsResult) -> None:
    found = api.check(facts=here, gpu="V100", driver="550.54.15")
    assert "V100" in str(found)
    assert f"fadoctor {found.fadoctor}." in str(found).splitlines()[-1]
    counts = found.summary
    assert repr(found).startswith("<CheckResult: ")
    assert (f"unknown={counts.unknown}" in repr(found)) is bool(counts.unknown)
    assert len(repr(found)) < 100


def test_explain_and_answer_print_the_cause() -> None:
    cause, found = api.explain(ERROR), api.answer(ERROR)
    assert repr(cause) == "<ExplainResult: dtype-fp32-into-fa2>"
    assert repr(found) == "<AnswerResult: error, <ExplainResult: dtype-fp32-into-fa2>>"
    assert str(found) == str(found.document)
    assert cause.findings[0].title in str(cause)
    assert repr(api.explain("all is well")) == "<ExplainResult: no cause>"


def test_facts_and_plan_print_a_summary(here: FactsResult) -> None:
    assert repr(here) == f"<FactsResult: {len(here.facts)} facts>"
    assert "Packages:" in str(here)
    assert len(str(here).splitlines()) < 20
    plan = api.plan(facts=here)
    assert repr(plan) == f"<PlanResult: {plan.outcome.value}, {len(plan.actions)} steps>"
    assert str(plan).strip()


def test_facts_become_a_page_for_a_bug_report(here: FactsResult) -> None:
    page = here.markdown()
    assert page.startswith("<details><summary>")
    assert str(Path.home()) not in page
    assert "Everything that was read:" in page


@pytest.mark.parametrize("calls", [0, -1, True, "3", 1.5, 10**9])
def test_trace_of_no_number_of_calls_is_refused(calls: object) -> None:
    with pytest.raises(UsageError, match=r"trace\(calls=.*must be a whole number from 1"):
        api.trace(calls)  # type: ignore[arg-type]  # what callers may give


def test_trace_that_has_not_begun_says_so() -> None:
    trace = api.trace()
    assert repr(trace) == str(trace) == "<Trace: not begun>"
    for ask in (trace.document, trace.report, trace._repr_html_):
        with pytest.raises(UsageError, match="has not begun: call the model inside"):
            ask()


def test_trace_without_torch_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, "torch", raising=False)
    real = util.find_spec
    monkeypatch.setattr(
        "fadoctor.proof.trace.inside.find_spec",
        lambda name: None if name == "torch" else real(name),
    )
    before = list(sys.meta_path)
    with pytest.raises(TargetError, match=r"trace needs torch, which .* does not have"):
        api.trace().__enter__()
    assert sys.meta_path == before
