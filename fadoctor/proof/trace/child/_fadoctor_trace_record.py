"""The record of one process: written whole, to a file of its own, at each new fact."""

from __future__ import annotations

import json
import os
import sys
import threading
import time
from typing import Any

MOST_CALLS = 1000
"""Distinct calls that are kept."""

_AGAIN_S = 1.0
"""How long counts alone may wait before they are written, seconds."""

_SHARE = 10.0
"""A call where nothing is wrong waits as many times as long as the last writing took.

A sequence that grows by a token makes each call a new one: all of them written at each would cost
the square of their number.
"""

_AT_ONCE = 16
"""Calls with a culprit that are written at once; a program that is wrong throughout has many."""


class Record:
    """Facts of this process; after a fork the child begins its own."""

    def __init__(self, folder: Any, watch: Any, variables: Any, packages: Any) -> None:
        self.folder = folder
        self.watch = watch
        self.variables = variables
        self.packages = packages
        self.calls: dict[str, Any] = {}
        self.compiled: list[str] = []
        self.lost = 0
        self.lock = threading.RLock()
        self._begin()
        if folder is not None and hasattr(os, "register_at_fork"):
            os.register_at_fork(after_in_child=self._forked)

    def _begin(self) -> None:
        self.pid = os.getpid()
        self._path = os.path.join(self.folder or "", "%d-%s.json" % (self.pid, os.urandom(4).hex()))
        self._written = 0.0
        self._cost = 0.0
        self._guilty = 0

    def _forked(self) -> None:
        self.lock = threading.RLock()
        self.calls, self.compiled, self.lost = {}, [], 0
        self.watch.not_entered = []
        self._begin()
        self.write()

    def add(self, key: Any, call: Any) -> None:
        """Count a call; one that is new is written at once."""
        with self.lock:
            known = self.calls.get(key)
            if known is not None:
                known["times"] += 1
                if time.monotonic() - self._written > _AGAIN_S:
                    self.write()
                return
            if len(self.calls) >= MOST_CALLS:
                self.lost += 1
                return
            self.calls[key] = call
            self._guilty += bool(call["culprits"])
            is_urgent = call["error"] or (call["culprits"] and self._guilty <= _AT_ONCE)
            wait = 0.0 if is_urgent else min(self._cost * _SHARE, _AGAIN_S)
            if time.monotonic() - self._written >= wait:
                self.write()

    def note_compiled(self, name: Any) -> None:
        """Note a compiled region, once."""
        with self.lock:
            if name not in self.compiled and len(self.compiled) < 64:
                self.compiled.append(name)
                self.write()

    def write(self) -> None:
        """Replace the file by the state of now; a full disk ends nothing."""
        if self.folder is None:
            return
        with self.lock:
            began = time.monotonic()
            temporary = "%s.%d.new" % (self._path, threading.get_ident())
            try:
                # In one piece: what goes to a file piece by piece is encoded in Python.
                text = json.dumps(self.document())
                with open(temporary, "w", encoding="utf-8", errors="replace") as file:
                    file.write(text)
                os.replace(temporary, self._path)
            except (OSError, ValueError, TypeError) as error:
                self.watch.fault("writing the record", error)
            self._written = time.monotonic()
            self._cost = self._written - began

    def document(self) -> Any:
        """Return what is known, ready for JSON."""
        torch = sys.modules.get("torch")
        argv = getattr(sys, "orig_argv", None) or [sys.executable] + list(sys.argv)
        return {
            "pid": self.pid,
            "rank": _rank(),
            "argv": [str(word)[:2000] for word in argv[:200]],
            "entered": True,
            "python": "%d.%d.%d" % sys.version_info[:3],
            "torch": str(getattr(torch, "__version__", "")),
            "packages": self._versions(),
            "variables": _variables(self.variables),
            "compiled": list(self.compiled),
            "failed_imports": [
                {"module": name, "error": error} for name, error in self.watch.missing
            ],
            "not_entered": [
                {"argv": argv, "reason": reason} for argv, reason in self.watch.not_entered
            ],
            "calls": list(self.calls.values()),
            "lost": self.lost,
            "faults": list(self.watch.faults),
        }

    def _versions(self) -> Any:
        found = {}
        for name in self.packages:
            version = getattr(sys.modules.get(name), "__version__", None)
            if name not in sys.modules:
                continue
            if not isinstance(version, str):
                try:
                    from importlib.metadata import version as installed

                    version = installed(name.replace("_", "-"))
                except Exception:
                    continue
            # torch's is a class of its own, which no encoder knows.
            found[name] = str(version)
        return found


def _rank() -> Any:
    for name in ("RANK", "OMPI_COMM_WORLD_RANK", "SLURM_PROCID"):
        text = os.environ.get(name, "")
        if text.isdigit():
            return int(text)
    distributed = sys.modules.get("torch.distributed")
    try:
        if distributed is not None and distributed.is_available():
            return distributed.get_rank() if distributed.is_initialized() else None
    except Exception:
        return None
    return None


def _variables(patterns: Any) -> Any:
    exact = {name for name in patterns if not name.endswith("*")}
    starts = tuple(name[:-1] for name in patterns if name.endswith("*"))
    return {
        name: value[:1000]
        for name, value in os.environ.items()
        if name in exact or (starts and name.startswith(starts))
    }
