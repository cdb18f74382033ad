"""Why no flash kernel ran: what is seen of a call, put into the words of the table of refusals."""

from __future__ import annotations

from typing import Any

import torch
from _fadoctor_trace_origin import RAGGED, RANK, sizes_of
from _fadoctor_trace_table import PLAIN
from _fadoctor_trace_why import FAST, FLASH, reasons

_LISTED = "is not supported because:"


class Refusals:
    """The rows of the table, by what they look at."""

    def __init__(self, rows: Any) -> None:
        self._rows = rows

    def told(self, before: Any, seen: Any, *entries: Any) -> Any:
        """Return the reasons among what is seen, for entries of these kinds, in their order."""
        found = []
        for row in self._rows:
            if row["entry"] not in entries or row["device"] not in ("any", before.device.type):
                continue
            values = [x for x in seen.get(row["sees"], ()) if x not in row["takes"].split()]
            found += [row["says"].replace("{}", each) for each in values]
        return found


def why_not(before: Any, name: Any, problem: Any) -> Any:
    """Return the reasons why no flash kernel ran, or why the one that was called refused."""
    told = before.tracer.refusals.told
    seen = {**_of_tensors(before), **_of_error(problem)}
    is_sdpa = before.entry["backend"] == "sdpa"
    if is_sdpa and name in FAST and problem is None:
        return []
    if name in FLASH and problem is None:
        return told(before, {"wide": seen["wide"]}, "kernel")
    by_framework = {**_of_framework(before), "device": [before.device.type]}
    if before.entry["backend"] == "eager" or name == "eager":
        found = told(before, by_framework, "framework")
        return found or told(before, by_framework, "framework-alone")
    if is_sdpa:
        seen.update(_of_sdpa(before))
    found = told(before, seen, "any", "sdpa" if is_sdpa else "kernel")
    if not is_sdpa and not found:
        found = told(before, {"device": [before.device.type]}, "unexplained")
    found += [each for each in reasons(before) if each not in found]
    if not found and problem is not None:
        first = (str(problem).splitlines() or [""])[0][:200]
        found = told(before, {"error": [first]}, "unexplained")
    if not found and name in ("xformers", "flex"):
        found = told(before, by_framework, "framework")
        found = found or told(before, by_framework, "framework-alone")
    return found


def _of_tensors(before: Any) -> Any:
    """Return what is seen of query, key and value."""
    tensors = before.tensors
    shapes = {letter: sizes_of(each) for letter, each in tensors.items()}
    sizes = {x: shape[-1] for x, shape in shapes.items() if shape and shape[-1] != RAGGED}
    limit = before.tracer.limits.get(before.entry["backend"], 0)
    head = max(sizes.values()) if sizes else 0
    strided = [x for x in tensors.values() if x.dim() and not x.is_nested]
    strided = [x for x in strided if x.numel() and x.stride(-1) != 1]
    dtypes = {letter: str(each.dtype).replace("torch.", "") for letter, each in tensors.items()}
    return {
        "wide": _wide(before),
        "dtypes": [] if _is_cast(before) else _differing(dtypes),
        "devices": _differing({letter: str(each.device) for letter, each in tensors.items()}),
        "head-dims": _differing(sizes),
        "large-head": ["%d is more than %d" % (head, limit)] if limit and head > limit else [],
        "strided": [""] if strided else [],
    }


def _of_sdpa(before: Any) -> Any:
    """Return what else is seen of a call that leaves the choice to torch."""
    shapes = [sizes_of(each) for each in before.tensors.values()]
    enabled = getattr(torch.backends.cuda, "flash_sdp_enabled", None)
    dropout = before.values.get("dropout")
    heads = [shape[1] for shape in shapes if len(shape) == 4]
    found = {
        "switched-off": [""] if enabled is not None and not enabled() else [],
        "dropout": ["%g" % dropout] if isinstance(dropout, float) and dropout > 0 else [],
        "heads": [", ".join(map(str, heads))] if _differ(heads, before.grouped) else [],
        "dimensions": sorted({str(len(shape)) for shape in shapes}),
        "empty": [""] if any(0 in shape for shape in shapes) else [],
    }
    mask = before.values.get("mask")
    if type(mask) in PLAIN:
        found["mask"] = [""]
        found["mask-gradient"] = [""] if mask.requires_grad else []
        found["mask-dimensions"] = [str(mask.dim())]
    return found


def _differ(heads: Any, grouped: Any) -> Any:
    """Return whether numbers of heads do not fit; of grouped ones several queries share a key."""
    if grouped and len(heads) == 3 and heads[1] == heads[2] and heads[1]:
        return heads[0] % heads[1] != 0
    return len(set(heads)) > 1


def _of_error(problem: Any) -> Any:
    """Return the reasons that an error lists below each operator that does not take the call."""
    found: dict[str, Any] = {}
    listed = False
    for line in str(problem).splitlines()[:200] if problem is not None else ():
        if not line.startswith(" "):
            listed = line.rstrip().endswith(_LISTED)
        elif listed:  # what is supported instead is a set: its order differs from run to run
            found.setdefault(line.strip().partition(" (supported")[0][:200])
    return {"operators": list(found)[:8]}


def _of_framework(before: Any) -> Any:
    """Return what is seen of a framework that computes attention itself."""
    setting = getattr(getattr(before.owner, "config", None), "_attn_implementation", None)
    missing = before.tracer.watch.missing
    return {
        "setting": [setting] if isinstance(setting, str) else [],
        "failed-import": [error for name, error in missing if name.startswith("flash_attn")],
    }


def _is_cast(before: Any) -> Any:
    """Return whether autocast gives the call one dtype."""
    return before.autocast is not None and before.entry["backend"] == "sdpa"


def _wide(before: Any) -> Any:
    least = 1 if _is_cast(before) else 0
    dtypes = {each.dtype for each in before.tensors.values() if RANK.get(each.dtype, 1) > least}
    return sorted(str(each).replace("torch.", "") for each in dtypes)


def _differing(values: Any) -> Any:
    """Return what each of the three has, where they differ."""
    if len(set(values.values())) < 2:
        return []
    return [", ".join("%s %s" % pair for pair in values.items())]
