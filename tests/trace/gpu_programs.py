"""Trace small programs where torch and packages answer as on a GPU; one JSON document a line.

A script for a process of its own, since torch is of no more use afterwards:

    python gpu_programs.py NAME CAPABILITY FOLDER

The programs are those of tools/gpu_trace.py, for a device "cuda", and some about packages that it
does not install. `gpu_standin` computes; a tensor says here that it lies on the GPU.
"""

from __future__ import annotations

import contextlib
import importlib
import json
import sys
import warnings
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve()
sys.path.insert(0, str(HERE.parents[2]))
sys.path.insert(0, str(HERE.parents[1] / "smoke"))

NUMBERS = {"Math": 0, "Flash": 1, "Efficient": 2, "Cudnn": 3}
"""Kernel -> its number in torch's SDPBackend."""

PACKAGES = {
    "transformer engine": (
        "from transformer_engine.pytorch.attention.dot_product_attention import "
        "dot_product_attention as te\n"
        "te.DotProductAttention()(q, k, v)"
    ),
    "transformer engine and float32": (
        "from transformer_engine.pytorch.attention.dot_product_attention import "
        "dot_product_attention as te\n"
        "w = k.float()\n"
        "with contextlib.suppress(AssertionError): te.DotProductAttention()(q, w, v)"
    ),
    "flash-attn 3": (
        "import flash_attn_interface as fa\n"
        "with contextlib.suppress(RuntimeError): fa.flash_attn_func(q, k, v)"
    ),
    "flash-attn 3 and float32": (
        "import flash_attn_interface as fa\nw = v.float()\n"
        "with contextlib.suppress(RuntimeError): fa.flash_attn_func(q, k, w)"
    ),
    "flex": ("from torch.nn.attention import flex_attention as flex\nflex.flex_attention(q, k, v)"),
    "flex and float32": (
        "from torch.nn.attention import flex_attention as flex\nw = k.float()\n"
        "with contextlib.suppress(ValueError): flex.flex_attention(q, w, v)"
    ),
}


def install(name: str, major: int, minor: int) -> Any:
    """Put the GPU into this process; return torch."""
    torch: Any = importlib.import_module("torch")
    standin = importlib.import_module("gpu_standin")
    standin.install(name, major, minor)
    attention = torch.nn.functional.scaled_dot_product_attention.__self__
    importlib.import_module("modules_standin").install(torch, (major, minor))
    tell_of_choices(torch, attention, first_of((major, minor)))
    torch.cuda.device = lambda _device: contextlib.nullcontext()
    torch.cuda.get_rng_state = lambda _device=None: torch.get_rng_state()
    torch.cuda.set_rng_state = lambda state, _device=None: torch.set_rng_state(state)
    cuda = torch.device("cuda:0")
    torch.Tensor.device = property(lambda _self: cuda)
    torch.Tensor.is_cuda = property(lambda _self: True)
    return torch


def first_of(capability: tuple[int, int]) -> str:
    """Return the kernel that torch tries first: cuDNN on 9.0 and 10.0."""
    return "Cudnn" if capability in {(9, 0), (10, 0)} else "Flash"


def tell_of_choices(torch: Any, attention: Any, first: str) -> None:
    """Let torch say which kernel it takes, and why not flash, as it does on a GPU."""
    cuda = torch.backends.cuda
    attention.order = [first, *(name for name in ("Flash", "Efficient", "Math") if name != first)]

    def choose(q: Any, k: Any, v: Any, *rest: Any, **_more: Any) -> int:
        mask = rest[0] if rest else None
        if len({q.dtype, k.dtype, v.dtype}) > 1:
            return NUMBERS["Math"]
        return NUMBERS[attention.choice(q, mask)]

    def can_use_flash(asked: Any, debug: bool = False) -> bool:  # noqa: FBT001, FBT002
        said = attention.against_flash(*asked[:4])
        if said and debug:
            warnings.warn(said, stacklevel=2)
        return not said

    torch._fused_sdp_choice = choose
    cuda.SDPAParams = lambda *given: given
    cuda.can_use_flash_attention = can_use_flash


def traced(torch: Any, name: str, code: str) -> Any:
    """Run a program under trace; return its document."""
    from fadoctor import api  # noqa: PLC0415 -- after torch is another
    from tools.gpu_trace import HEAD  # noqa: PLC0415

    torch.manual_seed(0)
    file = Path(sys.argv[2], f"{name.replace(' ', '-')}.py")
    with api.trace() as trace, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        head = HEAD + code
        file.write_text(head, encoding="utf-8")
        exec(compile(head, str(file), "exec"), {})  # noqa: S102 -- our own programs
    return trace.document()


def main() -> None:
    """Print the document of each program."""
    import msgspec  # noqa: PLC0415

    from tools.gpu_trace import CASES  # noqa: PLC0415

    major, _, minor = sys.argv[2].partition(".")
    torch = install(sys.argv[1], int(major), int(minor))
    torch.set_num_threads(1)
    programs = {case.name: case.code for case in CASES} | PACKAGES
    sys.argv[1:] = ["cuda", sys.argv[3]]
    for name, code in programs.items():
        document = msgspec.to_builtins(traced(torch, name, code))
        sys.stdout.write(json.dumps({"name": name, "document": document}) + "\n")


if __name__ == "__main__":
    main()
