"""Environments that were broken at random: recorded ones, those of the history and of cases."""

from __future__ import annotations

import random
import tempfile
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from fadoctor.knowledge.matrix.wheels import Wheels
from fadoctor.model.fact import Absent, Fact, Known, Unknown
from fadoctor.model.packages import EXTENSIONS, PACKAGES
from tests.catalogue.environments import Torches
from tests.history.environments import ATTENTION, GPUS, environment, stacks
from tests.hosts import recording
from tests.properties.worlds import cases, knowledge, of_case
from tests.states.enumeration import Space, made
from tests.work import in_memory

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from fadoctor.model.environment import Environment

Facts = dict[str, Fact]

_FAILURES = (
    ("missing-version", "glibc"), ("missing-version", "libstdcxx"),
    ("missing-library", "cuda-runtime"), ("missing-library", "other"),
    ("missing-library", "torch-library"), ("undefined-symbol", "torch-function"),
    ("undefined-symbol", "nccl"), ("undefined-symbol", "string-abi"),
    ("undefined-symbol", "stable-abi"), ("truncated", ""), ("not-elf", ""),
    ("other-machine", ""), ("torch", ""),
)  # fmt: skip
"""How the loader can refuse a file, and what is missing then."""


def known(value: object) -> Known:
    return Known(value, "property")  # type: ignore[arg-type] # what a fact can hold


GONE = Absent("property")
LOST = Unknown("nobody could look", "property")


@cache
def _hosts() -> tuple[Environment, ...]:
    """Return every recorded machine as its probes read it."""
    found = []
    for name in recording.names():
        with tempfile.TemporaryDirectory(dir=in_memory()) as folder:
            found.append(recording.read(name, Path(folder)))
    return tuple(found)


def worlds(seed: int, count: int) -> Iterator[Environment]:
    """Yield environments: recorded ones, those of the history and of cases, most of them broken."""
    chance = random.Random(seed)  # noqa: S311 -- not for secrets
    for _ in range(count):
        world = _listed(_sound(chance))
        for _ in range(chance.choice((0, 1, 1, 2, 3))):
            facts = dict(world.facts)
            chance.choice(BREAKING)(facts, chance)
            world = msgspec.structs.replace(world, facts=facts)
        yield world


def hub_worlds(seed: int, count: int) -> Iterator[Environment]:
    """Yield healthy recorded machines that take kernels of the Hub, or cannot."""
    chance = random.Random(seed)  # noqa: S311 -- not for secrets
    names = list(recording.names())
    healthy = [_hosts()[place] for place, name in enumerate(names) if "healthy" in name]
    for _ in range(count):
        world = _listed(chance.choice(healthy))
        facts = dict(world.facts)
        for package in ("flash_attn", "xformers"):
            if chance.random() < 0.8:
                facts |= {name: GONE for name in facts if name.startswith(f"{package}.")}
        _of_the_hub(facts, chance)
        if chance.random() < 0.3:
            _other_gpu(facts, chance)
        yield msgspec.structs.replace(world, facts=facts)


def _sound(chance: random.Random) -> Environment:
    match chance.randrange(10):
        case 0:
            return of_case(chance.choice(cases())[1])
        case 1 | 2 | 3:
            return chance.choice(_hosts())
        case 4 | 5:
            return _state(chance)
        case _:
            stack = chance.choice(list(stacks().values()))
            gpus = tuple(chance.sample(GPUS, chance.choice((1, 1, 2))))
            return environment(stack, chance.choice(("", *ATTENTION)), gpus, knowledge())


@cache
def _space() -> Space:
    """Return the enumeration of torch, file, Python, GPU and driver."""
    tables = knowledge().tables
    return Space(knowledge(), Torches(tables), tuple(Wheels(tables).official()))


def _state(chance: random.Random) -> Environment:
    """Return one state of the enumeration."""
    state = None
    while state is None:
        state = _space().member(tuple(chance.randrange(10**9) for _ in range(7)))
    return made(state, _space())


def _listed(world: Environment) -> Environment:
    """Return an environment with a list of packages that holds what its packages require."""
    if isinstance(world.facts.get("packages.installed"), Known):
        return world
    facts = dict(world.facts)
    there: dict[str, str] = {}
    for package in PACKAGES:
        needs = mapping(facts.get(f"{package}.requires"))
        there |= {name: there.get(name, "1.0") for name, wanted in needs.items() if not wanted}
    for package, names in PACKAGES.items():
        version = facts.get(f"{package}.version")
        name = facts.get(f"{package}.distribution")
        if isinstance(version, Known):
            there[str(name.value) if isinstance(name, Known) else names[0]] = str(version.value)
    facts["packages.installed"] = known(there)
    return msgspec.structs.replace(world, facts=facts)


