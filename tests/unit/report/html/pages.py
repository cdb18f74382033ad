"""Pages to look at: of each kind of document, small, large and hostile."""

from __future__ import annotations

from typing import Any

from msgspec import structs

from fadoctor.judging.diagnose import diagnose
from fadoctor.model.finding import Severity
from fadoctor.model.verdict import Backend, Dtype, Measured, Predicted
from fadoctor.report.html.page import render
from tests.unit.judging.engine.builders import environment, shipped
from tests.unit.report.ci.hostile import HOSTILE, finding
from tests.unit.report.test_markdown import report


def of_nothing() -> str:
    """Return the page of an environment that holds nothing."""
    return render(diagnose(environment({"gpu.count": 0}), shipped()))


def of_a_v100() -> str:
    """Return the page of a GPU that is too old."""
    return render(report())


def of_much() -> str:
    """Return the page of three GPUs with every kind of cell, and findings of each severity."""
    document = report()
    first = document.verdicts[0]
    cells = tuple(
        structs.replace(
            first,
            gpu=f"gpu[{index}] GPU of kind {index}",
            backend=backend,
            dtype=dtype,
            predicted=predicted,
            measured=measured,
        )
        for index in range(3)
        for backend, predicted, measured in zip(
            Backend, list(Predicted) * 20, [*Measured, *Measured, *Measured] * 10, strict=False
        )
        for dtype in Dtype
    )
    found = tuple(
        finding(f"rule-{n}-{each.value}", each, count=3) for n in range(4) for each in Severity
    )
    return render(structs.replace(document, verdicts=cells, findings=found))


def of_strangers() -> str:
    """Return the page of a report whose every text is hostile."""
    document: Any = report()
    nasty = tuple(finding(f"nasty-{n}", each, HOSTILE) for n, each in enumerate(Severity))
    verdicts = tuple(
        structs.replace(each, gpu=f"gpu[0] {HOSTILE}", package_version=HOSTILE, detail=HOSTILE)
        for each in document.verdicts
    )
    target = structs.replace(document.target, label=HOSTILE, reason=HOSTILE)
    return render(
        structs.replace(
            document, findings=nasty, verdicts=verdicts, target=target, notes=(HOSTILE,)
        )
    )


PAGES = {
    "nothing": of_nothing,
    "v100": of_a_v100,
    "much": of_much,
    "strangers": of_strangers,
}
