"""Follow the imports of entry modules and print the names that are asked for and not there.

Runs under fadoctor's own interpreter as ``python -I -S _fadoctor_contracts.py``. Standard input is
a JSON object (see `main`), standard output one JSON object on one line. Nothing of the sources is
run or imported. Limits on time and memory are set before the first byte of them is read.
"""

from __future__ import annotations

import contextlib
import gc
import json
import os
import sys
import warnings
from typing import Any, Dict, List

SCHEMA = 1
INPUT_LIMIT = 16 << 20
MEMORY_LIMIT = 1536 << 20
CPU_S = 60
RECURSION = 5_000


def follow(request: Dict[str, Any]) -> Dict[str, Any]:
    """Return the answer for one request."""
    from fadoctor.sources.import_names.child._fadoctor_find import Finder
    from fadoctor.sources.import_names.child._fadoctor_run import Runner
    from fadoctor.sources.import_names.child._fadoctor_shipped import Shipped
    from fadoctor.sources.import_names.child._fadoctor_sources import Sources
    from fadoctor.sources.import_names.child._fadoctor_values import ExhaustedError
    from fadoctor.sources.import_names.child._fadoctor_world import World

    shipped = Shipped(request["shipped"], request["installed"])
    sources = Sources(request["cache"], request["keys"], request["records"], shipped)
    world = World(
        Finder(request["folders"]), request["table"], request["installed"], sources,
        hooked=request["hooked"],
    )  # fmt: skip
    runner = Runner(
        world, tuple(request["python"]), request["system"], frozenset(request["variables"])
    )
    found: List[Dict[str, Any]] = []
    with contextlib.suppress(ExhaustedError, MemoryError):
        for entry in request["entries"]:
            with contextlib.suppress(RecursionError):
                _enter(runner, entry, found)
    sources.keep()
    return {
        "broken": found, "files": {path: list(seen) for path, seen in sources.seen.items()},
        "variables": sorted(runner.variables.asked), "parsed": sources.parsed,
        "distributions": sorted({m.distribution for m in world.loaded()}),
    }  # fmt: skip


def _enter(runner: Any, entry: Dict[str, Any], found: List[Dict[str, Any]]) -> None:
    """Import one entry module, then what its users import next."""
    module = entry["module"]
    for number, wanted in enumerate([module, *entry["next"]]):
        name, _, attribute = wanted.partition(":")
        broken = _asked(runner, name, attribute)
        if broken is not None:
            breaks = f"from {name} import {attribute}" if attribute else f"import {name}"
            found.append({**broken._asdict(), "breaks": breaks, "at_import": number == 0})
        if broken is not None and number == 0:
            return


def _asked(runner: Any, name: str, attribute: str) -> Any:
    from fadoctor.sources.import_names.child._fadoctor_values import Asker, Raised

    nobody = Asker(None, 0, is_sure=True)
    runner.depth = runner.maybe = 0
    runner.guards.clear()
    try:
        runner.world.import_(name, nobody)
        if attribute:
            runner.world.get(name, attribute, nobody)
    except Raised as raised:
        return raised.broken
    return None


def main() -> None:
    """Read one request and answer it."""
    sys.path.append(os.path.abspath(os.path.join(os.path.dirname(__file__), *[os.pardir] * 4)))
    from fadoctor.processes.child._fadoctor_limits import limit_resources

    limit_resources(MEMORY_LIMIT, CPU_S)
    gc.disable()  # neither trees nor what is made of them has cycles
    warnings.simplefilter("ignore")
    sys.setrecursionlimit(RECURSION)
    try:
        request = json.loads(sys.stdin.buffer.read(INPUT_LIMIT).decode("utf-8"))
        answer = {"schema": SCHEMA, "ok": True, **follow(request)}
    except (ValueError, KeyError, TypeError) as error:
        answer = {"schema": SCHEMA, "ok": False, "error": repr(error)[:200]}
    sys.stdout.write(json.dumps(answer) + "\n")


if __name__ == "__main__":
    main()
    sys.stdout.flush()
    os._exit(0)  # taking apart what was read would take as long as reading it