def mapping(fact: Fact | None) -> dict[str, str]:
    return fact.value if isinstance(fact, Known) and isinstance(fact.value, dict) else {}


def installed(facts: Facts) -> list[str]:
    return [key for key in PACKAGES if isinstance(facts.get(f"{key}.version"), Known)]


def _unloadable(facts: Facts, chance: random.Random) -> None:
    """Let an extension be refused by the loader."""
    there = [key for key in installed(facts) if key in EXTENSIONS]
    if there:
        package = chance.choice(there)
        name = chance.choice(list(EXTENSIONS[package]))
        failure, cause = chance.choice(_FAILURES)
        facts[f"{package}.{name}.file"] = known(f"$site/{package}.so")
        facts[f"{package}.{name}.failure"] = known(failure)
        facts[f"{package}.{name}.cause"] = known(cause) if cause else GONE
        facts[f"{package}.{name}.says"] = known("what the loader says")
        facts[f"{package}.{name}.missing"] = known("what is missing")
        facts[f"{package}.{name}.wanted_by"] = known(f"$site/{package}.so")
        facts[f"{package}.loads"] = known(value=False)


def _refused(facts: Facts, chance: random.Random) -> None:
    """Let a package's extensions not load, and nobody know why."""
    there = [key for key in installed(facts) if key in EXTENSIONS]
    if there:
        facts[f"{chance.choice(there)}.loads"] = known(value=False)


def _empty(facts: Facts, chance: random.Random) -> None:
    """Let a package be without its extension."""
    there = [key for key in installed(facts) if key in EXTENSIONS]
    if there:
        package = chance.choice(there)
        gone = [f"{package}.{name}.file" for name in EXTENSIONS[package]]
        facts.update(dict.fromkeys((*gone, f"{package}.extension"), GONE))
        facts["flash_attn.interface"] = known(chance.choice((True, False)))


def _unmet(facts: Facts, chance: random.Random) -> None:
    """Take away, or replace, something that a package requires."""
    there = dict(mapping(facts.get("packages.installed")))
    wanted = [name for key in installed(facts) for name in mapping(facts.get(f"{key}.requires"))]
    if wanted:
        name = chance.choice(wanted)
        if chance.random() < 0.5:
            there.pop(name, None)
        else:
            there[name] = "0.0.1"
        facts["packages.installed"] = known(there)


def _demanding(facts: Facts, chance: random.Random) -> None:
    """Let a package require something more."""
    there = installed(facts)
    if there:
        package = chance.choice(there)
        more = {"quack-kernels": ">=0.5.3", "einops": "", "numpy": "<1.0", "torch": "==99.0"}
        name = chance.choice(list(more))
        needs = {**mapping(facts.get(f"{package}.requires")), name: more[name]}
        facts[f"{package}.requires"] = known(needs)


def _removed(facts: Facts, chance: random.Random) -> None:
    """Uninstall torch, triton or another package."""
    there = installed(facts)
    package = chance.choice(("torch", "torch", "triton", *there))
    names = [name for name in facts if name.startswith(f"{package}.")]
    facts.update(dict.fromkeys(names, GONE))
    facts[f"{package}.version"] = GONE
    left = {
        n: v
        for n, v in mapping(facts.get("packages.installed")).items()
        if n not in PACKAGES[package]
    }
    facts["packages.installed"] = known(left)


def _lost(facts: Facts, chance: random.Random) -> None:
    """Lose a fact: nobody could look."""
    facts[chance.choice(sorted(facts))] = LOST


def _decisive_lost(facts: Facts, chance: random.Random) -> None:
    """Lose a fact on which verdicts rest."""
    names = ["packages.installed", "driver.version", "gpu[0].compute_capability", "torch.cuda"]
    for key in installed(facts):
        names += [f"{key}.version", f"{key}.requires"]
        names += [f"{key}.{name}.failure" for name in EXTENSIONS.get(key, ())]
    there = [name for name in names if name in facts]
    if there:
        facts[chance.choice(there)] = LOST


def _gone(facts: Facts, chance: random.Random) -> None:
    """Let something that was read not be there."""
    name = chance.choice([name for name in sorted(facts) if not name.startswith("packages.")])
    facts[name] = GONE


def _old_driver(facts: Facts, chance: random.Random) -> None:
    facts["driver.version"] = known(
        chance.choice(("390.10", "470.82.01", "525.60.13", "550.54.15"))
    )


def _other_gpu(facts: Facts, chance: random.Random) -> None:
    facts["gpu[0].compute_capability"] = known(chance.choice(("3.7", "6.1", "7.0", "9.0", "12.0")))


