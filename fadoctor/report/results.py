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
from fadoctor.report.words import counted
from fadoctor.sources.examine.text_kind import TextKind
from fadoctor.syntax.credentials.document import hide_in_document

if TYPE_CHECKING:
    from fadoctor.report.html.fragment import Shown

_T = TypeVar("_T", bound="msgspec.Struct")


class Printed:
    """A document that prints as its command does, and that a notebook shows as tables."""

    __slots__ = ()

    def __str__(self) -> str:
        """Return what its command prints; of facts, a line each."""
        return _text(self)  # type: ignore[arg-type]  # each class below is a document, too

    def _repr_html_(self) -> str:
        return _fragment(self)  # type: ignore[arg-type]  # as above


class CheckResult(Printed, Report, frozen=True):
    """The report of `check`."""

    def __repr__(self) -> str:
        """Return its name and what it counts: all of it has many pages."""
        return _short(self, _counts(self.summary))


class FactsResult(Printed, Environment, frozen=True):
    """The facts of `facts`."""

    def __repr__(self) -> str:
        """Return its name and how many facts it has."""
        return _short(self, counted(len(self.facts), "fact"))


class ExplainResult(Printed, Explanation, frozen=True):
    """The explanation of `explain`."""

    def __repr__(self) -> str:
        """Return its name and the causes, the most likely one first."""
        return _short(self, ", ".join(each.rule_id for each in self.findings) or "no cause")


class PlanResult(Printed, Plan, frozen=True):
    """The plan of `plan`."""

    def __repr__(self) -> str:
        """Return its name, its outcome and how many steps it has."""
        return _short(self, f"{self.outcome.value}, {counted(len(self.actions), 'step')}")


class SmokeResult(Printed, SmokeReport, frozen=True):
    """The report of `smoke`."""

    def __repr__(self) -> str:
        """Return its name and how its cells came out."""
        return _short(self, _counts(self.summary))


class AnswerResult(msgspec.Struct, frozen=True):
    """What `answer` says of a text: what kind of text it is, and the document about it."""

    kind: TextKind
    document: CheckResult | ExplainResult

    def __str__(self) -> str:
        """Return what ``fadoctor`` prints for such a text."""
        return _text(self.document)

    def __repr__(self) -> str:
        """Return its name, the kind of the text, and its document in short."""
        return _short(self, f"{self.kind.value}, {self.document!r}")

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


def _text(document: Shown) -> str:
    # Late: programs that print nothing load no printer.
    from fadoctor.report.as_text import as_text  # noqa: PLC0415

    return as_text(document)


def _counts(summary: msgspec.Struct) -> str:
    """Return the counts that are not zero: ``error=1, unknown=2``."""
    numbers = ((name, getattr(summary, name)) for name in summary.__struct_fields__)
    return ", ".join(f"{name}={number}" for name, number in numbers if number) or "nothing"


def _short(document: msgspec.Struct, what: str) -> str:
    return f"<{type(document).__name__}: {what}>"
