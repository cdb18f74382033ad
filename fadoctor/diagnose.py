"""From facts to the report: judge, predict, join what was measured, recommend."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from fadoctor import __version__
from fadoctor.engine.judge import Assessment, judge
from fadoctor.kernels import Kernels, visible_gpus
from fadoctor.matrix.query import Matrix
from fadoctor.measurements import join_measurements, notes
from fadoctor.model.finding import Severity
from fadoctor.model.report import Report, RulesInfo, Summary
from fadoctor.recommendation import recommend
from fadoctor.targets.derived import derive
from fadoctor.verdicts import predict

if TYPE_CHECKING:
    from fadoctor.model.environment import Environment
    from fadoctor.model.rule import Knowledge
    from fadoctor.smoke.cells import SmokeRun


def diagnose(
    environment: Environment,
    knowledge: Knowledge,
    smoke: SmokeRun | None = None,
    ignore: tuple[str, ...] = (),
) -> Report:
    """Return the whole report on one environment. Pure: the same facts give the same report."""
    matrix = Matrix(knowledge.tables)
    environment = derive(environment, matrix)
    assessment = judge(environment, knowledge, ignore, matrix)
    kernels = Kernels(environment, matrix)
    verdicts = predict(kernels, assessment)
    if smoke is not None:
        verdicts = join_measurements(verdicts, smoke, visible_gpus(environment))
    return Report(
        fadoctor=__version__,
        rules=RulesInfo(knowledge.version, knowledge.sha256),
        target=environment.target,
        environment=environment.facts,
        findings=assessment.findings,
        unknown=assessment.unknown,
        verdicts=verdicts,
        recommendation=recommend(kernels),
        summary=_summary(assessment),
        overlays=environment.overlays,
        notes=(*environment.target.notes, *notes(smoke)),
        rule_errors=assessment.errors,
    )


def _summary(assessment: Assessment) -> Summary:
    count = Counter(finding.severity for finding in assessment.findings)
    return Summary(
        error=count[Severity.ERROR],
        warning=count[Severity.WARNING],
        note=count[Severity.NOTE],
        unknown=len(assessment.unknown),
    )
