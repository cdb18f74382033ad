"""What came of running the rules' cases: one line for each failure, or JSON."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import msgspec

from fadoctor.judging.engine.suite import LINE_LIMIT
from fadoctor.model.fact import printable
from fadoctor.report.words import counted

if TYPE_CHECKING:
    from collections.abc import Iterator

    from fadoctor.judging.engine.suite import CaseFailure, Tested


def render(tested: Tested) -> str:
    """Return the failures, the shipped cases that own rows change, and a summary."""
    return "\n".join(_lines(tested)) + "\n"


def render_json(tested: Tested) -> str:
    """Return the same as JSON, in ASCII, so that no text of the rules does any harm."""
    return json.dumps(msgspec.to_builtins(tested), indent=2) + "\n"


def _lines(tested: Tested) -> Iterator[str]:
    for failure in tested.failures:
        yield printable(f"FAILED {_said(failure)}", LINE_LIMIT)
    for failure in tested.changed:
        yield printable(f"changed by these rows: {_said(failure)}", LINE_LIMIT)
    tried = f"{counted(tested.cases, 'case')} of {counted(tested.rules, 'rule')}"
    yield f"{tried}: {counted(len(tested.failures), 'failure')}"


def _said(failure: CaseFailure) -> str:
    case = f": {failure.case}" if failure.case else ""
    return f"{failure.path}{case}: {failure.problem}"
