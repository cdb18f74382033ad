"""From facts to reports: judge, predict, join what was measured, recommend."""

from __future__ import annotations

from collections import Counter
from functools import cached_property
from typing import TYPE_CHECKING

import msgspec

from fadoctor import __version__
from fadoctor.judging.engine.judge import Assessment, judge, left_by, order_of
from fadoctor.judging.verdicts.measurements import (
    join_measurements,
    notes,
    unmeasured,
    what_was_not_tried,
    with_foreseen,
    with_predictions,
)
from fadoctor.judging.verdicts.predict import predict
from fadoctor.judging.verdicts.recommendation import recommend
from fadoctor.knowledge.matrix.age import newer_than_tables
from fadoctor.knowledge.matrix.kernels import Kernels, visible_gpus
from fadoctor.knowledge.matrix.query import Matrix
from fadoctor.model.environment import PASTED, Environment
from fadoctor.model.fact import Absent, Known, fact_text
from fadoctor.model.finding import Finding, Severity, Undecided
from fadoctor.model.packages import BYSTANDERS, PACKAGES
from fadoctor.model.report import Report, Summary, rules_info
from fadoctor.model.rule import Knowledge
from fadoctor.model.smoke import SmokeReport, SmokeRun, SmokeSummary
from fadoctor.model.verdict import Backend, Measured, Verdict
from fadoctor.sources.targets.derived import derive

if TYPE_CHECKING:
    from collections.abc import Iterable


class Judged:
    """An environment with its completed facts; the rules judge it once, when first asked."""

    def __init__(self, environment: Environment, knowledge: Knowledge) -> None:
        """Complete the facts."""
        self.knowledge = knowledge
        self.matrix = Matrix(knowledge.tables)
        self.environment = derive(environment, self.matrix)

    @cached_property
    def assessment(self) -> Assessment:
        """What the rules say."""
        return judge(self.environment, self.knowledge, self.matrix)

    def foresee(self, ignore: tuple[str, ...] = (), *, predicts: bool = True) -> Prognosis:
        """Predict the table; findings of ignored rules are hidden, not more.

        `predicts`: whether the table is wanted, and not the findings alone.
        """
        kernels = Kernels(self.environment, self.matrix)
        verdicts = predict(kernels, self.assessment) if predicts else ()
        ignored = self.knowledge.current(ignore)
        return Prognosis(
            self.environment, self.knowledge, ignored, self.assessment, kernels, verdicts
        )


class Prognosis(msgspec.Struct, frozen=True):
    """What the facts alone say."""

    environment: Environment
    knowledge: Knowledge
    ignore: tuple[str, ...]
    """Ids of rules whose findings are not shown; they are judged like all others."""
    assessment: Assessment
    kernels: Kernels
    verdicts: tuple[Verdict, ...]
    is_partial: bool = False
    """Whether it is a first answer: other releases that files allow are not judged yet."""

    def version_of(self, backend: Backend) -> str:
        """Return the version of the package that brings a backend."""
        return fact_text(self.kernels.version(backend), "unknown")

    @property
    def shown(self) -> tuple[Finding, ...]:
        """Return the findings that a report shows: of the facts, and what a text complains of."""
        found = left_by(self.assessment, self.ignore)
        complaints = self.environment.complaints
        if not complaints:
            return found
        shown = {each.rule_id: each for each in complaints}
        found = tuple(_with_fixes(each, shown.get(each.rule_id)) for each in found)
        told = {name for each in found for name in (each.rule_id, *each.consequences)}
        more = (each for each in complaints if each.rule_id not in {*told, *self.ignore})
        return tuple(sorted((*found, *more), key=order_of))

    @property
    def open(self) -> tuple[Undecided, ...]:
        """Return what a report calls undecided."""
        return tuple(each for each in self.assessment.unknown if each.rule_id not in self.ignore)


def _with_fixes(finding: Finding, complaint: Finding | None) -> Finding:
    """Return a finding; one without fixes with those that a text's own words lead to."""
    if complaint is None or finding.fixes:
        return finding
    return msgspec.structs.replace(finding, fixes=complaint.fixes)


def foresee(
    environment: Environment,
    knowledge: Knowledge,
    ignore: tuple[str, ...] = (),
    *,
    predicts: bool = True,
) -> Prognosis:
    """Judge the facts, and predict the table where it is wanted."""
    return Judged(environment, knowledge).foresee(ignore, predicts=predicts)


def diagnose(
    environment: Environment,
    knowledge: Knowledge,
    smoke: SmokeRun | None = None,
    ignore: tuple[str, ...] = (),
) -> Report:
    """Return the whole report on one environment. Pure: the same facts give the same report."""
    return conclude(foresee(environment, knowledge, ignore), smoke)


