"""What is asked about a problem when some of its conditions do not hold."""

from __future__ import annotations

from fadoctor.diagnose import diagnose
from fadoctor.plan.conflict import _Question
from fadoctor.plan.problem import Base
from tests.unit.plan.problems import golden, problem, session

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
