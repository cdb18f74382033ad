"""The headline of a finding: its first line in text, Markdown, HTML and annotations of GitHub.

JUnit, GitLab and SARIF show one paragraph instead, which begins with the message:
`fadoctor.report.ci.listing` makes it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fadoctor.model.finding import Finding, Severity

_EVERYTHING = "environment"
"""The subject that needs no name."""

_CONTRADICTED = "packages.contradicted"
_NAMES = 3


class Headed(Protocol):
    """What has a headline: a finding of an environment, of a run or of a fleet."""

    @property
    def severity(self) -> Severity:
        """How bad it is."""

    @property
    def title(self) -> str:
        """What is wrong, without names and numbers."""

    @property
    def message(self) -> str:
        """What is wrong here."""


def headline(
    finding: Headed, about: Sequence[str] = (), *, severity: bool = False, message: bool = False
) -> str:
    """Return ``error: The title (what it is about): The message``, of which the title always.

    The marks, colours and brackets of a form go around it.
    """
    where = f" ({', '.join(about)})" if about else ""
    first = f"{finding.severity.value}: " if severity else ""
    last = f": {finding.message}" if message else ""
    return f"{first}{finding.title}{where}{last}"


def headline_of(
    finding: Finding,
    subjects: Sequence[str] = (),
    *,
    severity: bool = False,
    at_most: int | None = None,
) -> str:
    """Return the headline of a finding of one environment, with its subject, or with several."""
    about = [each for each in subjects or (finding.subject,) if each != _EVERYTHING]
    return headline(finding, (about or _contradicted(finding))[:at_most], severity=severity)


def _contradicted(finding: Finding) -> list[str]:
    """Return the packages whose requirements a finding of a whole environment is about."""
    values = (each.value for each in finding.evidence if each.fact == _CONTRADICTED)
    names = [str(name) for value in values if isinstance(value, dict) for name in value]
    return [*names[:_NAMES], *(["..."] if len(names) > _NAMES else [])]
