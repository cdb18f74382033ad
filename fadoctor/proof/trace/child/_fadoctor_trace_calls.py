"""One attention call: its tensors, which implementation ran, and who made a tensor wide."""

from __future__ import annotations

import inspect
from typing import Any

import _fadoctor_trace_why as why
import torch
from _fadoctor_trace_frames import file_of, line_of, modules_above, place_of, source_of, storage_of
from _fadoctor_trace_origin import OTHER, RANK, START, is_parameter, sizes_of
from _fadoctor_trace_refusals import why_not
from _fadoctor_trace_table import PLAIN

LETTERS = ("q", "k", "v")
ABSTRACT = ("eager", "setting", "unknown")
"""Backends of entry points that hand on to others: what is called below them outranks them."""


def order_of(original: Any, entry: Any) -> Any:
    """Return the names of the parameters in their order."""
    try:
        return list(inspect.signature(original).parameters)
    except (ValueError, TypeError):
        return entry["order"].split()


def is_fake(args: Any, kwargs: Any) -> bool:
    """Return whether the tensors have no values: an export or a compiler looks, nothing runs."""
    first = next((each for each in (*args, *kwargs.values()) if isinstance(each, torch.Tensor)), 0)
    return type(first).__name__ in ("FakeTensor", "FunctionalTensor")


