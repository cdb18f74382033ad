"""torch's scaled_dot_product_attention with the FlashAttention of a package activated.

Read in the wheels 2.10.0 to 2.15.0: ``torch.nn.attention.activate_flash_attention_impl`` takes
"FA4" (2.10) or "FA3" too (2.11), and ``restore_flash_attention_impl`` (2.11) gives torch's own
back. Where that is missing the process is of no use to other cells. Part of a worker under the
target's interpreter.
"""

from __future__ import annotations

import importlib
from typing import Any

from _fadoctor_numbers import LackingError

NAMES = {"torch-fa3": "FA3", "torch-fa4": "FA4"}


def run(torch: Any, trace: Any) -> None:
    """Run one cell, and give torch's own kernel back afterwards."""
    name = NAMES[trace.cell["backend"]]
    attention = api(torch)
    known = getattr(attention, "list_flash_attention_impls", None)
    if known is not None and name not in known():
        raise LackingError("this torch can activate %s only" % ", ".join(sorted(known())))
    trace.patient = name == "FA4"
    trace.phase("load")
    restore = getattr(attention, "restore_flash_attention_impl", None)
    trace.worn = restore is None
    attention.activate_flash_attention_impl(name)
    try:
        tell(attention, trace, name)
        importlib.import_module("_fadoctor_sdpa").run(torch, trace, "sdpa-flash")
    finally:
        if restore is not None:
            restore()


def api(torch: Any) -> Any:
    """Return torch.nn.attention, in a torch that can activate anything."""
    attention = getattr(torch.nn, "attention", None)
    if not hasattr(attention, "activate_flash_attention_impl"):
        raise LackingError("this torch has no activate_flash_attention_impl")
    return attention


def tell(attention: Any, trace: Any, name: str) -> None:
    """Keep what torch says is active: the node of autograd has the same name either way."""
    current = getattr(attention, "current_flash_attention_impl", None)
    active = current() if current is not None else name
    if active != name:
        raise RuntimeError("torch says that %s is active, not %s" % (active, name))
    trace.note("torch says that %s is active" % active)
