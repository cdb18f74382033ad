"""What the plug-in for pytest gives a test that asks for its attention calls."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fadoctor.proof.trace.inside import Trace

if TYPE_CHECKING:
    from collections.abc import Iterator

    import pytest

CALLS = 256


def traced_test(request: pytest.FixtureRequest) -> Iterator[Trace]:
    """Record the attention calls of a test; if it fails, its report says what was seen."""
    with Trace(CALLS) as trace:
        yield trace
    # pytest has written about the test itself by now; what is of its end, it shows below a failure.
    request.node.add_report_section("teardown", "fadoctor trace", trace.report())
