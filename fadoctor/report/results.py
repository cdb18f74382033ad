"""What programs get: the documents of the commands, which a notebook shows as tables.

They are the types of `fadoctor.model` and nothing more; only how they look is added here.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

import msgspec

from fadoctor.model.environment import Environment
from fadoctor.model.explanation import Explanation
from fadoctor.model.plan import Plan
from fadoctor.model.report import Report
from fadoctor.model.smoke import SmokeReport
from fadoctor.sources.examine.text_kind import TextKind
from fadoctor.syntax.credentials.document import hide_in_document

if TYPE_CHECKING:
    from fadoctor.report.html.fragment import Shown

_T = TypeVar("_T", bound="msgspec.Struct")


class CheckResult(Report, frozen=True):
    """The report of `check`."""

    def _repr_html_(self) -> str:
        return _fragment(self)


class FactsResult(Environment, frozen=True):
    """The facts of `facts`."""

    def _repr_html_(self) -> str:
        return _fragment(self)


class ExplainResult(Explanation, frozen=True):
    """The explanation of `explain`."""

    def _repr_html_(self) -> str:
        return _fragment(self)


class PlanResult(Plan, frozen=True):
    """The plan of `plan`."""

    def _repr_html_(self) -> str:
        return _fragment(self)


class SmokeResult(SmokeReport, frozen=True):
    """The report of `smoke`."""

    def _repr_html_(self) -> str:
        return _fragment(self)


class AnswerResult(msgspec.Struct, frozen=True):
    """What `answer` says of a text: what kind of text it is, and the document about it."""

    kind: TextKind
    document: CheckResult | ExplainResult

    def _repr_html_(self) -> str:
        return _fragment(self.document)


def shown_as(kind: type[_T], document: msgspec.Struct) -> _T:
    """Return a document as the type of it that a notebook shows: without credentials."""
    document = hide_in_document(document)
    return kind(**{name: getattr(document, name) for name in document.__struct_fields__})


def _fragment(document: Shown) -> str:
    # Late: programs that show nothing load no printer.
    from fadoctor.report.html.fragment import render  # noqa: PLC0415

    return render(document)
