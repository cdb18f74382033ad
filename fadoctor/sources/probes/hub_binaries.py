"""The compiled code of builds in the Hub's cache: does it load beside this torch, for which GPUs.

Only builds that would be taken are opened. Nothing of them is run.
"""

from __future__ import annotations

import os
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

from fadoctor.binary.coverage import summarise
from fadoctor.binary.errors import BadBinaryError
from fadoctor.binary.fatbin import read_fatbins
from fadoctor.binary.predict import Predictor
from fadoctor.model.fact import Known, Unknown, printable
from fadoctor.model.packages import KERNELS, TORCH
from fadoctor.sources.hub.cache import find_cache, locate_build
from fadoctor.sources.hub.local import KIND, VARIABLE, locate_local, parse_local
from fadoctor.sources.probes.binaries import loader_target, unreadable
from fadoctor.sources.probes.binary_facts import Naming, loader_facts, loads_fact
from fadoctor.sources.probes.extensions import Extension, find_extensions
from fadoctor.sources.probes.hub import place_of
from fadoctor.sources.probes.world import known, unknown

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from fadoctor.model.fact import Fact
    from fadoctor.sources.probes.world import Facts, World

LOADS = "yes"
"""Said of a build whose every library would be loaded."""
UNDECIDED = "?"
"""How what is said begins where nobody knows whether it would."""
BUILD_LIMIT = 4
"""Builds that are opened."""
LIBRARY_LIMIT = 4
"""Libraries of one build that are opened."""
_ENTRIES = 200
_LINES = 40
"""Kinds of containers of GPU code that are kept of one build."""


def read_builds(world: World, facts: Mapping[str, Fact], builds: Iterable[str]) -> Facts:
    """Return what the loader would say of some builds, ``kernel owner/name@branch build``.

    Empty where there is nothing to read, so that nothing is said of it.
    """
    wanted = tuple(islice(builds, BUILD_LIMIT))
    reason = unreadable(facts)
    if reason is not None or not wanted:
        return {} if reason is None else {"hub.loads": reason, "hub.code": reason}
    torch = next(find_extensions(world, facts), None)
    if not isinstance(torch, Extension) or torch.key != TORCH or not torch.path:
        unread = unknown("torch's own extension was not found", "import path")
        return {"hub.loads": unread, "hub.code": unread}
    loads: dict[str, str] = {}
    code: dict[str, str] = {}
    with Predictor(loader_target(world, facts, torch.path)) as predictor:
        naming = Naming(world, predictor)
        for each in wanted:
            key = f"{each.partition(' ')[2]} {_text(facts, 'torch.version')}"
            libraries = tuple(islice(_libraries(world, each), LIBRARY_LIMIT))
            loads[key] = _loads(libraries, naming)
            code[key] = _code(libraries)
    source = "the Hub's cache"
    return {"hub.loads": known(loads, source), "hub.code": known(code, source)}


def _text(facts: Mapping[str, Fact], name: str) -> str:
    """Return a Known fact as text, "" otherwise."""
    fact = facts.get(name)
    return str(fact.value) if isinstance(fact, Known) else ""


def _libraries(world: World, build: str) -> Iterator[Path]:
    """Yield the compiled libraries of a build, beside its __init__.py or one folder below."""
    kind, name, variant = build.split(" ")
    if kind == KIND:
        named = parse_local(world.environ.get(VARIABLE, ""))
        folder = locate_local(named, lambda each: place_of(world, Path(each)), name, variant)
    else:
        cache = find_cache(dict(world.environ), kind)
        folder = cache and locate_build(place_of(world, cache), kind, name, variant)
    if folder is None:
        return
    inside = folder / name.partition("@")[0].partition("/")[2].replace("-", "_")
    for place in (folder, inside):
        found = [entry for entry in _names(place) if entry.endswith(".so")]
        yield from (place / entry for entry in found)
        if found:
            return


def _names(folder: Path) -> list[str]:
    try:
        with os.scandir(folder) as entries:
            return sorted(entry.name for entry in islice(entries, _ENTRIES))
    except OSError:
        return []


def _loads(libraries: tuple[Path, ...], naming: Naming) -> str:
    """Return LOADS, what the loader would say, or why nobody knows."""
    if not libraries:
        return f"{UNDECIDED} its compiled libraries were not found"
    extensions = [Extension(KERNELS, path.name, str(path)) for path in libraries]
    predictions = {
        each: naming.predictor.predict(naming.world.inside(each.path)) for each in extensions
    }
    fact = loads_fact(predictions, naming)
    if isinstance(fact, Known) and fact.value is True:
        return LOADS
    if isinstance(fact, Unknown):
        return printable(f"{UNDECIDED} {fact.reason}")
    for extension, prediction in predictions.items():
        said = loader_facts(extension, prediction, naming)["says"]
        if isinstance(said, Known):
            place = naming.world.name(extension.path)
            return printable(str(said.value).replace(place, extension.name))
    return f"{UNDECIDED} torch itself does not load"


def _code(libraries: tuple[Path, ...]) -> str:
    """Return the lines of GPU code, each once; "" where there is none or it cannot be read."""
    try:
        every = [line for path in libraries for line in summarise(read_fatbins(path)).code]
    except (BadBinaryError, OSError):
        return ""
    lines = dict.fromkeys(every)
    return "; ".join(lines) if len(lines) <= _LINES else ""
