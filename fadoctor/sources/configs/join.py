"""Make one run of several configurations: who wins, what disagrees, what they come to."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from fadoctor.knowledge.matrix.load import load_knowledge
from fadoctor.model.catalogue import build_catalogue
from fadoctor.model.fact import Absent, Fact, Known, Unknown, printable
from fadoctor.model.place import Place
from fadoctor.sources.configs.dtype import autocast_of, computed_dtype
from fadoctor.sources.configs.intent import Computed, Configuration, Intent
from fadoctor.sources.configs.kinds import ACCELERATE, DEEPSPEED, TRANSFORMERS
from fadoctor.sources.configs.serving import SERVERS

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from fadoctor.model.environment import Environment

_PARTS = {"model": 0, ACCELERATE: 1, DEEPSPEED: 1, "fsdp": 1, "peft-adapter": 3, "shell": 3,
          "dockerfile": 3}  # fmt: skip
"""Kinds that say less, or more, than the file of the run: what a flag of the command line says
overrules the file, and an adapter that is loaded brings its own configuration."""
_RUN = 2
_SHARED = frozenset({"config.autocast", "config.use_dora"})
"""What every file of a run that speaks of it must say alike."""
_UNLIKE = frozenset({"config.framework", "config.purpose", "config.model"})
"""What two files of equal weight need not agree on."""
_OF_WEIGHTS = frozenset({"config.weights_dtype"})
"""Of which a part in float32, such as a VAE, says nothing about the rest."""
_FRAMEWORK, _CALLED = "config.framework", TRANSFORMERS
"""The library that the other frameworks call: beside one of them it is not meant."""


class Joined(msgspec.Struct, frozen=True):
    """What several configurations come to."""

    facts: dict[str, Fact]
    places: dict[str, tuple[Place, ...]]


def apply_configurations(
    environment: Environment, configurations: Sequence[Configuration]
) -> Environment:
    """Return the environment with what the configurations ask for; what they do not say is Absent.

    A variable that a script sets overrules that of the shell.
    """
    if not configurations:
        return environment
    meant, apart = one_run(configurations)
    joined = join(meant, environment.facts)
    notes = tuple(printable(note) for note in (*_notes(configurations), *apart))
    target = environment.target
    return msgspec.structs.replace(
        environment,
        target=msgspec.structs.replace(target, notes=(*target.notes, *notes)),
        facts=dict(sorted({**environment.facts, **joined.facts}.items())),
        places={**environment.places, **joined.places},
    )


def one_run(
    configurations: Sequence[Configuration],
) -> tuple[tuple[Configuration, ...], tuple[str, ...]]:
    """Return the files of one run, and in words which are about another: a server is no training.

    The training is what is judged where files of both are given, as it is within one script.
    """
    servers = [each for each in configurations if _frameworks(each) & {*SERVERS}]
    others = [each for each in configurations if _frameworks(each) - {*SERVERS}]
    if not (servers and others):
        return tuple(configurations), ()
    apart = [each for each in servers if each not in others]
    kept = tuple(each for each in configurations if each not in apart)
    return kept, tuple(
        f"{each.file} is about a server: judge it in a run of its own" for each in apart
    )


def _frameworks(configuration: Configuration) -> frozenset[object]:
    named = (i.value for i in configuration.intents if i.name == _FRAMEWORK and i.written)
    return frozenset(value for value in named if isinstance(value, str))


def _notes(configurations: Sequence[Configuration]) -> Iterator[str]:
    """Yield what could not be followed, and files that are named and not given."""
    given = {_base(each.file) for each in configurations}
    for each in configurations:
        yield from each.notes
        for name in each.named:
            if _base(name) not in given:
                yield f"{each.file}: {name} is named in it; give it with --config, too"


def _base(name: str) -> str:
    return name.replace("\\", "/").rpartition("/")[2]


def join(configurations: Sequence[Configuration], beside: dict[str, Fact] = {}) -> Joined:  # noqa: B006
    """Return facts and their places; `beside`: facts of the environment, for its variables."""
    files = ", ".join(each.file for each in configurations)
    facts: dict[str, Fact] = {
        name: Absent(printable(f"{files} does not set it"))
        for name in build_catalogue()
        if name.startswith("config.")
    }
    places: dict[str, tuple[Place, ...]] = {}
    said = _by_name(configurations)
    conflicts: list[tuple[str, list[Intent]]] = []
    for name, ranked in said.items():
        winners = _winners(name, ranked)
        facts[name] = _fact(winners)
        places[name] = tuple(dict.fromkeys(intent.place for intent in winners))
        if disagree := _disagreeing(name, ranked):
            conflicts.append((name, disagree))
    if conflicts:
        facts["config.conflict"] = Known(
            tuple(_conflict_text(name, intents) for name, intents in conflicts), "these files"
        )
        places["config.conflict"] = tuple(i.place for _, intents in conflicts for i in intents)
    _add_model_type(facts, places)
    facts["config.autocast"] = autocast_of(facts, beside)
    _add_dtype(facts, places)
    return Joined(facts, places)


def _by_name(configurations: Iterable[Configuration]) -> dict[str, list[tuple[int, Intent]]]:
    said: dict[str, list[tuple[int, Intent]]] = {}
    for each in configurations:
        rank = _PARTS.get(each.kind, _RUN)
        for intent in each.intents:
            # what nobody wrote is a default, which anything that is written overrules
            said.setdefault(intent.name, []).append((rank if intent.written else -1, intent))
    return said


def _winners(name: str, ranked: list[tuple[int, Intent]]) -> list[Intent]:
    """Return what counts: the highest rank, there what is written before what is computed."""
    top = max(rank for rank, _ in ranked)
    found = [intent for rank, intent in ranked if rank == top]
    told = {each.place.file for each in found if not isinstance(each.value, Computed)}
    found = [
        each
        for each in found
        if not (isinstance(each.value, Computed) and told - {each.place.file})
    ]
    if name == _FRAMEWORK:
        return [each for each in found if each.value != _CALLED] or found
    return found


def _fact(winners: list[Intent]) -> Fact:
    """Return what equal files say; Unknown where they do not say the same."""
    first, source = winners[0], printable("; ".join(_where(each) for each in winners))
    left_open = next((each for each in winners if isinstance(each.value, Computed)), None)
    if left_open is not None and isinstance(left_open.value, Computed):
        return Unknown(printable(f"{_where(left_open)}: {left_open.value.why}"), source)
    if any(each.value != first.value for each in winners):
        half = {each.value for each in winners if isinstance(each.value, str)} - {"fp32"}
        if first.name in _OF_WEIGHTS and len(half) == 1:
            return Known(half.pop(), source)
        return Unknown(printable("it is said twice, and differently"), source)
    if first.value is None or isinstance(first.value, Computed):
        return Absent(source)
    return Known(first.value, source)


def _disagreeing(name: str, ranked: list[tuple[int, Intent]]) -> list[Intent]:
    """Return the intents of a name where two files say different things; else none.

    Defaults contradict nothing, and most things may be said by a part and overruled by the run.
    """
    if name in _UNLIKE:
        return []
    ranks = {rank for rank, _ in ranked} if name in _SHARED else {max(rank for rank, _ in ranked)}
    told = [
        each
        for rank, each in ranked
        if rank in ranks and rank >= 0 and not isinstance(each.value, Computed)
    ]
    by_file = {each.place.file: each for each in told}
    differing = {repr(each.value) for each in by_file.values()}
    return list(by_file.values()) if len(differing) > 1 else []


def _conflict_text(name: str, intents: list[Intent]) -> str:
    told = " but ".join(f"{each.written} in {each.place.file}" for each in intents[:3])
    return printable(f"{name.removeprefix('config.')}: {told}")


def _where(intent: Intent) -> str:
    return f"{intent.place} {intent.written}".strip()


def _add_model_type(facts: dict[str, Fact], places: dict[str, tuple[Place, ...]]) -> None:
    """Add the type of a model that the files only name, where a table knows it by its name."""
    named, kind = facts["config.model"], facts["config.model_type"]
    if not isinstance(named, Known) or not isinstance(kind, Absent) or "config.model" not in places:
        return
    name = str(named.value).lower()
    for row in load_knowledge().tables["hub-model-types"].rows:
        if name in str(row["model"]).split():
            facts["config.model_type"] = Known(str(row["model_type"]), named.source)
            places["config.model_type"] = places["config.model"]


def _add_dtype(facts: dict[str, Fact], places: dict[str, tuple[Place, ...]]) -> None:
    """Add what q, k and v are computed in, where the files do not say it themselves."""
    if "config.dtype" in places:
        return
    found, names = computed_dtype(facts, frozenset(places))
    facts["config.dtype"] = found
    at = tuple(dict.fromkeys(place for name in names for place in places.get(name, ())))
    if at:
        places["config.dtype"] = at