def conclude(prognosis: Prognosis, smoke: SmokeRun | None = None) -> Report:
    """Return the report of ``check``: what was foreseen, and what a run has shown."""
    environment, assessment = prognosis.environment, prognosis.assessment
    verdicts, findings = prognosis.verdicts, prognosis.shown
    unknown = (*prognosis.open, *unmeasured(smoke))
    if smoke is not None:
        gpus = visible_gpus(environment)
        smoke = with_predictions(smoke, verdicts, gpus)
        smoke = with_foreseen(smoke, assessment.findings)
        verdicts = join_measurements(verdicts, smoke, gpus, prognosis.version_of)
        findings = _added(findings, assessment.findings, _causes(prognosis, smoke))
    if findings:
        # Late, as in `judge`: only findings have fixes.
        from fadoctor.judging.verdicts.vain_fixes import without_vain_fixes  # noqa: PLC0415

        findings = without_vain_fixes(findings, prognosis.kernels, prognosis.knowledge)
    told, more = unknown, notes(smoke)
    if newer := newer_than_tables(environment, prognosis.knowledge):
        more = (newer, *more)
    if environment.target.reason == PASTED:
        told, verdicts, left = _of_a_paste(prognosis, unknown, verdicts)
        more = (*more, *left)
    return Report(
        fadoctor=__version__,
        rules=rules_info(prognosis.knowledge),
        target=environment.target,
        environment=environment.facts,
        findings=findings,
        unknown=told,
        verdicts=verdicts,
        recommendation=recommend(prognosis.kernels, verdicts),
        summary=_summary(findings, len(unknown)),
        overlays=environment.overlays,
        notes=(*environment.target.notes, *more),
        not_looked=tuple(_not_looked(environment)),
        rule_errors=assessment.errors,
    )


def _of_a_paste(
    prognosis: Prognosis, unknown: tuple[Undecided, ...], verdicts: tuple[Verdict, ...]
) -> tuple[tuple[Undecided, ...], tuple[Verdict, ...], tuple[str, ...]]:
    """Return what of a report is about what a pasted text names, and how much is not."""
    # Late: a check of a real environment does without.
    from fadoctor.judging.verdicts.mentioned import (  # noqa: PLC0415
        left_out,
        mentioned_verdicts,
        worth_asking,
    )

    told = worth_asking(unknown, prognosis.environment)
    left = (left_out(len(unknown) - len(told)),) if len(told) < len(unknown) else ()
    return told, mentioned_verdicts(verdicts, prognosis.kernels), left


def is_without_stack(environment: Environment) -> bool:
    """Return whether nothing is there that a rule could be about."""
    versions = (environment.fact(f"{key}.version") for key in PACKAGES if key not in BYSTANDERS)
    return all(isinstance(version, Absent) for version in versions)


def _not_looked(environment: Environment) -> Iterable[str]:
    """Say what kept the report from an answer: "no findings" then proves nothing."""
    is_planned = environment.target.kind == "manifest"
    if is_without_stack(environment):
        if is_planned:
            yield "The files require no package that fadoctor checks."
            return
        yield "None of the packages that fadoctor checks is installed here."
        yield (
            "To plan what to install: `fadoctor fix --dry-run --want NAME`, such as transformers, "
            "vllm or flash-attn. To examine another environment, name it with --python PATH."
        )
        count = environment.fact("gpu.count")
        if _is_configured(environment) and isinstance(count, Known) and count.value == 0:
            yield "There is no GPU to judge the configuration for: add one, such as --gpu V100."
    elif isinstance(environment.fact("torch.version"), Absent):
        what = "The files do not require torch" if is_planned else "torch is not installed here"
        yield f"{what}: no attention can run."


def _is_configured(environment: Environment) -> bool:
    """Return whether a configuration asks for something that a GPU must have."""
    asked = (environment.fact(f"config.{noun}") for noun in ("attention", "dtype", "framework"))
    return any(isinstance(fact, Known) for fact in asked)


def conclude_smoke(prognosis: Prognosis, smoke: SmokeRun) -> SmokeReport:
    """Return the report of ``smoke``: every cell, predicted and measured, and why some failed."""
    environment = prognosis.environment
    smoke = with_predictions(smoke, prognosis.verdicts, visible_gpus(environment))
    smoke = with_foreseen(smoke, prognosis.assessment.findings)
    count = Counter(cell.measured for cell in smoke.cells)
    return SmokeReport(
        fadoctor=__version__,
        rules=rules_info(prognosis.knowledge),
        target=environment.target,
        torch_version=smoke.torch_version,
        gpu_tested=smoke.gpu_tested,
        cells=smoke.cells,
        findings=tuple(sorted(_causes(prognosis, smoke), key=order_of)),
        summary=SmokeSummary(
            passed=count[Measured.PASSED],
            refused=count[Measured.REFUSED],
            failed=count[Measured.FAILED],
            not_run=count[Measured.NOT_RUN],
        ),
        notes=(*environment.target.notes, *what_was_not_tried(smoke), *notes(smoke)),
        rule_errors=prognosis.assessment.errors,
        imports=smoke.imports,
    )


def _causes(prognosis: Prognosis, smoke: SmokeRun) -> tuple[Finding, ...]:
    # Late: it reads what a run wrote, and most checks run nothing.
    from fadoctor.judging.verdicts.root_causes import find_root_causes  # noqa: PLC0415

    knowledge, matrix = prognosis.knowledge, prognosis.kernels.matrix
    found = find_root_causes(smoke, knowledge, prognosis.environment, matrix)
    return tuple(finding for finding in found if finding.rule_id not in prognosis.ignore)


def _added(
    findings: tuple[Finding, ...], foreseen: tuple[Finding, ...], run: tuple[Finding, ...]
) -> tuple[Finding, ...]:
    """Return what the facts and a run say, in order; what was foreseen is not told twice."""
    told = {rule_id for each in foreseen for rule_id in (each.rule_id, *each.consequences)}
    fresh = [finding for finding in run if finding.rule_id not in told]
    return tuple(sorted((*findings, *fresh), key=order_of))


def _summary(findings: Iterable[Finding], undecided: int) -> Summary:
    count = Counter(finding.severity for finding in findings)
    return Summary(
        error=count[Severity.ERROR],
        warning=count[Severity.WARNING],
        note=count[Severity.NOTE],
        unknown=undecided,
    )
