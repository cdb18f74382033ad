"""What `fadoctor trace` must say on a GPU: small programs, each with the answer that is known.

`on_a_gpu` runs them; with --pretend on a CPU, where only the programs and this script are tested.
"""

from __future__ import annotations

from typing import Any, NamedTuple

HEAD = """\
import contextlib, importlib.util, sys
import torch, torch.nn.functional as F
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.utils.checkpoint import checkpoint
device = sys.argv[1]
modern = device == "cpu" or torch.cuda.get_device_capability() >= (8, 0)
half = torch.bfloat16 if modern else torch.float16
def make(dtype=half, head=64):
    return [torch.randn(1, 4, 128, head, device=device, dtype=dtype) for _ in range(3)]
q, k, v = make()
sdpa = F.scaled_dot_product_attention
"""

MODERN = 8
"""Major compute capability from which on torch and flash-attn 2 have flash kernels."""

FAST = frozenset(("sdpa-flash", "sdpa-cudnn", "fa2"))
SLOW = frozenset(("sdpa-efficient", "sdpa-math"))
ANY = FAST | SLOW


class Case(NamedTuple):
    """One program and what is known of it."""

    name: str
    code: str
    backends: frozenset[str]
    """Those of which the first call must have run on one, on a GPU."""
    letters: str = ""
    """Tensors that have a culprit."""
    why: str = ""
    """Stands in a reason against flash, on a GPU."""
    source: str = ""
    """Stands in the source line of the culprit."""
    head: int = 64
    """Head dimension of the first call."""


CASES = (
    Case("half", "sdpa(q, k, v)", FAST),
    Case("float32", "sdpa(*make(torch.float32))", SLOW, "qkv", "float32", "torch.randn"),
    Case("switched off", "with sdpa_kernel(SDPBackend.MATH): sdpa(q, k, v)",
         frozenset(("sdpa-math",)), "", "disabled"),
    Case("mask", "m = torch.zeros(128, 128, device=device, dtype=q.dtype)\nsdpa(q, k, v, m)",
         SLOW | {"sdpa-cudnn"}, "", "mask"),
    Case("head of 512", "sdpa(*make(head=512))", SLOW, "", "dimension", head=512),
    Case("promoted", "k = k * torch.ones(64, device=device)\n"
         "with contextlib.suppress(RuntimeError): sdpa(q, k, v)", ANY, "k", "differ", "torch.ones"),
    Case("norm under autocast",
         "with torch.autocast(device, dtype=half):\n"
         "    sdpa(F.layer_norm(q, (64,)), F.layer_norm(k, (64,)), v)", FAST),
    Case("recomputed in a backward pass",
         "def layer(x):\n    w = x.float()\n"
         "    with contextlib.suppress(RuntimeError): sdpa(x, w, x)\n    return x * 2\n"
         "q.requires_grad_()\ncheckpoint(layer, q, use_reentrant=True).float().sum().backward()",
         ANY, "k", "differ", "x.float()"),
    Case("flash-attn",
         "if importlib.util.find_spec('flash_attn') and device == 'cuda' and modern:\n"
         "    from flash_attn import flash_attn_func as sdpa\n"
         "sdpa(q, k, v)", FAST),
    Case("flash-attn and float32",
         "w = k.float()\n"
         "if importlib.util.find_spec('flash_attn') and device == 'cuda' and modern:\n"
         "    from flash_attn import flash_attn_func as sdpa\n"
         "with contextlib.suppress(RuntimeError): sdpa(q, w, v)", ANY, "k", "", "k.float()"),
)  # fmt: skip


def expected(case: Case, capability: str) -> frozenset[str]:
    """Return the kernels that a GPU may take for a program; any where nothing is known of it.

    Without a capability it is another maker's GPU, or torch could not describe it.
    """
    if not capability:
        return ANY
    old = int(capability.partition(".")[0]) < MODERN
    return case.backends | SLOW if old and case.backends & FAST else case.backends


def problem(case: Case, document: Any, capability: str, *, pretend: bool) -> str:
    """Return what a trace says otherwise than is known, "" where it agrees."""
    calls = [call for process in document["processes"] for call in process["calls"]]
    faults = [fault for process in document["processes"] for fault in process.get("faults", ())]
    if faults or not calls:
        return f"faults of the tracer: {faults[0]}" if faults else "no call was seen"
    places = {str(call[name].get("device", "cuda")) for call in calls for name in "qkv"
              if call.get(name)}  # fmt: skip
    heads = {call[name]["shape"][-1] for call in calls[:1] for name in "qkv"
             if (call.get(name) or {}).get("shape")}  # fmt: skip
    if heads - {case.head}:
        return f"head dimensions {', '.join(map(str, sorted(heads)))}, not {case.head}"
    if not pretend and any(not place.startswith("cuda") for place in places):
        return f"tensors on {', '.join(sorted(places))}"
    said = _culprits(case, calls[0])
    return said if said or pretend else _kernel(case, calls[0], capability)


def _culprits(case: Case, call: Any) -> str:
    letters = "".join(call["culprits"])
    if letters != case.letters:
        return f"culprits of {letters or 'none'}, not of {case.letters or 'none'}"
    if letters and letters != "qkv" and call["error"] is None:
        return "query, key and value differ, and no error was raised"
    lines = [culprit["source"] for culprit in call["culprits"].values()]
    wrong = [line for line in lines if case.source not in line]
    return f"the culprit is {wrong[0]!r}" if wrong else ""


def _kernel(case: Case, call: Any, capability: str) -> str:
    backends = expected(case, capability)
    if call["error"] is None and call["backend"] not in backends:
        return f"ran on {call['backend']}, not on {' or '.join(sorted(backends))}"
    if call["backend"] == "sdpa-cudnn":
        return ""  # no slow path: nothing has to be said against flash
    reasons = "; ".join(call["why_not_flash"])
    return "" if case.why.lower() in reasons.lower() else f"reasons: {reasons or 'none'}"
