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
DEFAULT_SET = ("full", "causal", "gqa", "long", "hdim96", "short-q", "large", "hdim256", "masked")
FEW = ("hdim96", "masked")
"""Small ones of the default set: one with a causal mask, one with a mask of its own."""

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


def where(healthy: Any, condition: Any, change: Any) -> Any:
    """Return attention of changed tensors where a condition holds of query and key."""

    def faulty(q: Any, k: Any, v: Any, **more: Any) -> Any:
        given = change(q, k, v) if condition(q, k) else (q, k, v)
        return healthy(*given, **more)

    return faulty


def softer(q: Any, k: Any, v: Any) -> Any:
    """Change the scale."""
    return q * 0.9, k, v


def heads_swapped(q: Any, k: Any, v: Any) -> Any:
    """Give each query the keys of another head."""
    return q, k.flip(1), v.flip(1)


def faults_of_shapes(torch: Any) -> dict[str, Any]:
    """Return name -> attention that is wrong for a head dimension, a length, a mask or values."""
    healthy = torch.nn.functional.scaled_dot_product_attention

    def far_half_lost(q: Any, k: Any, v: Any) -> Any:
        kept = torch.cat([k[:, :, :3000], k[:, :, 3000:] * 0], 2)
        return q, kept, v

    def last_row_lost(q: Any, k: Any, v: Any, **more: Any) -> Any:
        out = healthy(q, k, v, **more)
        return torch.cat([out[:, :, :-1], out[:, :, -1:] * 0], 2)

    def mask_ignored(q: Any, k: Any, v: Any, attn_mask: Any = None, **more: Any) -> Any:
        return healthy(q, k, v, attn_mask=None if attn_mask is None else attn_mask | True, **more)

    def mask_of_the_first(q: Any, k: Any, v: Any, attn_mask: Any = None, **more: Any) -> Any:
        mask = None if attn_mask is None else attn_mask[:1].expand_as(attn_mask)
        return healthy(q, k, v, attn_mask=mask, **more)

    def first_seen(q: Any, k: Any, v: Any, attn_mask: Any = None, **more: Any) -> Any:
        if attn_mask is not None:
            attn_mask = torch.cat([attn_mask[..., :1] | True, attn_mask[..., 1:]], -1)
        return healthy(q, k, v, attn_mask=attn_mask, **more)

    def scale_near(q: Any, k: Any, v: Any, **more: Any) -> Any:
        return healthy(q, k, v, scale=1.005 * q.shape[-1] ** -0.5, **more)

    def clipped(q: Any, k: Any, v: Any) -> Any:
        return q.clamp(-4, 4), k, v

    return {
        "head dimension 96": where(healthy, lambda q, _: q.shape[-1] == 96, softer),
        "head dimension 256": where(healthy, lambda q, _: q.shape[-1] == 256, softer),
        "fewer queries": where(healthy, lambda q, k: q.shape[2] != k.shape[2], heads_swapped),
        "very long": where(healthy, lambda q, _: q.shape[2] > 3000, far_half_lost),
        "last row": last_row_lost,
        "mask ignored": mask_ignored,
        "mask of the first": mask_of_the_first,
        "first key never masked": first_seen,
        "scale off by half a percent": scale_near,
        "large values clipped": where(healthy, lambda q, _: q.abs().max() > 5, clipped),
    }


