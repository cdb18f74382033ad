"""What keeps a cell open is named: a problem below, the driver, or an unknown release."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import structs

from fadoctor.model.fact import Unknown
from fadoctor.model.finding import Severity
from fadoctor.model.verdict import Backend, Dtype, Measured, Predicted, Verdict
from fadoctor.report.answer import answers_of
from fadoctor.report.doubt import doubt_of, lacks_driver, why_no_advice
from tests.unit.report.test_markdown import report

if TYPE_CHECKING:
    from fadoctor.model.report import Report

OPEN = Verdict(
    "gpu[0] A", Backend.SDPA_MATH, "2.8.0", Dtype.BF16, Predicted.UNKNOWN, ("here",),
    Measured.NOT_RUN, "it depends on the version",
)  # fmt: skip


def warned(severity: Severity, *verdicts: Verdict) -> Report:
    found = structs.replace(
        report().findings[0], rule_id="here", severity=severity, consequences=(), title="It fails"
    )
    document: Report = structs.replace(report(), findings=(found,), verdicts=verdicts)
    return document


def test_a_warning_that_opens_every_cell_is_named_first() -> None:
    """It was "whether another attention works is unknown", and "add --driver"."""
    document = warned(Severity.WARNING, OPEN)
    assert doubt_of(document, document.verdicts) is document.findings[0]
    (answer,) = answers_of(document)
    assert answer.sentence == "A: attention may not work here. It fails."
    flash = structs.replace(OPEN, backend=Backend.FA2)
    (answer,) = answers_of(warned(Severity.WARNING, flash))
    assert answer.sentence == "A: FlashAttention-2 may not work here. It fails."


def test_a_note_and_a_warning_about_one_cell_of_two_are_not() -> None:
    assert doubt_of(warned(Severity.NOTE, OPEN), (OPEN,)) is None
    other = structs.replace(OPEN, because=("there",))
    assert doubt_of(warned(Severity.WARNING, OPEN, other), (OPEN, other)) is None
    assert doubt_of(warned(Severity.WARNING), ()) is None


def test_the_driver_is_asked_for_only_where_nothing_else_is_open() -> None:
    waiting = structs.replace(OPEN, detail="--gpu was given without --driver")
    assert lacks_driver((waiting, structs.replace(OPEN, predicted=Predicted.WORKS)))
    assert not lacks_driver((waiting, OPEN))
    assert not lacks_driver(())


def test_why_nothing_is_recommended() -> None:
    """It was "no known attention works on this GPU" where only the release was unknown."""
    fails = structs.replace(OPEN, predicted=Predicted.FAILS)
    assert why_no_advice(warned(Severity.ERROR, fails)).startswith("Nothing works yet")
    assert why_no_advice(warned(Severity.ERROR, fails, OPEN)).startswith("No recommendation yet")
    of_vllm = structs.replace(fails, backend=Backend.VLLM_FA)
    assert why_no_advice(warned(Severity.ERROR, of_vllm)).startswith("No recommendation yet")
    document = structs.replace(report(), findings=(), verdicts=(OPEN,))
    assert why_no_advice(document) == (
        "No recommendation: no attention is known to work on this GPU."
    )
    facts = {**document.environment, "torch.version": Unknown("it was not read", "a test")}
    said = why_no_advice(structs.replace(document, environment=facts))
    assert said == "No recommendation: the release of torch is unknown (it was not read)."
