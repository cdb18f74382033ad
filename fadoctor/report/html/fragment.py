"""A result inside of another page: what a notebook shows in a cell's output.

Its style speaks of this element alone, and colours never stand without a sign and a word: notebooks
that nobody has trusted leave the style out. There is no script.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from fadoctor.model.environment import Environment
from fadoctor.model.fact import Absent, Known
from fadoctor.report.environment_text import environment_lines
from fadoctor.report.html.elements import Html, folded, joined, listed, tag
from fadoctor.report.html.page import body
from fadoctor.report.words import value_text

if TYPE_CHECKING:
    from collections.abc import Iterator

    from fadoctor.model.explanation import Explanation
    from fadoctor.model.fact import Fact
    from fadoctor.model.plan import Plan
    from fadoctor.model.report import Report
    from fadoctor.model.smoke import SmokeReport

    Shown = Report | SmokeReport | Explanation | Plan | Environment

FACT_LIMIT = 2_000
"""Facts that are listed."""

_STYLE = Html(
    "<style>"
    ".fadoctor h1{font-size:1.2em}.fadoctor h2{font-size:1.1em}.fadoctor h3{font-size:1em}"
    ".fadoctor table{border-collapse:collapse}.fadoctor caption{text-align:left;font-weight:bold}"
    ".fadoctor th,.fadoctor td{border:1px solid #8c959f;padding:.1em .6em;text-align:left}"
    ".fadoctor .works{color:#0b4a1c;background:#dafbe1}"
    ".fadoctor .fails{color:#86061d;background:#ffebe9}"
    ".fadoctor .unknown{color:#573600;background:#fff8c5}"
    "</style>"
)


def render(what: Shown) -> str:
    """Return one element with everything that the page of ``--format html`` shows."""
    parts = list(_facts(what)) if isinstance(what, Environment) else body(what)
    return tag("div", _STYLE, joined(parts), class_="fadoctor")


def _facts(environment: Environment) -> Iterator[Html]:
    yield tag("h1", "What was read")
    yield tag("p", f"{environment.target.label} ({environment.target.reason})")
    yield listed(environment_lines(environment.facts))
    shown = list(environment.facts.items())[:FACT_LIMIT]
    head = tag("tr", *(tag("th", word, scope="col") for word in ("fact", "value", "source")))
    rows = joined(_fact(name, fact) for name, fact in shown)
    left = len(environment.facts) - len(shown)
    more = [tag("p", f"and {left} more")] if left else []
    yield folded(
        f"All {len(environment.facts)} facts",
        tag("table", tag("thead", head), tag("tbody", rows)),
        *more,
    )


def _fact(name: str, fact: Fact) -> Html:
    if isinstance(fact, Known):
        text = value_text(fact.value)
    else:
        text = "absent" if isinstance(fact, Absent) else f"unknown: {fact.reason}"
    cells = (tag("td", cell) for cell in (text, fact.source))
    return tag("tr", tag("th", name, scope="row"), *cells)
