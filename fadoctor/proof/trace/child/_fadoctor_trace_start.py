"""The tracer of a process: what is patched once torch is there, and what a call does then."""

from __future__ import annotations

import atexit
import functools
import json
import os
import sys
import threading
from types import BuiltinFunctionType, FunctionType
from typing import Any

import _fadoctor_trace_calls as calls
import _fadoctor_trace_frames as frames
import _fadoctor_trace_why as why
import torch
from _fadoctor_trace_again import Again
from _fadoctor_trace_compiled import Compiled, Scripted, asks_whether_compiling
from _fadoctor_trace_graphs import Graphs
from _fadoctor_trace_hide import hide_our_frames
from _fadoctor_trace_hub import LOADER, PREFIX, Hub
from _fadoctor_trace_lineage import Lineage
from _fadoctor_trace_modes import Modes, asked_by_others
from _fadoctor_trace_optimizers import Optimizers
from _fadoctor_trace_patches import Patches, alike_of, placed, tell_script
from _fadoctor_trace_record import Record
from _fadoctor_trace_refusals import Refusals

__tracebackhide__ = True
"""Asks pytest to leave our frames out: an error of the patient's stands where it is raised."""

_DYNAMO = "torch._dynamo.eval_frame"
_MAKERS = ("from_numpy", "frombuffer", "from_dlpack", "_utils._rebuild_tensor")

CURRENT: list[Any] = [None]
"""The tracer that records now. Wrappers ask for it: some are kept by who imported them early."""


def start_process(watch: Any) -> Any:
    """Begin to trace this process, for as long as it lives."""
    with open(os.path.join(watch.folder, "config.json"), encoding="utf-8") as file:
        config = json.load(file)
    record = Record(watch.folder, watch, config["variables"], config["packages"])
    tracer = Tracer(config, record, watch)
    tracer.begin(every_thread=True)
    hide_our_frames()
    atexit.register(tracer.changed)
    return tracer


class _Open:
    """A call that is running."""

    __slots__ = ("final", "inner")

    def __init__(self, entry: Any) -> None:
        self.final = "." not in entry["attribute"] and entry["backend"] not in calls.ABSTRACT
        """Whether nothing below it is worth a word: it is the kernel."""
        self.inner = False