class Before:
    """What is known of a call before it runs, and what becomes of it."""

    def __init__(self, tracer: Any, entry: Any, args: Any, kwargs: Any, frame: Any) -> None:
        self.tracer = tracer
        self.entry = entry
        values = dict(zip(entry["order"], args))
        values.update(kwargs)
        self.values = {
            name: values.get(entry[name]) for name in ("mask", "causal", "dropout") if entry[name]
        }
        held = values.get("self")  # what a module class is told when it is made
        if self.values.get("causal") is None and isinstance(held, torch.nn.Module):
            self.values["causal"] = vars(held).get(entry["causal"])
        self.tensors = _qkv(entry["tensors"].split(), values)
        self.frame = frame
        module = values.get("module")
        self.held = module if isinstance(module, torch.nn.Module) else None
        self.first: Any = None
        """The innermost module, as far as it was looked for."""
        self.device = self.tensors["q"].device if "q" in self.tensors else torch.device("cpu")
        self.autocast = _autocast(self.device.type)
        self.scale = values.get("scale")
        self.grouped = bool(values.get("enable_gqa"))
        self.form = tracer.again.form(self)
        self.again = self.form is not None and tracer.again.knows(self)
        if not self.again:
            self._look()

    def _look(self) -> None:
        """Find the modules of the call, and where its tensors come from."""
        tracer = self.tracer
        above = modules_above(self.frame)
        if self.held is not None and self.held not in above[:1]:
            above.insert(0, self.held)
        if above:
            tracer.names.learn(above[-1])
        self.module = tracer.names.of(above[0]) if above else None
        self.owner = above[0] if above else None
        self.origins = {letter: tracer.lineage.get(each) for letter, each in self.tensors.items()}
        self.chooses = self.entry["backend"] == "sdpa" and not self._taken_over()

    def _taken_over(self) -> Any:
        """Return whether a class of tensors may do it otherwise than torch would."""
        given = [*self.tensors.values(), self.values.get("mask")]
        return any(isinstance(x, torch.Tensor) and type(x) not in PLAIN for x in given)

    def finish(self, out: Any, problem: Any) -> None:
        """Put the call on record; a call that is known already is only counted."""
        out = out[0] if isinstance(out, (tuple, list)) and out else out
        ran = out.dtype if isinstance(out, torch.Tensor) else None
        if self.again:
            if problem is None and self.tracer.again.count(self, ran, out):
                self._let_go()
                return
            self._look()
        backend = why.backend(self, out)
        mask = self.values.get("mask")
        causal = self.values.get("causal")
        causal = causal if isinstance(causal, bool) else None
        grad = torch.is_grad_enabled()
        wrong = self._wrong(ran)
        seen = tuple((letter, _form(each)) for letter, each in self.tensors.items())
        key = (self.module, self.entry["entry"], seen, _form(mask), causal, self.autocast, grad,
               backend, ran, problem is None, self._sites(wrong))  # fmt: skip
        if self.form is not None and problem is None and not wrong:
            self.tracer.again.keep(self, key, ran, out)
        if key in self.tracer.record.calls:
            self.tracer.record.add(key, None)
            self._let_go()
            return
        place, _ = place_of(self.frame)
        metas = {letter: _meta(each) for letter, each in self.tensors.items()}
        call = {
            "module": self.module,
            "module_class": type(self.owner).__name__ if self.owner is not None else None,
            "entry": self.entry["entry"],
            "backend": backend,
            "times": 1,
            "file": file_of(place.code),
            "line": place.line,
            "function": place.code.co_name,
            "source": source_of(place.code, place.line),
            "q": metas.get("q"),
            "k": metas.get("k"),
            "v": metas.get("v"),
            "mask": _mask(mask),
            "causal": causal,
            "autocast": self.autocast,
            "grad": grad,
            "ran_in": _dtype(ran) if ran is not None else None,
            "error": _error(problem),
            "why_not_flash": why_not(self, backend, problem),
            "setting": _setting(self.owner),
            "culprits": {},
        }
        for letter in wrong:
            call["culprits"][letter] = self._culprit(letter, place)
        self.tracer.record.add(key, call)
        self._let_go()

    def _sites(self, wrong: Any) -> Any:
        """Return the statement that calls, and those that made its tensors wrong."""
        origins = [self.origins.get(letter) for letter in wrong]
        found = [(id(each.place.code), each.place.line) for each in origins if each is not None]
        return (id(self.frame.f_code), self.frame.f_lineno, *found)

    def _let_go(self) -> None:
        self.tensors, self.values, self.frame = {}, {}, None
        self.origins, self.owner, self.held, self.first = {}, None, None, None

    def _wrong(self, ran: Any) -> Any:
        """Return which tensors are wrong at the kernel, not only at the Python call."""
        dtypes = {letter: each.dtype for letter, each in self.tensors.items()}
        casts = self.autocast is not None and self.entry["backend"] == "sdpa"
        if ran is not None and RANK.get(ran) == 0 and (casts or RANK.get(dtypes.get("q")) != 0):
            return []  # it was cast inside
        wide = [letter for letter in LETTERS if RANK.get(dtypes.get(letter), 0) > 0]
        if casts:
            wide = [letter for letter in wide if dtypes[letter] == torch.float64]
        if wide:
            return wide
        if len(set(dtypes.values())) > 1 and not casts:
            found = list(dtypes.values())
            common = max(found, key=found.count)
            return [letter for letter in LETTERS if dtypes.get(letter, common) != common]
        bare = [letter for letter in LETTERS if letter in dtypes and self.tensors[letter].is_meta]
        return bare if len(bare) < len(dtypes) else []

    def _culprit(self, letter: Any, call_place: Any) -> Any:
        origin = self.origins.get(letter)
        given = origin is not None and origin.static and is_parameter(self.tensors[letter])
        if origin is None or origin.place.code is None or given:
            return self._unseen(letter, call_place)
        if origin.joined is not None and 0 in [RANK.get(x.dtype) for x in self.tensors.values()]:
            origin = origin.joined  # the others are half: so was what it was put to
        names, place = self.tracer.names, origin.place
        owner = place.owner()
        module = names.search(owner)
        unsure = self.tracer.record.compiled or origin.kind == OTHER or origin.sure is False
        unsure = unsure or RANK.get(self.tensors[letter].dtype) == 0
        confidence = "medium" if unsure else "high"
        line = line_of(place.code, place.line, origin.op)
        return {
            "kind": origin.kind,
            "module": module if module is not None or owner is None else type(owner).__name__,
            "module_class": type(owner).__name__ if owner is not None else None,
            "file": file_of(place.code),
            "line": line,
            "function": place.code.co_name,
            "op": origin.op,
            "source": source_of(place.code, line),
            "because": _because(origin, names, module),
            "confidence": confidence,
        }

    def _unseen(self, letter: Any, place: Any) -> Any:
        """Return what can be said of a tensor that no watched operation made."""
        tensor = self.tensors[letter]
        name = self.tracer.names.tensor(storage_of(tensor))
        half = RANK.get(tensor.dtype) == 0
        because = "%s: %s" % (name or letter, _dtype(tensor.dtype))
        return {
            "kind": START if (name or is_parameter(tensor)) and not half else OTHER,
            "module": self.module,
            "module_class": type(self.owner).__name__ if self.owner is not None else None,
            "file": file_of(place.code),
            "line": place.line,
            "function": place.code.co_name,
            "op": str(tensor.grad_fn.name()) if tensor.grad_fn is not None else "",
            "source": source_of(place.code, place.line),
            "because": because,
            "confidence": "high" if is_parameter(tensor) else "medium" if name else "low",
        }


