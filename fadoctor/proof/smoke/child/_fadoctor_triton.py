"""A minimal Triton kernel: the compiler chain from Python.h and gcc to ptxas and the driver.

Part of a worker under the target's interpreter.
"""

from __future__ import annotations

import os
from typing import Any

from _fadoctor_numbers import (
    LackingError,
    compare,
    finish,
    generator,
    keep_time,
    poison,
    torch_dtype,
)

SIZE = 64
"""Rows and columns of the product: one tile."""


def run(torch: Any, trace: Any) -> None:
    """Multiply two tiles: tl.dot needs more of the compiler than an addition."""
    from _fadoctor_triton_kernel import multiply

    if trace.device == "cpu":
        if os.environ.get("TRITON_INTERPRET") != "1":
            raise LackingError("triton runs on a CPU only with TRITON_INTERPRET=1")
        from _fadoctor_interpreted import mend_bf16

        mend_bf16(trace)
    trace.phase("inputs")
    dtype = torch_dtype(torch, trace.cell["dtype"])
    rng = generator(torch, trace.cell, trace.device)
    a, b = (torch.randn(SIZE, SIZE, generator=rng).to(dtype) for _ in range(2))
    given = [tensor.to(trace.device) for tensor in (a, b)]
    out = torch.full((SIZE, SIZE), float("nan"), device=trace.device)
    poison(torch, given)
    trace.phase("forward")  # compiles first

    def launch() -> None:
        multiply[(1,)](given[0], given[1], out, SIZE=SIZE)

    launch()
    finish(torch, trace.device)
    trace.phase("comparison")
    compare(torch, trace, ("out",), [(out, a.double() @ b.double())])
    trace.proved()
    keep_time(torch, trace, "forward_ms", launch)