_KERNELS = ("kernels-community/flash-attn2", "kernels-community/vllm-flash-attn3")
_ARCHS = ("8.0 9.0 10.0 12.0", "8.0 9.0a", "9.0+PTX", "what")


_PAIRS = (
    ("5.15.1", "0.16.2"), ("5.13.1", "0.15.2"), ("5.17.0", "0.16.2"), ("5.22.2", "0.17.2"),
    ("5.12.1", "0.12.3"), ("4.57.6", "0.9.0"), ("5.12.1", "0.15.2"), ("5.17.0", "0.17.2"),
    ("5.99.0", "0.17.2"), ("4.51.3", "0.14.1"), ("5.15.1", "0.99.0"), ("", "0.17.2"),
)  # fmt: skip
"""transformers and kernels: those that fit first."""


def _of_the_hub(facts: Facts, chance: random.Random) -> None:
    """Install kernels and a transformers or diffusers, and fill the Hub's cache or do not."""
    there = dict(mapping(facts.get("packages.installed")))
    transformers, there["kernels"] = chance.choice((*_PAIRS[:3], *_PAIRS))
    there |= {"transformers": transformers} if transformers else {}
    there |= {"diffusers": chance.choice(("0.35.2", "0.38.0", "0.42.1"))} if there else {}
    facts["packages.installed"] = known(there)
    for name in ("kernels", "transformers"):
        facts[f"{name}.version"] = known(there[name]) if name in there else GONE
        facts[f"{name}.distribution"] = known(name) if name in there else GONE
        facts[f"{name}.requires"] = known({})
    names = [f"{k}@{b}" for k in _KERNELS for b in ("main", "v1", "v3") if chance.random() < 0.6]
    builds = {name: chance.choice(list(_builds(facts))) for name in names}
    facts["hub.kernels"] = facts["hub.models"] = known(builds)
    facts["hub.archs"] = known(
        {f"{n} {b}": chance.choice(_ARCHS) for n, some in builds.items() for b in some.split()}
    )
    keys = "backend id license name python-depends version"
    facts["hub.metadata"] = known(dict.fromkeys(mapping(facts["hub.archs"]), keys))
    facts["hub.needs"] = facts["hub.code"] = known({})
    torch = facts.get("torch.version")
    beside = str(torch.value) if isinstance(torch, Known) else ""
    said = ("yes", "yes", "yes", "undefined symbol: x", "? nobody could look")
    opened = {f"{key} {beside}": chance.choice(said) for key in mapping(facts["hub.archs"])}
    facts["hub.loads"] = known(opened)
    facts["hub.offline"] = known(tuple(name for name in builds if chance.random() < 0.7))
    facts["env.HF_HUB_OFFLINE"] = chance.choice((GONE, GONE, known("1"), known("0"), LOST))
    facts["env.LOCAL_KERNELS"] = GONE


def _builds(facts: Facts) -> Iterator[str]:
    """Yield lists of builds, first one for the torch that is here."""
    told = [facts.get(name) for name in ("torch.version", "torch.cuda")]
    torch, cuda = (str(f.value) if isinstance(f, Known) else "2.8.0" for f in told)
    minor, digits = "".join(torch.split(".")[:2]), "".join(cuda.split(".")[:2])
    yield f"torch{minor}-cxx11-cu{digits}-x86_64-linux torch{minor}-cxx98-cu{digits}-x86_64-linux"
    yield "torch-stable-abi210-cu130-x86_64-linux torch-stable-abi29-cu126-x86_64-linux"
    yield "torch-cuda"
    yield ""


def _activated(facts: Facts, chance: random.Random) -> None:
    """Install a FlashAttention that a newer torch hands its own attention over to."""
    name, version = chance.choice((("flash_attn_3", "3.0.0"), ("flash_attn_4", "4.0.0b36")))
    facts[f"{name}.version"] = known(version)
    facts[f"{name}.requires"] = known({})
    facts[f"{name}.binary.file"] = known(f"$site/{name}.so")
    facts[f"{name}.binary.failure"] = GONE
    if isinstance(facts.get("torch.version"), Known):
        facts["torch.version"] = known(chance.choice(("2.9.1", "2.10.0", "2.13.0")))


BREAKING: tuple[Callable[[Facts, random.Random], None], ...] = (
    _unloadable, _unloadable, _refused, _empty, _unmet, _demanding, _removed,
    _lost, _decisive_lost, _decisive_lost, _gone, _old_driver, _other_gpu, _of_the_hub, _of_the_hub,
    _activated,
)  # fmt: skip