def rare_faults(torch: Any) -> dict[str, Any]:
    """Return name -> attention that is wrong for some shapes only, or at its second call."""
    healthy = torch.nn.functional.scaled_dot_product_attention

    def first_of_batch(q: Any, k: Any, v: Any) -> Any:
        return q, k[:1].expand_as(k), v

    def far_keys_lost(q: Any, k: Any, v: Any) -> Any:
        kept = torch.cat([k[:, :, :1024], k[:, :, 1024:] * 0], 2)
        return q, kept, v

    def widened(q: Any, k: Any, v: Any, **more: Any) -> Any:
        return healthy(q, k, v, **more).float()

    calls: dict[Any, int] = {}

    def second_call(q: Any, k: Any, v: Any, **more: Any) -> Any:
        calls[id(q)] = calls.get(id(q), 0) + 1
        out = healthy(q, k, v, **more)
        return out * 1.1 if sum(calls.values()) > 1 else out

    def third_lost(q: Any, k: Any, v: Any) -> Any:
        return q, k, torch.cat([v[:2], v[2:] * 0])

    return {
        "third of the batch": where(healthy, lambda q, _: q.shape[0] > 2, third_lost),
        "three heads": where(healthy, lambda q, _: q.shape[1] & (q.shape[1] - 1), softer),
        "batch": where(healthy, lambda q, _: q.shape[0] > 1, first_of_batch),
        "head dimension 128": where(healthy, lambda q, _: q.shape[-1] == 128, softer),
        "grouped heads": where(healthy, lambda q, k: q.shape[1] != k.shape[1], heads_swapped),
        "long sequence": where(healthy, lambda q, _: q.shape[2] > 1024, far_keys_lost),
        "dtype of the output": widened,
        "second call": (calls, second_call),
    }


def faults_of_rows(torch: Any) -> dict[str, Any]:
    """Return name -> attention whose output is wrong in one head, row or column."""
    healthy = torch.nn.functional.scaled_dot_product_attention

    def put(place: Any, value: float) -> Any:
        """Change the output, and what autograd sees of it."""

        def faulty(q: Any, k: Any, v: Any, **more: Any) -> Any:
            factor = torch.ones_like(q)
            factor[place] = value
            return healthy(q, k, v, **more) * factor

        return faulty

    whole = slice(None)

    def one_element(q: Any, k: Any, v: Any, **more: Any) -> Any:
        out = healthy(q, k, v, **more)
        out.data[0, 0, 5, 3] += 0.5
        return out

    def gradient_of_a_head(q: Any, k: Any, v: Any, **more: Any) -> Any:
        wrong = v.clone()
        wrong.register_hook(lambda given: given * torch.tensor([1.02] + [1.0] * (v.shape[1] - 1))
                            .to(given.dtype)[:, None, None])  # fmt: skip
        return healthy(q, k, wrong, **more)

    return {
        "one element": one_element,
        "gradient of a head": gradient_of_a_head,
        "last head": put((whole, -1), 1.03),
        "first row": put((whole, whole, 0), 0),
        "last column": put((..., -1), 0),
    }


def faults_of_masks(torch: Any) -> dict[str, Any]:
    """Return name -> attention that sees a key too few or too many, or loses a little."""
    healthy = torch.nn.functional.scaled_dot_product_attention

    def seen_until(offset: int) -> Any:
        def faulty(q: Any, k: Any, v: Any, is_causal: bool, **more: Any) -> Any:  # noqa: FBT001
            if not is_causal:
                return healthy(q, k, v, is_causal=False, **more)
            seen = torch.ones(q.shape[2], k.shape[2], dtype=torch.bool).tril(offset)
            seen[0, 0] = True
            return healthy(q, k, v, attn_mask=seen, **more)

        return faulty

    def remainder_lost(q: Any, k: Any, v: Any) -> Any:
        whole = k.shape[2] // 64 * 64
        return q, torch.cat([k[:, :, :whole], k[:, :, whole:] * 0], 2), v

    def rounded(q: Any, k: Any, v: Any) -> Any:
        return tuple(each.to(torch.float8_e4m3fn).to(each.dtype) for each in (q, k, v))

    def gradient_of_a_row_lost(q: Any, k: Any, v: Any) -> Any:
        return q, k, torch.cat([v[:, :, :-1], v[:, :, -1:].detach()], 2)

    return {
        "own key hidden": seen_until(-1),
        "next key seen": seen_until(1),
        "remainder of a tile": where(healthy, always, remainder_lost),
        "rounded to eight bits": where(healthy, always, rounded),
        "gradient of a row": where(healthy, always, gradient_of_a_row_lost),
    }


def always(_q: Any, _k: Any) -> bool:
    """Hold of each call."""
    return True


