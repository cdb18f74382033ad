"""What is asked about a problem when some of its conditions do not hold."""

from __future__ import annotations

import pytest

from fadoctor.judging.diagnose import diagnose
from fadoctor.repair.plan.search import wishes
from fadoctor.repair.plan.search.conflict import _Question
from fadoctor.repair.plan.search.problem import Base
from fadoctor.sources.targets.derived import derive
from tests.states.sequences import on_platform
from tests.states.starts import start
from tests.unit.judging.engine.builders import ABSENT
from tests.unit.repair.plan.problems import golden, plan, problem, session, with_package

HEALTHY = golden("linux-a100-healthy")


def test_what_would_do_may_not_lose_what_works() -> None:
    """Else an ancient torch is an answer: a file for it exists, and none of its own attention."""
    made = problem(HEALTHY)
    report = diagnose(HEALTHY, session().knowledge)
    question = _Question(made, Base(report.findings, report.verdicts), ())
    relaxed = question.problem_without([])
    assert relaxed is not None
    assert made.worked
    assert relaxed.worked == made.worked


@pytest.mark.long
def test_what_is_not_known_is_not_replaced_with_a_newer_driver() -> None:
    """Beside the driver it asked for another torch and vLLM, for a triton that nobody had read."""
    driver = {"driver__version": "470.82.01", "driver__library_version": "470.82.01"}
    unread = {"triton__binary__file": ABSENT, "triton__loads": ABSENT}
    here = golden("linux-a100-healthy", driver__cuda="11.4", **driver, **unread)
    made = plan(with_package(here, "vllm", "0.11.0", {"torch": "==2.8.0"}))
    found = [each for conflict in made.conflicts for each in conflict.alternatives]
    [newer] = [each for each in found if each.give_up == "a newer NVIDIA driver"]
    assert newer.changes == ()


def test_what_only_another_major_of_transformers_would_break_is_not_decided_about() -> None:
    """Each such package makes the search three times as long; nobody asked for that major."""
    driver = {"driver__version": "470.82.01", "driver__library_version": "470.82.01"}
    here = golden("linux-a100-healthy", driver__cuda="11.4", **driver)
    assert {"peft", "liger_kernel"}.isdisjoint(problem(here).packages)


def test_what_would_break_is_told_as_what_would_be(monkeypatch: pytest.MonkeyPatch) -> None:
    """It read as if another torch than the one of the plan were installed."""
    monkeypatch.setattr(wishes, "_brings_triton", lambda _: True)  # flex is a wish there, then
    gh200 = ("NVIDIA GH200 480GB", "9.0", "570.124.06")
    needs = {"torch": "==2.8.0", "torchvision": "==0.23.0"}
    here = with_package(start("CPU torch of 2.9", gh200), "vllm", "0.11.0", needs)
    here = with_package(here, "torchvision", "0.23.0+cpu", {"torch": "==2.8.0"})
    here = with_package(here, "torch", "2.8.0+cpu")
    made = plan(derive(on_platform(here, "linux_aarch64"), session().matrix))
    [found] = made.conflicts
    assert "".join(found.because).startswith("it needs torch 2.11.0+cu128, and then vLLM 0.11.0 ")
