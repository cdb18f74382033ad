"""Run the worker's code for torch's attention with injected faults; one JSON line for each cell.

A script for a process of its own: torch does not belong into the one that runs the tests.

    python faulty_torch.py CHILD-FOLDER
"""

from __future__ import annotations

import importlib
import json
import sys
import warnings
from typing import Any

CASES = ("full", "causal")
DTYPES = ("bf16", "fp16", "fp32")


class SilentEvents:
    """Takes the place of the files that a worker writes."""

    def emit(self, event: str, **fields: Any) -> None:
        """Write nothing."""


def faults(torch: Any) -> dict[str, Any]:
    """Return name -> what stands in for torch's attention."""
    healthy = torch.nn.functional.scaled_dot_product_attention

    def scaled(factor: float) -> Any:
        return lambda q, k, v, is_causal: healthy(
            q, k, v, is_causal=is_causal, scale=factor * q.shape[-1] ** -0.5
        )

    def altered(change: Any) -> Any:
        """Change the values of the output alone, behind autograd's back."""

        def faulty(q: Any, k: Any, v: Any, is_causal: bool) -> Any:  # noqa: FBT001
            out = healthy(q, k, v, is_causal=is_causal)
            change(out.data)
            return out

        return faulty

    def zeroed(index: int) -> Any:
        def faulty(*tensors: Any, is_causal: bool) -> Any:
            given = list(tensors)
            given[index] = given[index] * 0 + given[index].detach()
            return healthy(*given, is_causal=is_causal)

        return faulty

    def drop_tile(out: Any) -> None:
        out[:, :, -64:] = 0

    def double_row(out: Any) -> None:
        out[:, :, 100] *= 2

    def plant_nan(out: Any) -> None:
        out[0, 0, 7, 7] = float("nan")

    plain = torch._scaled_dot_product_attention_math
    return {
        "none": healthy,
        "scale off by one percent": scaled(1.01),
        "scale off by a tenth": scaled(1.1),
        "wrong causal flag": lambda q, k, v, is_causal: healthy(q, k, v, is_causal=not is_causal),
        "last tile dropped": altered(drop_tile),
        "one row doubled": altered(double_row),
        "keys and values swapped": lambda q, k, v, is_causal: healthy(q, v, k, is_causal=is_causal),
        "one NaN": altered(plant_nan),
        "dq zeroed": zeroed(0),
        "dk zeroed": zeroed(1),
        "dv zeroed": zeroed(2),
        "another kernel": lambda q, k, v, is_causal: plain(q, k, v, is_causal=is_causal)[0],
    }


def main() -> None:
    """Run every fault in every dtype and case."""
    sys.path.append(sys.argv[1])
    warnings.simplefilter("ignore")
    import torch

    torch.set_num_threads(1)
    trace_of = importlib.import_module("_fadoctor_worker").Trace
    tested = importlib.import_module("_fadoctor_sdpa")
    for name, attention in faults(torch).items():
        torch.nn.functional.scaled_dot_product_attention = attention
        for dtype in DTYPES:
            for case in CASES:
                cell = {"backend": "sdpa-flash", "dtype": dtype, "case": case}
                trace = trace_of(SilentEvents(), "cpu", cell)
                trace.timed = False
                tested.run(torch, trace)
                done = {**trace.found, "cell": cell, "schema": 2, "event": "done"}
                print(json.dumps({"fault": name, "done": done}))


if __name__ == "__main__":
    main()
