"""Judge thousands of environments in one process, by the engine's own parts."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fadoctor.judging.engine.evaluate import evaluate
from fadoctor.judging.engine.judge import Assessment
from fadoctor.judging.verdicts.predict import predict
from fadoctor.knowledge.matrix.kernels import Kernels
from fadoctor.knowledge.matrix.query import Matrix
from fadoctor.model.finding import Outcome, Severity
from fadoctor.model.verdict import Backend, Dtype
from fadoctor.sources.targets.derived import derive

if TYPE_CHECKING:
    from collections.abc import Iterator

    from fadoctor.model.environment import Environment
    from fadoctor.model.rule import Knowledge, Rule

HALF = (Dtype.FP16, Dtype.BF16)


class Fa2Only(Kernels):
    """Kernels of which only FlashAttention-2 is asked for."""

    def installed(self) -> Iterator[Backend]:
        """Yield the one backend."""
        yield Backend.FA2


class Doctor:
    """Judges as a check does, with every rule or with those that can matter to one package."""

    def __init__(self, knowledge: Knowledge, only_about: str = "") -> None:
        self.rules = [
            rule
            for rule in knowledge.rules
            if rule.when and (not only_about or _matters(rule, only_about))
        ]
        self.matrix = Matrix(knowledge.tables)

    def assess(self, environment: Environment) -> Assessment:
        """Return every judgement; no findings are written out."""
        environment = derive(environment, self.matrix)
        judgements = [
            each for rule in self.rules for each in evaluate(rule, environment, self.matrix)
        ]
        return Assessment(tuple(judgements), (), (), ())

    def half_precision(self, environment: Environment, assessment: Assessment) -> dict[str, str]:
        """Return GPU -> what FlashAttention-2 does there in fp16 and bf16: one answer or two."""
        verdicts = predict(Fa2Only(environment, self.matrix), assessment)
        answers: dict[str, set[str]] = {}
        for verdict in verdicts:
            if verdict.dtype in HALF:
                gpu = verdict.gpu.partition(" ")[0]
                answers.setdefault(gpu, set()).add(verdict.predicted.value)
        return {gpu: "/".join(sorted(values)) for gpu, values in answers.items()}


def _matters(rule: Rule, package: str) -> bool:
    """Return whether a rule is about a package or decides the cell of FlashAttention-2.

    What compiling would need is another question than whether a ready-made file works.
    """
    if rule.area == "build":
        return False
    affects = rule.affects
    decides = affects is not None and (affects.extension or Backend.FA2 in affects.backends)
    return decides or rule.subject == package


def failed(assessment: Assessment, subject: str = "") -> set[str]:
    """Return the ids of rules that failed, for one subject or for any; a note is no failure."""
    return {
        each.rule.id
        for each in assessment.judgements
        if each.outcome is Outcome.FAIL and each.rule.severity is not Severity.NOTE
        if subject in ("", each.subject)
    }


def undecided(assessment: Assessment) -> set[str]:
    """Return the ids of rules that stayed unknown."""
    return {each.rule.id for each in assessment.judgements if each.outcome is Outcome.UNKNOWN}
