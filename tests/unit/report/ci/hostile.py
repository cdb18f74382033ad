"""Listings to write in each form: with findings, without, with unknowns, with hostile strings."""

from __future__ import annotations

from fadoctor.model.finding import Confidence, Evidence, Finding, Reference, Severity, Undecided
from fadoctor.model.fix import Fix, Safety, Step, StepKind
from fadoctor.model.place import Place
from fadoctor.model.report import RuleError
from fadoctor.report.ci.listing import Listing, Located

HOSTILE = (
    "<script>alert('x')</script> \x1b[31m%0A::error::no\r\n]]> | `a` $(b) \u202e & "
    '"q" \x00 \ud800'
)


def finding(
    rule_id: str, severity: Severity = Severity.ERROR, text: str = "It is too old.", count: int = 1
) -> Finding:
    """Return a finding whose every text is `text`."""
    step = Step(StepKind.INSTALL, f"pip install {text}", items=(text,))
    return Finding(
        rule_id=rule_id,
        severity=severity,
        confidence=Confidence.HIGH,
        title=text,
        message=text,
        why=text,
        subject=text,
        evidence=(Evidence("torch.version", text, text),),
        fixes=(Fix("upgrade", text, Safety.SAFE, (step,)),) * count,
        consequences=(),
        references=(Reference("WEB", "https://example.org/a b"),),
        fingerprint=f"{rule_id}-{len(text)}",
    )


def located(each: Finding, *places: Place) -> Located:
    """Return a finding at places, at the first line of a manifest where none is given."""
    return Located(each, places or (Place("requirements.txt", 1),))


EMPTY = Listing("check", "0.1.0", "/env", ())
FULL = Listing(
    "check",
    "0.1.0",
    "/env",
    (
        located(finding("torch-too-old"), Place("a b/req.txt", 3, 5), Place("uv.lock", 90)),
        located(finding("triton-odd", Severity.WARNING)),
        located(finding("merely-noted", Severity.NOTE)),
    ),
    (Undecided("driver-too-old", ("driver.version",), "nobody could read it"),),
    (RuleError("broken-rule", "it divides by nothing"),),
    ("An overlay was used.",),
)
NASTY = Listing(
    "check",
    "0.1.0",
    HOSTILE,
    (located(finding("nasty", text=HOSTILE), Place(HOSTILE.replace("\x00", ""), 1)),),
    (Undecided("nasty", (HOSTILE,), HOSTILE, HOSTILE),),
    (RuleError("nasty", HOSTILE),),
    (HOSTILE,),
)
ALL = {"empty": EMPTY, "full": FULL, "nasty": NASTY}
