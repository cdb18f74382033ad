"""flash-attn's Triton operators: rotary embedding, layer norm, cross entropy.

Read at the tags v2.1.2 to v2.8.3; only arguments that all of them take are given. Part of a worker
under the target's interpreter.
"""

from __future__ import annotations

import os
from typing import Any, Callable, Dict, List, Tuple

from _fadoctor_numbers import (
    LackingError,
    compare,
    finish,
    generator,
    keep_time,
    poison,
    torch_dtype,
)

EPSILON = 1e-5

Tensors = List[Any]
Test = Tuple[Tensors, Callable[..., Any], Callable[..., Any], Tuple[str, ...]]


def run(torch: Any, trace: Any) -> None:
    """Run one cell: forward, backward, comparison with the same formula in float64."""
    if trace.device == "cpu" and os.environ.get("TRITON_INTERPRET") != "1":
        raise LackingError("triton runs on a CPU only with TRITON_INTERPRET=1")
    rng = generator(torch, trace.cell, trace.device)
    dtype = torch_dtype(torch, trace.cell["dtype"])

    def random(*form: int) -> Any:
        return torch.randn(form, generator=rng).to(dtype)

    inputs, work, formula, names = TESTS[trace.cell["backend"]](torch, random, trace.device)
    trace.phase("inputs")
    given = [tensor.to(trace.device, copy=True).requires_grad_() for tensor in inputs]
    exact = [tensor.double().requires_grad_() for tensor in inputs]
    want = formula(*exact)
    upstream = torch.randn(want.shape, generator=rng)
    poison(torch, given)
    trace.phase("forward")
    out = work(*given)
    finish(torch, trace.device)
    trace.kernel(out)
    pushed = upstream.to(trace.device, out.dtype)
    trace.phase("backward")
    gradients = torch.autograd.grad(out, given, pushed)
    finish(torch, trace.device)
    trace.phase("comparison")
    expected = torch.autograd.grad(want, exact, pushed.cpu().double())
    pairs = list(zip((out, *gradients), (want, *expected)))
    compare(torch, trace, ("out", *("d" + name for name in names)), pairs)
    trace.proved()
    keep_time(torch, trace, "forward_ms", lambda: work(*given))


def rotary(torch: Any, random: Any, device: str) -> Test:
    """Rotate x (batch, seqlen, heads, head_dim) by cos and sin (seqlen, head_dim / 2)."""
    from flash_attn.layers.rotary import apply_rotary_emb

    x = random(2, 65, 4, 64)
    steps = torch.arange(65).double()[:, None]
    angles = steps * 10000 ** (-torch.arange(32).double() / 32)
    cos, sin = angles.cos().to(x.dtype), angles.sin().to(x.dtype)
    near = [tensor.to(device) for tensor in (cos, sin)]

    def formula(exact: Any) -> Any:
        one, other = exact[..., :32], exact[..., 32:]
        c, s = cos.double()[:, None], sin.double()[:, None]
        return torch.cat((one * c - other * s, one * s + other * c), -1)

    return [x], lambda given: apply_rotary_emb(given, *near), formula, ("x",)


def layer_norm(torch: Any, random: Any, _device: str) -> Test:
    """Normalise x (rows, columns) and apply weight and bias (columns,)."""
    from flash_attn.ops.triton.layer_norm import layer_norm_fn

    inputs = [random(65, 256), random(256), random(256)]

    def formula(x: Any, weight: Any, bias: Any) -> Any:
        return torch.nn.functional.layer_norm(x, (256,), weight, bias, EPSILON)

    def work(x: Any, weight: Any, bias: Any) -> Any:
        return layer_norm_fn(x, weight, bias, eps=EPSILON)

    return inputs, work, formula, ("x", "weight", "bias")


def cross_entropy(torch: Any, random: Any, device: str) -> Test:
    """Return the loss of each row of logits (rows, classes)."""
    from flash_attn.ops.triton.cross_entropy import cross_entropy_loss

    logits = random(65, 1000)
    labels = torch.arange(65) * 15
    near = labels.to(device)

    def work(given: Any) -> Any:
        out = cross_entropy_loss(given, near)
        return out[0] if isinstance(out, (tuple, list)) else out

    def formula(exact: Any) -> Any:
        return torch.nn.functional.cross_entropy(exact, labels, reduction="none")

    return [logits], work, formula, ("logits",)


TESTS: Dict[str, Callable[..., Test]] = {
    "fa-rotary": rotary,
    "fa-layer-norm": layer_norm,
    "fa-cross-entropy": cross_entropy,
}