def _qkv(names: Any, values: Any) -> Any:
    """Return the tensors of a call by letter; packed ones stand for those that they hold."""
    found = {}
    letters = {"q": "q", "qkv": "qkv", "kv": "kv"}
    for index, name in enumerate(names):
        label, _, parameter = name.rpartition(":")
        for letter in letters.get(label, label) or LETTERS[index]:
            tensor = values.get(parameter)
            if isinstance(tensor, (list, tuple)) and tensor:
                tensor = tensor[0]
            if isinstance(tensor, torch.Tensor):
                packed = len(label) > 1 and tensor.dim() > 3
                found[letter] = _unpacked(tensor, label, letter) if packed else tensor
    return found


def _unpacked(tensor: Any, label: Any, letter: Any) -> Any:
    try:
        with torch._C.DisableTorchFunction():
            return tensor.detach().select(-3, label.index(letter))
    except (RuntimeError, IndexError):
        return tensor


def _dtype(dtype: Any) -> Any:
    return str(dtype).replace("torch.", "")


def _form(tensor: Any) -> Any:
    """Return what two tensors have in common that a record says the same of."""
    if not isinstance(tensor, torch.Tensor):
        return type(tensor)
    return (tensor.dtype, tuple(sizes_of(tensor)), tensor.device)


def _meta(tensor: Any) -> Any:
    return {
        "dtype": _dtype(tensor.dtype),
        "shape": sizes_of(tensor),
        "device": str(tensor.device),
    }


def _mask(mask: Any) -> Any:
    if mask is None:
        return None
    if isinstance(mask, torch.Tensor):
        return dict(_meta(mask), kind="tensor")
    return {"kind": type(mask).__name__[:60]}


def _autocast(device: Any) -> Any:
    """Return the dtype of autocast on a kind of device, None where it is off."""
    ask = getattr(torch, "get_autocast_dtype", None)
    if ask is not None:
        return _dtype(ask(device)) if torch.is_autocast_enabled(device) else None
    if device == "cuda" and torch.is_autocast_enabled():
        return _dtype(torch.get_autocast_gpu_dtype())
    if device == "cpu" and torch.is_autocast_cpu_enabled():
        return _dtype(torch.get_autocast_cpu_dtype())
    return None


def _error(problem: Any) -> Any:
    if problem is None:
        return None
    first = (str(problem).splitlines() or [""])[0]
    return ("%s: %s" % (type(problem).__name__, first))[:500]


def _setting(owner: Any) -> Any:
    """Return the attention that a transformers model asks for in its configuration."""
    config = getattr(owner, "config", None)
    found = getattr(config, "_attn_implementation", None)
    return found if isinstance(found, str) else None


def _because(origin: Any, names: Any, module: Any) -> Any:
    """Return what made a statement widen: the operand, a parameter or a buffer, and its dtype."""
    dtype = _dtype(origin.dtype)
    parameter = names.tensor(origin.key) if origin.key else ""
    if parameter and module and parameter.startswith(module + "."):
        parameter = parameter[len(module) + 1 :]
    name = origin.operand or parameter
    if name:
        text = "%s: %s" % (name, dtype)
        if parameter and parameter != name and not parameter.endswith("." + name):
            text += " (from %s)" % parameter
        elif origin.cut_from and not parameter:
            text += " (from %s)" % origin.cut_from
    elif origin.via is not None and origin.via.code is not None:
        where = "%s:%d" % (file_of(origin.via.code), origin.via.line)
        text = "an operand: %s (made at %s)" % (dtype, where)
    else:
        return origin.why or "%s: %s" % (origin.op, dtype)
    return text + (", %s" % origin.why if origin.why else "")
