"""A page of text: wrapped lines, colour, tables, findings. Text from outside is made harmless."""

from __future__ import annotations

import re
import textwrap
from typing import TYPE_CHECKING

import msgspec

from fadoctor.model.fact import printable
from fadoctor.model.finding import Finding, Severity
from fadoctor.model.fix import Fix, Safety, StepKind
from fadoctor.report.headline import headline_of
from fadoctor.report.rule_address import page_of
from fadoctor.report.words import value_text

if TYPE_CHECKING:
    from fadoctor.report.style import Style

_PLACES_SHOWN = 4

_LINE_LIMIT = 4_000
"""Longest paragraph, in characters: texts of saved facts and own rules come from outside."""

_GLUE = "\ue000"
"""Stands for a space at which a line must not end; no text that is printed holds it."""

_GLUED = re.compile(r"`[^`\n]{1,120}`")
"""What is typed, within a sentence: ``fadoctor fix --dry-run``."""

_CODES = {
    "bold": "1", "dim": "2", "red": "31", "green": "32", "yellow": "33", "magenta": "35",
    "cyan": "36",
}  # fmt: skip
"""SGR codes of the few colours that are used. rich would do it, for 45 modules and 25 ms."""

_TYPED = (StepKind.SYSTEM, StepKind.SET, StepKind.UNSET)

MARKS = {Severity.ERROR: ("✗", "x"), Severity.WARNING: ("!", "!"), Severity.NOTE: ("i", "i")}
"""The sign of each severity, and the one where only ASCII can be shown."""

_COLOURS = {Severity.ERROR: "bold red", Severity.WARNING: "yellow", Severity.NOTE: "cyan"}


