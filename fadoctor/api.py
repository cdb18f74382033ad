"""What programs may call: `trace`.

    with fadoctor.api.trace(calls=64) as t:
        step()
    print(t.report())

Importing this module costs nothing; the tracer is loaded when it is asked for.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from fadoctor.trace.inside import Trace


def trace(calls: int = 64) -> Trace:
    """Return a context that records the attention calls of its block, at most `calls` of them."""
    from fadoctor.trace.inside import Trace  # noqa: PLC0415 -- torch is loaded by it

    return Trace(calls)
