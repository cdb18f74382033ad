"""Run the probes, each as soon as what it needs is there, and put their facts together."""

from __future__ import annotations

import importlib
import logging
import threading
from collections.abc import Mapping

from fadoctor import __version__
from fadoctor.model.catalogue import build_catalogue
from fadoctor.model.environment import Environment
from fadoctor.model.fact import Absent, Fact, Unknown, printable
from fadoctor.probes import PROBES
from fadoctor.probes.world import World

_log = logging.getLogger(__name__)


def collect(world: World, probes: Mapping[str, tuple[str, tuple[str, ...]]] = PROBES) -> Environment:
    """Return the environment. A probe that breaks leaves its facts Unknown and harms no other.

    Probes without needs wait for child processes, so they run side by side; those that need
    others' facts follow in the order of the registry.
    """
    first = [name for name, (_, needs) in probes.items() if not needs]
    results: dict[str, dict[str, Fact]] = {}
    threads = [
        threading.Thread(target=_run, args=(name, probes, world, {}, results), daemon=True)
        for name in first
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    facts = _merged(results, first)
    for name in (name for name in probes if name not in first):
        _run(name, probes, world, facts, results)
        facts.update(results[name])
    return Environment(__version__, world.target, _completed(facts))


def _run(
    name: str,
    probes: Mapping[str, tuple[str, tuple[str, ...]]],
    world: World,
    facts: dict[str, Fact],
    results: dict[str, dict[str, Fact]],
) -> None:
    try:
        module = importlib.import_module(probes[name][0])
        results[name] = module.probe(world, facts)
    except Exception as error:  # noqa: BLE001 -- isolation point: a broken probe must not end the run
        _log.debug("probe %s broke", name, exc_info=True)
        reason = printable(f"the probe {name} broke: {type(error).__name__}: {error}")
        results[name] = {
            spec.name: Unknown(reason, f"probe {name}")
            for spec in build_catalogue().values()
            if spec.provider == name and "[]" not in spec.name and "*" not in spec.name
        }


def _merged(results: Mapping[str, dict[str, Fact]], names: list[str]) -> dict[str, Fact]:
    facts: dict[str, Fact] = {}
    for name in names:
        facts.update(results[name])
    return facts


def _completed(facts: dict[str, Fact]) -> dict[str, Fact]:
    """Add what no probe reads: no configuration was named, so there is none. Sorted by name."""
    for spec in build_catalogue().values():
        if spec.name.startswith("config."):
            facts.setdefault(spec.name, Absent("no configuration file was named"))
    return dict(sorted(facts.items()))
