"""What an installation of a release is known to give, whatever the package."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TYPE_CHECKING

from fadoctor.knowledge.matrix.versions import parse_specifier, parse_version
from fadoctor.model.fact import Absent, Fact, Known, Unknown, fact_mapping
from fadoctor.model.packages import PACKAGES
from fadoctor.repair.plan.choices.choice import distribution_of
from fadoctor.repair.plan.choices.wheel_facts import known
from fadoctor.repair.plan.states.compiled import by_label
from fadoctor.sources.probes.metadata import normalise_name

if TYPE_CHECKING:
    from collections.abc import Iterator

    from fadoctor.model.environment import Environment

_ENDS = re.compile(r"[=<>~]=?\s*([0-9][0-9A-Za-z.+]{0,60})")
"""The versions that a range names: of 2.* the 2. is none."""
_END = re.compile(r"([<>]=?)\s*([0-9][0-9A-Za-z.]{0,60})")


def common(package: str, version: str, **more: object) -> dict[str, Fact]:
    """Return what every installation of a version gives."""
    facts = {
        "version": version,
        "distribution": distribution_of(package),
        "direct_url": None,
        "editable": False,
        "missing_files": 0,
        "gone": False,
        "wheel.tags": None,
        **more,
    }
    return {f"{package}.{name}": known(value) for name, value in facts.items()}


def released(package: str, version: str, **more: object) -> dict[str, Fact]:
    """Return what a release of the tables gives, whose compiled files nobody has read here.

    It is offered for the Python that is here alone, so its own wish is met.
    """
    python = {f"{package}.requires_python": known(None)}
    return {**by_label(package), **python, **common(package, version, **more)}


@lru_cache(maxsize=65_536)
def accepts(specifier: str, version: str) -> bool:
    """Return whether a specifier takes a version; what is not known is no hindrance."""
    allowed, parsed = parse_specifier(specifier) if specifier else None, parse_version(version)
    if allowed is None or not version:
        return True
    return parsed is not None and allowed.contains(parsed, prereleases=True)


@lru_cache(maxsize=4096)
def can_agree(first: str, second: str) -> bool:
    """Return whether some version may be in both ranges; what is not known is no hindrance.

    The ends of both are tried, and what lies just beyond them.
    """
    ranges = [parse_specifier(each) for each in (first, second)]
    if None in ranges:
        return True
    ends = [end for each in (first, second) for end in _ENDS.findall(each)]
    tried = [word for end in ends for word in (end, f"{end}.9999", just_before(end))]
    return not ends or any(
        all(each is not None and each.contains(word, prereleases=True) for each in ranges)
        for word in filter(None, tried)
    )


def within_both(first: str, second: str) -> str:
    """Return the range of what is in two of them, each end once: what one says goes by the other.

    >>> within_both(">=5,<6", ">=5.15,<5.20")
    '>=5.15,<5.20'
    """
    clauses = dict.fromkeys(e.strip() for text in (first, second) for e in text.split(","))
    every = [each for each in clauses if each]
    kept = (e for e in every if not any(_is_firmer(other, e) for other in every))
    return ",".join(sorted(kept, key=lambda each: each[0], reverse=True))


def _is_firmer(clause: str, than: str) -> bool:
    """Return whether a clause admits less than another one that is an end on the same side."""
    one, other = _END.fullmatch(clause), _END.fullmatch(than)
    if clause == than or one is None or other is None or one[1][0] != other[1][0]:
        return False
    first, second = parse_version(one[2]), parse_version(other[2])
    if first is None or second is None:
        return False
    if first == second:
        return "=" not in one[1]
    return (first > second) is (one[1][0] == ">")


def just_before(version: str) -> str:
    """Return a version that is older than one, and newer than any that is: 2.1.9999 of 2.2."""
    numbers = version.split(".")
    while numbers and not numbers[-1].strip("0"):
        numbers.pop()
    if not numbers or not numbers[-1].isdigit():
        return ""
    return ".".join([*numbers[:-1], str(int(numbers[-1]) - 1), "9999"])


def is_in_specifier(version: str, requires: Fact | None) -> bool:
    """Return whether a Python is in a ``Requires-Python``; what is not known is no hindrance."""
    if not isinstance(requires, Known):
        return True
    allowed = parse_specifier(str(requires.value))
    return allowed is None or allowed.contains(f"{version}.0", prereleases=True)


def listed_packages(environment: Environment) -> dict[str, str]:
    """Return the distributions that are installed, or of a text those that it names."""
    installed = environment.fact("packages.installed")
    names = "packages.installed" if isinstance(installed, Known) else "packages.named"
    return fact_mapping(environment.fact(names))


def is_there(environment: Environment, package: str) -> bool:
    """Return whether a package is installed, or may be. Older facts do not name every package.

    What a text says nothing of that names torch counts as missing: it comes only where asked for.
    """
    version, installed, torch = (
        environment.fact(name)
        for name in (f"{package}.version", "packages.installed", "torch.version")
    )
    is_text = isinstance(environment.fact("packages.named"), Known) and isinstance(torch, Known)
    if isinstance(version, Unknown) and (is_text or isinstance(installed, Known)):
        there = {*listed_packages(environment), *_unreadable(environment)}
        return any(name in there for name in PACKAGES.get(package, (package,)))
    return not isinstance(version, Absent)


def _unreadable(environment: Environment) -> Iterator[str]:
    """Yield the distributions whose metadata cannot be used; their files may be there."""
    for folder in fact_mapping(environment.fact("packages.broken")):
        yield normalise_name(folder.partition("-")[0])
