"""What decides how a rule comes out: the facts that its conditions can read, and whose they are."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from fadoctor.model.catalogue import OPTIONAL_EXTENSION, REQUIRER, build_catalogue, find_spec
from fadoctor.model.fact import Known
from fadoctor.model.fact_rows import ENVIRONMENT_VARIABLES
from fadoctor.model.packages import EXTENSIONS, KERNELS, PACKAGES, TORCH, TRANSFORMERS, TRITON
from fadoctor.sources.targets.incompatible_pairs import PAIRED
from fadoctor.sources.targets.unmet_requirements import DERIVED

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterable, Iterator, Mapping

    from fadoctor.model.fact import Fact
    from fadoctor.model.rule import Condition, Rule

CONTRACT = "contract"
"""Head of the facts about names that packages ask of each other: those packages decide."""

EVERYTHING = "packages"
"""Head of the facts about all packages: a rule that reads them depends on every choice."""

_COMPILED = frozenset({"extension", OPTIONAL_EXTENSION})
_BESIDE = frozenset({*DERIVED, *PAIRED})
"""Facts of a package that hang on what is installed beside it."""
_OF_PACKAGES = frozenset({"package", REQUIRER})
_COUNTED = ("gpu", "toolkit")
_NUMBERED = (*_COUNTED, CONTRACT)
_GUARD = "package.distribution"
_KEPT = "paths"
"""What the paths of a rule are kept as, beside it."""
_SUBJECT = ("file", "optional")
"""Facts of an extension that say whether rules are judged for it."""
_UNSET = (
    "env.CUDA_VISIBLE_DEVICES",
    *(f"env.{name}" for name in ENVIRONMENT_VARIABLES if name.endswith("*")),
)
"""Facts that say what a variable without a fact of its own means."""


_CHANGING = frozenset({*PACKAGES, EVERYTHING, CONTRACT, "toolkit", "hub"})
"""Heads of the facts that a choice of packages can change: triton brings a ptxas, and another
kernels takes another build from the Hub."""


class FactReading(msgspec.Struct, frozen=True):
    """A fact that is read, or one entry of it."""

    name: str
    entry: str = ""
    """Key of a mapping; empty: all of the fact."""


def values_of(readings: Iterable[FactReading], facts: Mapping[str, Fact]) -> list[Hashable]:
    """Return what tells apart the values that conditions tell apart. Asked very often."""
    found: list[Hashable] = []
    look, add = facts.get, found.append
    for reading in readings:
        fact = look(reading.name)
        if not isinstance(fact, Known):
            add((fact.__class__, None))  # no list has such members
            continue
        value = fact.value
        kind = value.__class__
        if kind is dict:
            entry = reading.entry
            add(value.get(entry) if entry else tuple(value.items()))  # type: ignore[union-attr]
        else:
            add((value, None) if kind is bool else value)  # type: ignore[arg-type]
    return found


def can_change(fact: str) -> bool:
    """Return whether a choice of packages can change a fact: a plan leaves the machine as it is."""
    return fact.partition(".")[0].partition("[")[0] in _CHANGING


def is_for_packages(rule: Rule) -> bool:
    """Return whether a rule is judged for each package, or each extension of one."""
    return not (_OF_PACKAGES | _COMPILED).isdisjoint(rule.for_each)


def can_be_about(rule: Rule, package: str) -> bool:
    """Return whether a rule that is judged for each package can say something of this one."""
    if _OF_PACKAGES.isdisjoint(rule.for_each) and package not in EXTENSIONS:
        return False
    return not _is_about_others(rule.when, package)


def packages_read(rule: Rule, package: str = "") -> frozenset[str]:
    """Return the packages whose facts decide a rule, of one that is for packages for this one.

    `EVERYTHING` is among them where all do, `CONTRACT` where those do that ask each other for
    names. Branches about other packages are left out.
    """
    paths = _all_paths(rule, package)
    heads = {path.partition(".")[0].partition("[")[0] for path in paths}
    found = {head for head in heads if head in PACKAGES or head in (EVERYTHING, CONTRACT)}
    if any(path.startswith("toolkit.ptxas") for path in paths):
        found.add(TRITON)
    if any(path.startswith("hub.") for path in paths):
        found |= {TORCH, TRANSFORMERS, KERNELS}
    if any(path.startswith("package.") and path[8:] in _BESIDE for path in paths):
        found.add(EVERYTHING)  # what is installed beside it decides
    if not _COMPILED.isdisjoint(rule.for_each) or any(path.endswith(".loads") for path in paths):
        found.add(TORCH)  # with another torch they load or do not
    return frozenset(found | ({package} if package else set()))


def facts_of_all(rule: Rule, package: str = "") -> tuple[str, ...]:
    """Return the paths for which every choice may decide a rule: why `EVERYTHING` is mentioned."""
    return tuple(
        path
        for path in _all_paths(rule, package)
        if path.partition(".")[0].partition("[")[0] == EVERYTHING
        or (path.startswith("package.") and path[8:] in _BESIDE)
    )


def facts_read(rule: Rule, package: str, counts: Mapping[str, int]) -> tuple[FactReading, ...]:
    """Return the facts that decide a rule, and for which subjects it is judged.

    `counts`: how many there are of each kind of subject that is numbered.
    """
    found: dict[FactReading, None] = {FactReading(f"{kind}.count"): None for kind in _COUNTED}
    for path in _all_paths(rule, package):
        for name in _bound(path, rule, package, counts):
            found[_reading(name)] = None
            head = name.partition(".")[0]
            if head in PACKAGES:
                found[FactReading(f"{head}.version")] = None
            if head == "env":
                found |= dict.fromkeys(FactReading(other) for other in _UNSET)
    if package:
        found[FactReading(f"{package}.version")] = None
        for extension in EXTENSIONS.get(package, ()):
            for noun in _SUBJECT:
                found[FactReading(f"{package}.{extension}.{noun}")] = None
    return tuple(found)


def _bound(path: str, rule: Rule, package: str, counts: Mapping[str, int]) -> Iterator[str]:
    """Yield what a path means for each subject."""
    head, _, rest = path.partition(".")
    if head == "extension":
        yield from (f"{package}.{name}.{rest}" for name in EXTENSIONS[package])
    elif head == "package" and package:
        yield f"{package}.{rest}"
    elif head in _NUMBERED and head in rule.for_each:
        yield from (f"{head}[{index}].{rest}" for index in range(counts[head]))
    else:
        yield path


def _reading(name: str) -> FactReading:
    """Return the fact behind a path, which can end in a part of it."""
    if find_spec(build_catalogue(), name) is not None:
        return FactReading(name)
    base, _, part = name.rpartition(".")
    spec = find_spec(build_catalogue(), base)
    return FactReading(base, part if spec is not None and spec.type == "mapping" else "")


def _all_paths(rule: Rule, package: str) -> tuple[str, ...]:
    """Return the paths that lead to facts, each once; they are kept beside the rule."""
    kept: dict[str, tuple[str, ...]] = rule.__dict__.setdefault(_KEPT, {})
    if "" not in kept:
        kept[""] = tuple(_found_paths(rule, ""))
    asked = package if _GUARD in kept[""] else ""  # most are the same of all packages
    if asked not in kept:
        kept[asked] = tuple(_found_paths(rule, asked))
    return kept[asked]


def _found_paths(rule: Rule, package: str) -> dict[str, None]:
    found: dict[str, None] = {}
    unless = rule.when_severity.unless if rule.when_severity else {}
    for condition in (rule.when, rule.overruled_by, unless):
        for path in _paths(condition, package):
            found |= dict.fromkeys(_behind(rule, path))
    return found


def _paths(condition: Condition, package: str) -> Iterator[str]:
    """Yield the paths that a condition reads, operands included."""
    if package and _is_about_others(condition, package):
        return
    for path, test in condition.items():
        if path == "any":
            for branch in test:
                yield from _paths(branch, package)
            continue
        yield path
        for operand in test.values() if isinstance(test, dict) else (test,):
            if isinstance(operand, str) and operand.startswith("$"):
                yield operand[1:]


def _is_about_others(condition: Condition, package: str) -> bool:
    """Return whether a condition asks for the name of another package, and so never holds."""
    wanted = condition.get(_GUARD)
    names = _names(wanted["in"] if isinstance(wanted, dict) and "in" in wanted else wanted)
    return bool(names) and names.isdisjoint(PACKAGES[package])


def compared_with(rule: Rule, package: str, about: str = "") -> Iterator[str]:
    """Yield what a rule compares the version of a package with, as text.

    `about`: the package that it is judged for, where it is judged for each.
    """
    unless = rule.when_severity.unless if rule.when_severity else {}
    for condition in (rule.when, rule.overruled_by, unless):
        yield from _tests_of_version(condition, package, about)


def _tests_of_version(condition: Condition, package: str, about: str) -> Iterator[str]:
    for path, test in condition.items():
        if path == "any":
            for branch in test:
                yield from _tests_of_version(branch, package, about)
            continue
        own = f"{about}{path[7:]}" if about and path.startswith("package.") else path
        if own.startswith(f"{package}.version"):
            yield str(test)


def _names(wanted: Any) -> set[str]:
    if isinstance(wanted, str):
        return set() if wanted.startswith("$") else {wanted}
    return set(wanted) if isinstance(wanted, (list, tuple)) else set()


def _behind(rule: Rule, path: str) -> Iterator[str]:
    """Yield the facts behind a path: of a name of the rule's own, what its row or `let` reads."""
    head = path.partition(".")[0]
    if head in rule.let:
        for other in rule.let[head]:
            yield from _behind(rule, other)
    elif head in rule.rows:
        for key, value in rule.rows[head].items():
            if key != "table" and not value.startswith("="):
                yield from _behind(rule, value)
    else:
        yield path
