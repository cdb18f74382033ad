"""Verdicts: what the facts predict for each backend in each dtype on each GPU."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fadoctor.judging.verdicts.obstacles import obstacle
from fadoctor.knowledge.matrix.kernels import Gpu, Kernels, visible_gpus
from fadoctor.model.environment import DRIVER_NOT_GIVEN
from fadoctor.model.fact import Fact, Known, Unknown, fact_text
from fadoctor.model.finding import Outcome, Severity
from fadoctor.model.verdict import Backend, Dtype, Measured, Predicted, Verdict

if TYPE_CHECKING:
    from collections.abc import Iterable

    from fadoctor.judging.engine.evaluate import Judgement
    from fadoctor.judging.engine.judge import Assessment
    from fadoctor.judging.verdicts.obstacles import Obstacle
    from fadoctor.knowledge.matrix.support import Support

HUB = "hub"
"""The route of kernels that the package kernels fetches."""
_DTYPES = tuple(Dtype)
_OPEN = (Outcome.FAIL, Outcome.UNKNOWN, Outcome.ERROR)

Prediction = tuple[Predicted, tuple[str, ...], str]
"""The prediction, the ids of the rules behind it, and a detail for a person."""


def predict(kernels: Kernels, assessment: Assessment) -> tuple[Verdict, ...]:
    """Return the table for every visible GPU and every backend whose package is there.

    A cell works only where the kernel is known to support it and no error-rule that decides the
    cell has failed or stayed unknown.
    """
    return predict_backends(kernels, assessment.judgements, tuple(kernels.installed()))


def predict_backends(
    kernels: Kernels, judgements: Iterable[Judgement], backends: Iterable[Backend]
) -> tuple[Verdict, ...]:
    """Return the table for every visible GPU and for some backends, which are there."""
    deciding = [e for e in judgements if e.outcome in _OPEN and decides_a_verdict(e)]
    found = []
    environment = kernels.environment
    hindrances = {each: obstacle(environment, kernels, each) for each in backends}
    said = {
        backend: [each for each in deciding if concerns(each, kernels, backend)]
        for backend in hindrances
    }
    for gpu in visible_gpus(environment):
        for backend, common in hindrances.items():
            hindrance, source = _on_route(kernels, gpu, backend, common)
            version = fact_text(kernels.version(backend), "unknown")
            for dtype in _DTYPES:
                support = kernels.support(backend, dtype, gpu)
                if dtype is Dtype.FP8 and not isinstance(support.answer, Known):
                    continue
                mine = [each for each in said[backend] if _is_about(each, gpu, dtype)]
                predicted, because, detail = _predict(support, mine, hindrance)
                if predicted is Predicted.WORKS and source:
                    detail = f"{detail}; {source}" if detail else source
                found.append(
                    Verdict(
                        gpu.label,
                        backend,
                        version,
                        dtype,
                        predicted,
                        because,
                        Measured.NOT_RUN,
                        detail,
                    )
                )
    return tuple(found)


def _on_route(
    kernels: Kernels, gpu: Gpu, backend: Backend, hindrance: Obstacle | None
) -> tuple[Obstacle | None, str]:
    """Return what hinders a backend on a GPU, and where its kernels come from."""
    failing = hindrance is not None and hindrance.predicted is Predicted.FAILS
    if failing or kernels.route(backend) != HUB:
        return hindrance, ""
    from fadoctor.judging.verdicts.hub_route import Route  # noqa: PLC0415 -- few environments have kernels

    route = Route(kernels, backend)
    return route.obstacle(gpu) or hindrance, route.note()


def concerns(each: Judgement, kernels: Kernels, backend: Backend) -> bool:
    """Return whether a rule, as it was judged, says something of a backend on some GPU."""
    affects, bindings = each.rule.affects, each.about.bindings
    if affects is None:
        return False
    if affects.extension and "package" in bindings:
        return bindings["package"] in kernels.brought_by(backend)
    return affects.extension or backend in affects.backends


def decides_a_verdict(each: Judgement) -> bool:
    """Return whether a judgement can keep a cell from working: one that was not passed.

    An error forbids its cells, also an error that nobody could decide leaves them open, and so does
    a warning. An error that weighs less where it was found decides none, unless its rule says so.
    """
    affects = each.rule.affects
    if affects is None:
        return False
    if each.severity is Severity.ERROR:
        return each.outcome in _OPEN
    is_open = each.rule.severity is Severity.WARNING or affects.lowered
    return is_open and each.outcome is Outcome.FAIL


def forbids(each: Judgement) -> bool:
    """Return whether a judgement, where it decides a cell, says that it fails."""
    return each.outcome is Outcome.FAIL and each.severity is Severity.ERROR


def _predict(  # noqa: PLR0911 -- each return is one way to decide a cell
    support: Support, deciding: Iterable[Judgement], hindrance: Obstacle | None
) -> Prediction:
    failing = sorted({each.rule.id for each in deciding if forbids(each)})
    undecided = [each for each in deciding if not forbids(each)]
    if support.fails:
        first = [support.rule] if support.rule else []
        ids = first + [rule_id for rule_id in failing if rule_id not in first]
        return Predicted.FAILS, tuple(ids), support.note
    if failing:
        return Predicted.FAILS, tuple(failing), support.note
    if hindrance is not None and hindrance.predicted is Predicted.FAILS:
        return hindrance.predicted, _rules_of(hindrance), hindrance.detail
    if undecided:
        ids = sorted({each.rule.id for each in undecided})
        return Predicted.UNKNOWN, tuple(ids), _doubt(support, undecided)
    if hindrance is not None:
        return hindrance.predicted, _rules_of(hindrance), hindrance.detail
    if support.works:
        return Predicted.WORKS, (), support.note
    return Predicted.UNKNOWN, (), _reason(support.answer)


def _doubt(support: Support, undecided: list[Judgement]) -> str:
    """Return why a cell is open: first what leaves open whether the GPU is supported at all.

    A driver that is not named decides other things, and the answer asks for it.
    """
    unsupported = support.answer.reason if isinstance(support.answer, Unknown) else ""
    of_gpu = (each.reason for each in undecided if "gpu" in each.about.bindings)
    other = next((each for each in of_gpu if each and DRIVER_NOT_GIVEN not in each), "")
    return unsupported or other or undecided[0].reason or undecided[0].rule.title


def _rules_of(hindrance: Obstacle) -> tuple[str, ...]:
    return (hindrance.rule,) if hindrance.rule else ()


def decides(each: Judgement, kernels: Kernels, gpu: Gpu, backend: Backend, dtype: Dtype) -> bool:
    """Return whether a judgement says something of one cell."""
    return _is_about(each, gpu, dtype) and concerns(each, kernels, backend)


def _is_about(each: Judgement, gpu: Gpu, dtype: Dtype) -> bool:
    affects, bindings = each.rule.affects, each.about.bindings
    if affects is None or bindings.get("gpu", gpu.subject) != gpu.subject:
        return False
    return not affects.dtypes or dtype in affects.dtypes


def _reason(answer: Fact) -> str:
    return answer.reason if isinstance(answer, Unknown) else "the tables do not have this GPU"