class Paper:
    """Collects what is printed, paragraph by paragraph; text from outside is made harmless."""

    def __init__(self, style: Style) -> None:
        """Take how to print."""
        self.style = style
        self.lines: list[str] = []
        self.printed: dict[tuple[str, tuple[str, ...]], str] = {}
        """Fixes with commands that stand above: title and commands -> the rule they stand at."""

    def text(self) -> str:
        """Return everything that was printed."""
        found = "\n".join(self.lines) + "\n"
        return found.encode("ascii", "replace").decode() if self.style.ascii_only else found

    def line(self, text: str, colour: str = "", indent: int = 0, hang: int = 0) -> None:
        """Print one paragraph, wrapped at words; its later lines are indented by `hang` more."""
        found = wrapped(text, self.style.width, " " * indent, " " * (indent + hang))
        self.lines += [self.paint(line, colour) for line in found or [""]]

    def whole(self, text: str, colour: str = "") -> None:
        """Print a line that stays one, however long it is: it is there to be copied."""
        self.lines.append(self.paint(printable(text, _LINE_LIMIT), colour))

    def paste(self, label: str, text: str) -> None:
        """Print what is pasted in one piece: behind its label, or below it where that is long."""
        line = f"    {label}: {text}"
        if len(line) <= self.style.width:
            self.whole(line)
        else:
            self.whole(f"    {label}:")
            self.whole(f"      {text}")

    def setting(self, text: str) -> None:
        """Print a setting in one piece: below the name of its framework where both are too long."""
        line = f"    - {text}"
        framework, colon, value = text.partition(": ")
        if len(line) <= self.style.width or not colon:
            self.whole(line)
        else:
            self.whole(f"    - {framework}:")
            self.whole(f"      {value}")

    def paint(self, text: str, colour: str) -> str:
        """Return text in a colour: ``bold red``. Colour only repeats what the words say."""
        if not self.style.colour or not colour or not text:
            return text
        codes = ";".join(_CODES[word] for word in colour.split())
        return f"\x1b[{codes}m{text}\x1b[0m"

    def mark(self, pair: tuple[str, str]) -> str:
        """Return the first of two marks, or the second where only ASCII can be shown."""
        return pair[1] if self.style.ascii_only else pair[0]

    def columns(self, rows: list[list[tuple[str, str]]]) -> None:
        """Print rows of (text, colour) with their columns below each other."""
        widths = [max(len(cell[0]) for cell in column) for column in zip(*rows, strict=True)]
        for row in rows:
            padded = [
                self.paint(cell[0], cell[1]) + " " * (width - len(cell[0]))
                for cell, width in zip(row, widths, strict=True)
            ]
            self.lines.append(f"  {'  '.join(padded)}".rstrip())

    def finding(self, finding: Finding, subjects: list[str], quoted: tuple[str, ...] = ()) -> None:
        """Print what is wrong, why, and what to do; `quoted` are lines of what it was found in."""
        mark, colour = self.mark(MARKS[finding.severity]), _COLOURS[finding.severity]
        self.line(f"{mark} {headline_of(finding, subjects, severity=True)}", colour)
        self.line(finding.message, indent=2)
        for place in finding.locations[:_PLACES_SHOWN]:
            self.line(f"at {printable(str(place))}", "dim", indent=4)
        for text in quoted:
            self.line(text, "dim", indent=4, hang=2)
        self.line(f"why: {finding.why}", indent=2)
        shown = finding.fixes if self.style.verbose else _foremost(finding.fixes)
        for index, fix in enumerate(shown):
            self.fix(fix if index else _as_first(fix), finding.rule_id)
        others = [_as_part(fix.title) for fix in finding.fixes if fix not in shown]
        if others:
            self.line(f"or: {'; '.join(others)} (--verbose)", indent=2, hang=4)
        if finding.consequences:
            self.line(f"also explains: {', '.join(finding.consequences)}", indent=2)
        said = f"rule: {finding.rule_id}, confidence {finding.confidence.value}, page: "
        self.line(said + page_of(finding.rule_id), "dim", indent=2, hang=2)
        if self.style.verbose:
            for evidence in finding.evidence:
                value = "absent" if evidence.value is None else value_text(evidence.value)
                self.line(f"{evidence.fact}: {value}  [{evidence.source}]", "dim", indent=4)
        self.line("")

    def fix(self, fix: Fix, rule_id: str) -> None:
        """Print a way to repair a finding, and what is at stake; what was printed is named only."""
        does = tuple(step.text for step in fix.steps if step.items)
        first = self.printed.setdefault((fix.title, does), rule_id) if does else rule_id
        if first != rule_id:
            self.line(f"fix: the same as for {first}, above", "bold", indent=2)
            return
        self.line(f"fix: {fix.title}", "bold", indent=2)
        for step in fix.steps:
            if step.items or step.kind in _TYPED:  # stays one line, to be copied
                self.whole(f"    - {step.text}")
            elif step.kind is StepKind.SETTING:
                self.setting(step.text)
            else:
                self.line(f"- {step.text}", indent=4, hang=2)
        if fix.side_effects:
            self.line(f"but: {fix.side_effects}", indent=4, hang=2)


def wrapped(text: str, width: int, first: str = "", later: str = "") -> list[str]:
    """Return a paragraph as lines that end at words, and never within what is typed."""
    lines = textwrap.wrap(
        _GLUED.sub(_glue, printable(text, _LINE_LIMIT)),
        width,
        initial_indent=first,
        subsequent_indent=later,
        break_on_hyphens=False,
        break_long_words=False,
    )
    return [line.replace(_GLUE, " ") for line in lines]


def _glue(found: re.Match[str]) -> str:
    return found[0].replace(" ", _GLUE)


def _foremost(fixes: tuple[Fix, ...]) -> tuple[Fix, ...]:
    """Return the best fix, and the best that risks nothing where that is another one."""
    safe = next((fix for fix in fixes if fix.safety is Safety.SAFE), None)
    first = fixes[:1]
    return (*first, safe) if safe is not None and safe not in first else first


def _as_first(fix: Fix) -> Fix:
    """Return a fix whose title is no alternative to another one: what stood before may be gone."""
    if not fix.title.startswith("Or "):
        return fix
    plain = fix.title.removeprefix("Or ")
    return msgspec.structs.replace(fix, title=plain[:1].upper() + plain[1:])


def _as_part(title: str) -> str:
    """Return a title within a sentence: without the ``Or`` that stands before an alternative."""
    plain = title.removeprefix("Or ").removeprefix("or ")
    return plain if plain[:2].isupper() else plain[:1].lower() + plain[1:]