class Tracer:
    """Everything that was patched, and the state that the patches look at."""

    def __init__(self, config: Any, record: Any, watch: Any) -> None:
        self.record = record
        self.limit = config["calls"]
        self.limits = config["limits"]
        self.hub = Hub(self)
        self._exact: dict[str, list[Any]] = {}
        self._patterns = []
        for entry in config["entries"]:
            if entry["module"].startswith(PREFIX):
                self.hub.add(entry)
            elif "*" in entry["module"]:
                self._patterns.append(entry)
            else:
                self._exact.setdefault(entry["module"], []).append(entry)
        self.done = False
        self.count = 0
        self.fault = watch.fault
        self.watch = watch
        self.names = frames.Names()
        self.again = Again(record)
        self.is_compiling = asks_whether_compiling()
        self.lineage = Lineage(watch.fault, config["operations"])
        self.lineage.entered = self._entered
        self.kernels = why.Kernels(config["kernels"])
        self.refusals = Refusals(config["refusals"])
        self.modes = Modes(self.lineage)
        self.scripted = Scripted(self)
        self.compiled = Compiled(self)
        self.graphs = Graphs(self)
        self.optimizers = Optimizers(self.modes, self.is_compiling)
        self.lineage.causes.elsewhere = self.graphs.get
        self._local = threading.local()
        self._seen: set[str] = set()
        self.patches = Patches(watch.fault)
        frames.setup(torch)

    def begin(self, every_thread: Any) -> None:
        """Patch what is there already, and put the mode in place."""
        self.choose = getattr(torch, "_fused_sdp_choice", None)  # which kernel torch would take
        self.scripted.patch()
        for name in list(sys.modules):
            module = sys.modules.get(name)
            if module is not None and name.partition(".")[0] != "fadoctor":
                self._take(name, module)
        self.patches.rebind()
        self._patch_makers()
        self.optimizers.watch(self.patches)
        self.lineage.modules_came = self._came_otherwise
        CURRENT[0] = self
        self.modes.push()
        blind = self.modes.blind(torch.overrides.has_torch_function)
        tell_script(blind, torch.overrides.has_torch_function)
        self.lineage.opened = self.modes.within(blind)
        for owner in (torch.overrides, torch.autograd):
            if hasattr(owner, "has_torch_function"):
                self.patches.put(owner, "has_torch_function", blind)
        if every_thread:
            started = self.modes.in_thread(getattr(threading.Thread, "_bootstrap_inner"))
            self.patches.put(threading.Thread, "_bootstrap_inner", started)
        self.changed()

    def end(self) -> None:
        """Put back what was patched, where nobody has patched over it."""
        CURRENT[0] = None
        self.done = True
        self.lineage.active = False
        self.lineage.table.clear()
        self.modes.retire()
        self.optimizers.end()
        self.patches.undo()
        self.compiled.end()

    def _came_otherwise(self) -> None:
        """Take modules that somebody put into sys.modules: no import tells of them."""
        found = False
        for name in self.watch.names:
            module = sys.modules.get(name)
            if module is None or name in self._seen:
                continue
            if not getattr(getattr(module, "__spec__", None), "_initializing", False):
                self._take(name, module)
                found = True
        if found:
            self.patches.rebind()

    def _take(self, name: Any, module: Any) -> None:
        """Take a module that is there already: one that we fail at keeps no other from us."""
        try:
            self.came(name, module)
        except Exception as error:
            self.fault("start at %s" % name, error)

    def _patch_makers(self) -> None:
        """See tensors that come from outside: torch asks no mode about them."""
        for path in _MAKERS:
            owner, _, name = path.rpartition(".")
            holder = getattr(torch, owner, None) if owner else torch
            original = getattr(holder, name, None)
            if original is not None:
                maker = self._maker(name.lstrip("_"), original)
                self.patches.put(holder, name, placed(maker, holder, name))

    def _maker(self, name: Any, original: Any) -> Any:
        is_compiling = self.is_compiling

        def made(*args: Any, **kwargs: Any) -> Any:
            out = original(*args, **kwargs)
            if is_compiling():
                return out
            try:
                if self.lineage.active:
                    self.lineage.made(out, name, sys._getframe(1))
            except Exception as error:
                self.fault(name, error)
            return out

        return functools.update_wrapper(made, original)

    def came(self, name: Any, module: Any) -> None:
        """Patch the entry points of a module that was imported."""
        self._seen.add(name)
        if name == _DYNAMO:
            self.compiled.patch(module)
        for entry in self._exact.get(name, ()):
            self.patch_entry(entry, module)
        for entry in self._patterns:
            if _fits(entry["module"], name):
                self.patch_entry(entry, module)

    def patch_entry(self, entry: Any, module: Any) -> None:
        """Stand before an entry point, where the module has it."""
        owner, _, attribute = entry["attribute"].rpartition(".")
        for part in owner.split(".") if owner else ():
            module = getattr(module, part, None)
        original = getattr(module, attribute, None) if module is not None else None
        if original is None or getattr(original, "_fadoctor", False) or not callable(original):
            return
        if entry["backend"] == LOADER:
            self.patches.put(module, attribute, self.hub.loader(original))
            if CURRENT[0] is self:  # else all is rebound once more
                self.patches.rebind()  # the package has taken it from itself already
            return
        entry = dict(entry, order=calls.order_of(original, entry))
        self._by_other_names(entry, original)
        wrapper = placed(self._wrapped(entry, original), module, attribute)
        self.patches.put(module, attribute, wrapper)
        tell_script(wrapper, original)

    def _by_other_names(self, entry: Any, original: Any) -> None:
        """See a function of torch also where somebody kept it, or calls its operator."""
        if not isinstance(original, BuiltinFunctionType):
            return
        packet = getattr(torch.ops.aten, original.__name__, None)
        for function in (original, packet, getattr(packet, "default", None)):
            if function is not None:
                self.lineage.entries[id(function)] = (function, entry)

    def _entered(self, function: Any, args: Any, kwargs: Any) -> Any:
        return self.call(self.lineage.entries[id(function)][1], function, args, kwargs)

    def _wrapped(self, entry: Any, original: Any) -> Any:
        current, is_compiling = CURRENT, self.is_compiling
        alike: list[Any] = []

        def wrapper(*args: Any, **kwargs: Any) -> Any:
            __tracebackhide__ = True  # its globals may be those of the original
            if is_compiling():
                return original(*args, **kwargs)
            if alike and asked_by_others(self.modes, args, kwargs):
                with alike[0]:
                    if current[0] is None:
                        return original(*args, **kwargs)
                    return current[0].call(entry, original, args, kwargs)
            if current[0] is None:
                return original(*args, **kwargs)
            return current[0].call(entry, original, args, kwargs)

        alike += alike_of(self.patches, original, wrapper, self.watch.folder is not None)

        names = getattr(original, "__globals__", None)
        if names is not None:  # torch.jit.script before torch 2.3 reads the original's names here
            wrapper = FunctionType(wrapper.__code__, names, closure=wrapper.__closure__)
        try:
            functools.update_wrapper(wrapper, original)
        except Exception as error:
            self.fault("wrapping", error)
        setattr(wrapper, "_fadoctor", True)
        return wrapper

    def call(self, entry: Any, original: Any, args: Any, kwargs: Any) -> Any:
        """Run an attention call, and note what was seen of it before and after."""
        stack = self._local.__dict__.setdefault("stack", [])
        if stack and stack[-1].final:  # a kernel's own way of computing is no other call
            return original(*args, **kwargs)
        if torch._C._get_tracing_state() is not None or calls.is_fake(args, kwargs):
            return original(*args, **kwargs)
        before = None
        try:
            self.modes.ensure()
            with torch._C.DisableTorchFunction():
                before = calls.Before(self, entry, args, kwargs, sys._getframe(2))
        except Exception as error:
            self.fault("before %s" % entry["attribute"], error)
        call = _Open(entry)
        stack.append(call)
        out, problem = None, None
        try:
            out = original(*args, **kwargs)
        except BaseException as error:
            problem = error
            raise
        finally:
            stack.pop()
            if stack:
                stack[-1].inner = True
            if before is not None and not call.inner:
                self._after(before, out, problem)
        return out

    def _after(self, before: Any, out: Any, problem: Any) -> None:
        try:
            with torch._C.DisableTorchFunction():
                before.finish(out, problem)
            self.count += 1
            if self.count >= self.limit and not self.done:
                CURRENT[0] = None
                self.done = True
                self.lineage.active = False
                self.modes.retire()
                self.optimizers.end()
                self.record.write()
        except Exception as error:
            self.fault("after a call", error)

    def changed(self) -> None:
        """Write the record anew."""
        try:
            self.record.write()
        except Exception as error:
            self.fault("record", error)


def _fits(pattern: Any, name: Any) -> Any:
    start, _, rest = pattern.partition("*")
    return name.startswith(start) and rest.split("*")[0].lstrip(".") in name[len(start) :]
