"""Run what only a GPU runs of the worker's code, the timed shape, on the CPU; print what it found.

A script for a process of its own: torch does not belong into the one that runs the tests.

    python timed_on_cpu.py CHILD-FOLDER FACTOR
"""

from __future__ import annotations

import importlib
import json
import sys
from typing import Any


def main() -> None:
    """Time a smaller shape, with torch.cuda's counters replaced; FACTOR makes the output wrong."""
    sys.path.append(sys.argv[1])
    torch: Any = importlib.import_module("torch")
    torch.set_num_threads(1)
    torch.cuda.reset_peak_memory_stats = lambda _device: None
    torch.cuda.max_memory_allocated = lambda _device: 7
    tested: Any = importlib.import_module("_fadoctor_attention")
    shapes = importlib.import_module("_fadoctor_shapes").SHAPES
    tested.SPEED_BATCH, tested.SPEED_HEADS = 2, 4
    trace_of = importlib.import_module("_fadoctor_worker").Trace
    factor = float(sys.argv[2])

    def attend(q: Any, k: Any, v: Any, shape: Any) -> Any:
        heads_first = [tensor.transpose(1, 2) for tensor in (q, k, v)]
        out = torch.nn.functional.scaled_dot_product_attention(
            *heads_first, is_causal=shape.causal, enable_gqa=shape.heads != shape.kv_heads
        )
        return out.transpose(1, 2) * factor

    for case in ("full", "causal", "gqa"):
        cell = {"backend": "sdpa-flash", "dtype": "fp32", "case": case}
        trace = trace_of(None, "cpu", cell)
        tested.measure_speed(torch, trace, attend, shapes[case], backward=case == "causal")
        sys.stdout.write(json.dumps({"case": case, **trace.found}) + "\n")


if __name__ == "__main__":
    main()
