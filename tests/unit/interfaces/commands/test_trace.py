"""One orchestration of `trace`: a command's code, and a report unless it did not start."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from fadoctor.interfaces.commands.trace import EAGER, TraceRequest, trace

if TYPE_CHECKING:
    import pytest


def test_a_command_without_torch_is_reported_with_its_code() -> None:
    found = trace(TraceRequest((sys.executable, "-c", "raise SystemExit(3)"), eager=True))
    assert found.run.code == 3
    assert found.report is not None
    assert found.report.exit_code == 3
    assert EAGER in found.report.notes


def test_a_command_that_is_not_there_has_no_report(capfd: pytest.CaptureFixture[str]) -> None:
    found = trace(TraceRequest(("/no/such/program",)))
    assert found.run.problem
    assert found.report is None
    assert capfd.readouterr().out == ""
