"""Run the probes, each as soon as what it needs is there, and put their facts together."""

from __future__ import annotations

import importlib
import threading
from collections.abc import Collection, Iterator, Mapping
from functools import partial
from typing import TYPE_CHECKING

from fadoctor import __version__
from fadoctor.model.catalogue import build_catalogue
from fadoctor.model.environment import Environment
from fadoctor.model.fact import Fact, Unknown, printable
from fadoctor.processes.beside import beside
from fadoctor.sources.probes import PROBES, WAITING

if TYPE_CHECKING:
    from fadoctor.sources.probes.world import World

Registry = Mapping[str, tuple[str, tuple[str, ...]]]


def collect(
    world: World, probes: Registry = PROBES, waiting: Collection[str] = WAITING
) -> Environment:
    """Return the environment. A probe that breaks leaves its facts Unknown and harms no other.

    Probes that wait for a child process have a thread, where there are any, and cost no time while
    the others read files, one after another: more threads would only take the interpreter's lock
    from each other. What a probe sees are the facts of the probes that it needs, and of those they
    need, so that the result does not depend on who is first.
    """
    results: dict[str, dict[str, Fact]] = {}
    done = {name: threading.Event() for name in probes}

    def work(name: str) -> None:
        try:
            for need in probes[name][1]:
                done[need].wait()
            seen: dict[str, Fact] = {}
            for need in _all_needs(name, probes):
                seen.update(results.get(need, {}))
            results[name] = _facts_of(name, probes, world, seen)
        finally:
            done[name].set()

    def place(name: str) -> tuple[int, bool]:
        return len(list(_all_needs(name, probes))), name not in waiting

    # What others need comes first: without threads each is done before the next one begins.
    waits = []
    for name in sorted(probes, key=place):
        if name in waiting:
            waits.append(beside(partial(work, name), name))
        else:
            work(name)
    for wait in waits:
        wait()
    facts: dict[str, Fact] = {}
    for name in probes:
        facts.update(results[name])
    return Environment(__version__, world.target, _completed(facts))


def _all_needs(name: str, probes: Registry) -> Iterator[str]:
    """Yield the probes that one needs, directly or not, in the order of the registry."""
    wanted, open_ = set(), [name]
    while open_:
        for need in probes[open_.pop()][1]:
            if need not in wanted:
                wanted.add(need)
                open_.append(need)
    yield from (other for other in probes if other in wanted)


def _facts_of(name: str, probes: Registry, world: World, seen: dict[str, Fact]) -> dict[str, Fact]:
    try:
        found: dict[str, Fact] = importlib.import_module(probes[name][0]).probe(world, seen)
    except Exception as error:  # isolation point: a broken probe must not end the run
        import logging  # noqa: PLC0415 -- rarely needed

        logging.getLogger(__name__).debug("probe %s broke", name, exc_info=True)
        reason = printable(f"the probe {name} broke: {type(error).__name__}: {error}")
        return {
            spec.name: Unknown(reason, f"probe {name}")
            for spec in build_catalogue().values()
            if spec.provider == name and "[]" not in spec.name and "*" not in spec.name
        }
    return found


def _completed(facts: dict[str, Fact]) -> dict[str, Fact]:
    """Return the facts sorted by name. What configurations say is not among them."""
    return dict(sorted(facts.items()))
