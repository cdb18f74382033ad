"""What must hold of every report, and environments that were broken at random to try it on.

Everything here is worked out from facts and tables anew, without the code that predicts.
"""

from __future__ import annotations

import random
import tempfile
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec
from packaging.specifiers import SpecifierSet

from fadoctor.model.catalogue import EXTENSIONS, PACKAGES
from fadoctor.model.fact import Absent, Fact, Known, Unknown
from fadoctor.model.finding import Outcome, Severity
from fadoctor.model.verdict import Predicted
from tests.history.environments import ATTENTION, GPUS, environment, stacks
from tests.hosts import recording
from tests.properties.worlds import cases, knowledge, of_case

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from fadoctor.diagnose import Prognosis
    from fadoctor.model.environment import Environment
    from fadoctor.model.report import Report
    from fadoctor.model.verdict import Verdict

Facts = dict[str, Fact]

_BACKENDS = {str(row["backend"]): row for row in knowledge().tables["backends"].rows}
_IDLE = knowledge().tables["requirements-idle"].rows
_FAILURES = (
    ("missing-version", "glibc"), ("missing-version", "libstdcxx"), ("missing-library", "cuda-runtime"),
    ("missing-library", "other"), ("undefined-symbol", "torch-function"), ("undefined-symbol", "nccl"),
    ("undefined-symbol", "string-abi"), ("missing-library", "torch-library"), ("truncated", ""),
    ("not-elf", ""), ("other-machine", ""), ("torch", ""), ("undefined-symbol", "stable-abi"),
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
        with tempfile.TemporaryDirectory() as folder:
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


def _sound(chance: random.Random) -> Environment:
    match chance.randrange(10):
        case 0:
            return of_case(chance.choice(cases())[1])
        case 1 | 2 | 3 | 4:
            return chance.choice(_hosts())
        case _:
            stack = chance.choice(list(stacks().values()))
            gpus = tuple(chance.sample(GPUS, chance.choice((1, 1, 2))))
            return environment(stack, chance.choice(("", *ATTENTION)), gpus, knowledge())


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
        facts[f"{package}.binary.file"] = facts[f"{package}.extension"] = GONE
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


BREAKING: tuple[Callable[[Facts, random.Random], None], ...] = (
    _unloadable, _unloadable, _refused, _empty, _unmet, _demanding, _removed,
    _lost, _decisive_lost, _decisive_lost, _gone, _old_driver, _other_gpu,
)  # fmt: skip


def contradictions(prognosis: Prognosis, report: Report) -> list[str]:
    """Return everything in a report that its own facts or findings contradict."""
    facts = report.environment
    found = [
        f"{cell.gpu} {cell.backend.value} {cell.dtype.value} works, but {why}"
        for cell in report.verdicts
        if cell.predicted is Predicted.WORKS
        for why in _against(cell, facts, prognosis)
    ]
    return [*found, *_about_advice(report), *_unexplained(facts, prognosis, report)]


def _against(cell: Verdict, facts: Facts, prognosis: Prognosis) -> Iterator[str]:
    row = _BACKENDS[cell.backend.value]
    package, needs = str(row["package"]), str(row.get("needs") or "").split()
    for name in dict.fromkeys((package, "torch", *needs)):
        if not isinstance(facts.get(f"{name}.version"), Known):
            yield f"{name} is missing, or nobody knows its version"
    for name in (package, *needs):
        yield from _extensions(name, facts)
    yield from _requirements(package, cell.backend.value, facts)
    capability = facts.get(f"{cell.gpu.partition(' ')[0]}.compute_capability")
    if isinstance(capability, Unknown):
        yield "nobody knows what the GPU is"
    for each in prognosis.assessment.judgements:
        affects, about = each.rule.affects, each.about.bindings
        if (
            each.outcome is not Outcome.FAIL
            or each.rule.severity is not Severity.ERROR
            or not affects
        ):
            continue
        own = about.get("package") in (package, *needs) if affects.extension else False
        here = about.get("gpu", cell.gpu.partition(" ")[0]) == cell.gpu.partition(" ")[0]
        covers = (own or cell.backend in affects.backends) and here
        if covers and cell.dtype in (affects.dtypes or (cell.dtype,)):
            yield f"{each.rule.id} stands"


def _needed(package: str, facts: Facts) -> list[str]:
    """Return the extensions that a package does not do without."""
    optional = (f"{package}.{name}" for name in EXTENSIONS.get(package, ()))
    return [each for each in optional if facts.get(f"{each}.optional") != known_true(facts, each)]


def known_true(facts: Facts, extension: str) -> Fact | None:
    """Return the fact itself where it says that an extension is optional."""
    fact = facts.get(f"{extension}.optional")
    return fact if isinstance(fact, Known) and fact.value is True else known(object)


def _extensions(package: str, facts: Facts) -> Iterator[str]:
    needed = _needed(package, facts)
    for extension in needed:
        failure = facts.get(f"{extension}.failure")
        if isinstance(failure, Known):
            yield f"{extension} does not load"
        if isinstance(failure, Unknown) and not isinstance(facts.get(f"{extension}.file"), Absent):
            yield f"nobody knows whether {extension} loads"
    if f"{package}.binary" in needed and isinstance(facts.get(f"{package}.binary.file"), Absent):
        yield f"{package} has no extension"
    if _does_not_load(package, facts):
        yield f"{package} does not load"


def _does_not_load(package: str, facts: Facts) -> bool:
    """Return whether a package's extensions are known not to load, but for those it does without."""
    loads = facts.get(f"{package}.loads")
    every = [f"{package}.{name}" for name in EXTENSIONS.get(package, ())]
    spared = [each for each in every if each not in _needed(package, facts)]
    excused = any(isinstance(facts.get(f"{each}.failure"), Known) for each in spared)
    is_refused = isinstance(loads, Known) and loads.value is False
    return is_refused and len(spared) < len(every) and not excused


def _requirements(package: str, backend: str, facts: Facts) -> Iterator[str]:
    there, needs = facts.get("packages.installed"), facts.get(f"{package}.requires")
    installer = facts.get(f"{package}.installer")
    if isinstance(installer, Known) and installer.value == "conda":
        return
    if isinstance(there, Unknown) or isinstance(needs, Unknown):
        yield f"nobody knows whether {package} has what it requires"
    own_torch = facts.get("torch.build") in (None, known("other"))
    for name, wanted in mapping(needs).items():
        idle = [
            row
            for row in _IDLE
            if row["package"] == package and name in str(row["requirement"]).split()
        ]
        spared = any(backend in str(row["backends"]).split() for row in idle)
        aliases = next((names for names in PACKAGES.values() if name in names), (name,))
        versions = [mapping(there)[alias] for alias in aliases if alias in mapping(there)]
        is_own = name == "torch" and (own_torch or _value(facts, "torch.build") in ("", "other"))
        met = name in mapping(there) and (is_own or _is_in(mapping(there)[name], wanted))
        stands_in = name not in mapping(there) and bool(versions)
        if not (spared or met or stands_in):
            yield f"{package} requires {name}{wanted}"


def _value(facts: Facts, name: str) -> str:
    fact = facts.get(name)
    return str(fact.value) if isinstance(fact, Known) else ""


def _is_in(version: str, wanted: str) -> bool:
    return not wanted or SpecifierSet(wanted).contains(version, prereleases=True)


def _about_advice(report: Report) -> Iterator[str]:
    advice = report.recommendation
    if advice is None:
        return
    mine = [cell.predicted for cell in report.verdicts if cell.backend is advice.backend]
    if mine and set(mine) == {Predicted.FAILS}:
        yield f"{advice.backend.value} is recommended, and fails everywhere"
    package = str(_BACKENDS[advice.backend.value]["package"])
    for name in ("torch", package):
        if isinstance(report.environment.get(f"{name}.version"), Absent):
            yield f"{advice.backend.value} is recommended, and there is no {name}"


def _unexplained(facts: Facts, prognosis: Prognosis, report: Report) -> Iterator[str]:
    """Yield the extensions that are known not to load and of which nothing is said."""
    said = {rule for each in report.findings for rule in (each.rule_id, *each.consequences)}
    about = {each.about.bindings.get("package") for each in prognosis.assessment.judgements
             if each.rule.id == "extension-unloadable" and each.outcome is Outcome.FAIL}  # fmt: skip
    for package in EXTENSIONS:
        if package not in installed(facts):
            continue
        failures = [facts.get(f"{each}.failure") for each in _needed(package, facts)]
        own = [f for f in failures if isinstance(f, Known) and f.value != "torch"]
        if (own or _blank_refusal(package, facts)) and not (
            "extension-unloadable" in said and package in about
        ):
            yield f"{package} does not load, and nothing is said of it"


def _blank_refusal(package: str, facts: Facts) -> bool:
    every = (f"{package}.{name}" for name in EXTENSIONS[package])
    none = not any(isinstance(facts.get(f"{each}.failure"), Known) for each in every)
    return none and _does_not_load(package, facts)