def faults_of_arguments(torch: Any) -> dict[str, Any]:
    """Return name -> attention that is wrong for an argument that the default set never gives."""
    healthy = torch.nn.functional.scaled_dot_product_attention

    def given(argument: str) -> Any:
        def faulty(q: Any, k: Any, v: Any, **more: Any) -> Any:
            asked = more.pop(argument, 0)
            out = healthy(q, k, v, **more)
            return out * 1.1 if asked else out

        return faulty

    def when_odd(condition: Any) -> Any:
        return where(healthy, condition, softer)

    def aligned(q: Any, k: Any, v: Any, is_causal: bool = False, **more: Any) -> Any:  # noqa: FBT001, FBT002
        turned = k.flip(2) if is_causal and q.shape[2] != k.shape[2] else k
        return healthy(q, turned, v, is_causal=is_causal, **more)

    def of_mask(condition: Any) -> Any:
        def faulty(q: Any, k: Any, v: Any, attn_mask: Any = None, **more: Any) -> Any:
            out = healthy(q, k, v, attn_mask=attn_mask, **more)
            return out * 1.1 if attn_mask is not None and condition(attn_mask) else out

        return faulty

    return {
        "head dimension 72": when_odd(lambda q, _: q.shape[-1] == 72),
        "more queries": when_odd(lambda q, k: q.shape[2] > k.shape[2]),
        "causal with fewer queries": aligned,
        "mask of numbers": of_mask(lambda mask: mask.is_floating_point()),
        "row without keys": of_mask(lambda mask: not mask.any(-1).all()),
        "scale ignored": given("scale"),
        "scale of dropout": given("dropout_p"),
        "scale of a window": given("window"),
        "scale of a softcap": given("softcap"),
    }


def once_for_each_cell(attention: Any, cell: dict[str, str]) -> None:
    """Let the worker make a cell's inputs and its reference once for all faults.

    They hang on the cell alone, and nothing changes them: on a CPU they are most of the work.
    """
    made: dict[tuple[str, ...], Any] = {}

    def kept(name: str) -> Any:
        healthy = getattr(attention, name)

        def once(*given: Any) -> Any:
            key = (name, *cell.values())
            if key not in made:
                made[key] = healthy(*given)
            return made[key]

        return once

    for name in ("make_inputs", "reference"):
        setattr(attention, name, kept(name))


CELL: dict[str, str] = {}
"""The one that runs."""


def run_cells(torch: Any, fault: str, cases: tuple[str, ...], calls: Any, *, timed: bool) -> None:
    """Run the worker's code for a fault, and print what each cell has shown."""
    trace_of = importlib.import_module("_fadoctor_worker").Trace
    tested = importlib.import_module("_fadoctor_sdpa")
    for dtype in DTYPES:
        for case in cases:
            calls.clear()
            cell = {"backend": "sdpa-flash", "dtype": dtype, "case": case}
            CELL.update(cell)
            trace = trace_of(SilentEvents(), "cpu", cell)
            trace.timed = timed
            tested.run(torch, trace)
            done = {**trace.found, "cell": cell, "schema": 3, "event": "done"}
            print(json.dumps({"fault": fault, "done": done}))


def main() -> None:
    """Run every fault in every dtype and case."""
    sys.path.append(sys.argv[1])
    warnings.simplefilter("ignore")
    import torch

    torch.set_num_threads(1)
    once_for_each_cell(importlib.import_module("_fadoctor_attention"), CELL)
    healthy = torch.nn.functional.scaled_dot_product_attention
    for name, attention in faults(torch).items():
        torch.nn.functional.scaled_dot_product_attention = attention
        run_cells(torch, name, CASES, {}, timed=False)
    torch.nn.functional.scaled_dot_product_attention = healthy
    for name, found in {
        **faults_of_shapes(torch),
        **rare_faults(torch),
        "no rare one": healthy,
    }.items():
        calls, attention = found if isinstance(found, tuple) else ({}, found)
        torch.nn.functional.scaled_dot_product_attention = attention
        run_cells(torch, name, DEFAULT_SET, calls, timed=True)
    subtle = (faults_of_rows(torch), faults_of_masks(torch), faults_of_arguments(torch))
    for name, attention in (pair for each in subtle for pair in each.items()):
        torch.nn.functional.scaled_dot_product_attention = attention
        run_cells(torch, name, FEW, {}, timed=False)


if __name__ == "__main__":
    main()
