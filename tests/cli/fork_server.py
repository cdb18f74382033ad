"""Run the command line in forks of one process that has imported it: ``fork_server.py FD``.

A request is JSON with argv, environment and folder, beside which come three descriptors; the
answers are the number of the new process and what it ended with. Each run is a process of its own,
with its own streams and exit code. What is shared are loaded modules, the decoded knowledge and
what the first commands of a process make of it, patterns above all: more than half of a short run.
"""

from __future__ import annotations

import gc
import importlib
import itertools
import json
import os
import pkgutil
import socket
import sys
import tempfile
import traceback
from pathlib import Path

import fadoctor.__main__
from fadoctor import api
from fadoctor.knowledge.matrix import load as knowledge

REQUEST_LIMIT = 1 << 17

A_FEW = 6
"""Runs after which others will follow: to begin takes as long as it saves in so many."""

_NOT_LOADED = (".__main__", ".assistants.server")
"""The second needs the SDK that it serves by."""


def load() -> None:
    """Import what commands import, and no script for another interpreter."""
    for module in pkgutil.walk_packages(fadoctor.__path__, "fadoctor."):
        if ".child" not in module.name and not module.name.endswith(_NOT_LOADED):
            importlib.import_module(module.name)
    knowledge.shipped()
    gc.collect()
    gc.freeze()


_COMPLAINT = """\
RTX 5090, Windows 11: flash attention fails in training, what can I do?
ImportError: /v/site-packages/flash_attn_2_cuda.so: undefined symbol: _ZN3c105Error
"""
_PINNED = "torch==2.6.0\nflash-attn==2.7.4.post1\ntransformers==4.51.3\n"
_FACTS = Path(__file__).parents[1] / "golden" / "linux-4090-wheel-mismatch" / "facts.json"
_CONFIG = "stage: sft\nflash_attn: fa2\nbf16: false\n"


def _begin() -> None:
    """Let commands answer once: what they keep for the next call, each fork finds made.

    Of recorded facts: nothing of the machine is read, nor a process started.
    """
    with tempfile.TemporaryDirectory() as name:
        config = Path(name, "sft.yaml")
        config.write_text(_CONFIG, encoding="utf-8")
        api.explain(_COMPLAINT, facts=_FACTS)
        api.answer(_PINNED)
        api.check(facts=_FACTS, config=config)
        api.plan(facts=_FACTS)


def serve(channel: socket.socket) -> None:
    """Answer requests one by one until the other side is gone."""
    for number in itertools.count():
        request, streams, _, _ = socket.recv_fds(channel, REQUEST_LIMIT, 3)
        if not request:
            return
        if number == A_FEW:
            _begin()
            gc.freeze()
        child = os.fork()
        if child == 0:
            channel.close()
            _become(json.loads(request), streams)
        for each in streams:
            os.close(each)
        channel.send(json.dumps(child).encode())
        _, status = os.waitpid(child, 0)
        channel.send(json.dumps(os.waitstatus_to_exitcode(status)).encode())


def _become(request: dict[str, object], streams: list[int]) -> None:
    """Be the process that was asked for, to its end."""
    code = 1
    try:
        _prepare(request, streams)
        fadoctor.__main__.main()
    except SystemExit as end:  # no number, or `main` had ended the process
        code = 0 if end.code is None else 1
        print(end.code or "", end="", file=sys.stderr)  # noqa: T201 -- as Python does
    except BaseException:  # noqa: BLE001 -- nothing may return into the server
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)


def _prepare(request: dict[str, object], streams: list[int]) -> None:
    for number, stream in enumerate(streams):
        os.dup2(stream, number)
        os.close(stream)
    os.chdir(str(request["cwd"]))
    os.environ.clear()
    environment = request["env"]
    assert isinstance(environment, dict)
    os.environ.update(environment)
    argv = request["argv"]
    assert isinstance(argv, list)
    sys.argv = [str(fadoctor.__main__.__file__), *argv]
    sys.modules["__main__"] = fadoctor.__main__  # as `python -m fadoctor` has it
    encoding = sys.stdout.encoding
    sys.stdin = sys.__stdin__ = open(0, encoding=encoding, errors=sys.stdin.errors)  # type: ignore[misc]  # noqa: SIM115
    sys.stdout = sys.__stdout__ = open(1, "w", encoding=encoding, errors=sys.stdout.errors)  # type: ignore[misc]  # noqa: SIM115
    sys.stderr = sys.__stderr__ = open(2, "w", encoding=encoding, errors="backslashreplace")  # type: ignore[misc]  # noqa: SIM115


if __name__ == "__main__":
    load()
    serve(socket.socket(fileno=int(sys.argv[1])))
