"""A planned environment as if its files were there, and were what their names say.

Verdicts and plans need an answer before anything is installed. They take what labels say, as plans
do of what they would install; findings that need the files themselves stay undecided.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from fadoctor.knowledge.matrix.wheel_label import STEM
from fadoctor.model.environment import UNNAMED
from fadoctor.model.fact import Absent, Fact, Known, Unknown
from fadoctor.model.packages import FLASH_ATTN, PACKAGES, TRITON, XFORMERS
from fadoctor.repair.plan.states.compiled import ASSUMED, by_label
from fadoctor.repair.resolution.prebuilt import is_of_wheels
from fadoctor.sources.manifests.installed.package_facts import BY_SOURCES, absent_facts

if TYPE_CHECKING:
    from collections.abc import Mapping

    from fadoctor.model.environment import Environment

SOURCE = "as it would be installed"
_UNREAD = Unknown("not read", SOURCE)


def labelled(environment: Environment) -> Environment:
    """Return the environment with what labels say of the files of each package with a version."""
    facts = dict(environment.facts)
    for package in PACKAGES:
        if isinstance(facts.get(f"{package}.version"), Known):
            given = {**by_label(package), **_files(package, facts)}
            facts |= {n: f for n, f in given.items() if _is_open(facts.get(n, _UNREAD))}
    facts |= _brought(facts, environment.pinned)
    return msgspec.structs.replace(environment, facts=facts)


def _is_open(fact: Fact) -> bool:
    """Return whether nobody has looked: what the tables leave open of a file stays so."""
    is_left = fact.source == BY_SOURCES or is_of_wheels(fact.source)
    return isinstance(fact, Unknown) and not is_left


def settled(environment: Environment) -> Environment:
    """Return the environment without what no file names: plans take what is named for all of it."""
    facts = dict(environment.facts)
    installed = facts.get("packages.installed")
    brought = installed.value if isinstance(installed, Known) else {}
    for package, names in PACKAGES.items():
        version = facts.get(f"{package}.version")
        is_brought = isinstance(brought, dict) and not brought.keys().isdisjoint(names)
        if package == TRITON and isinstance(facts.get("torch.requires"), Unknown):
            continue  # of a torch of one's own, or conda's, nobody knows what it brings
        if isinstance(version, Unknown) and version.reason == UNNAMED and not is_brought:
            facts |= absent_facts(package, ASSUMED)
    return msgspec.structs.replace(environment, facts=facts)


def _brought(facts: Mapping[str, Fact], pinned: Mapping[str, str]) -> dict[str, Fact]:
    """Return the list of packages with what an installer adds to those that are known.

    Of what is added the version is whatever is required: "" here.
    """
    if not isinstance(facts.get("packages.installed"), Unknown):
        return {}
    there = dict(pinned)
    for package in PACKAGES:
        names = ("version", "distribution", "requires")
        version, name, needs = (facts.get(f"{package}.{n}") for n in names)
        if isinstance(needs, Known) and isinstance(needs.value, dict):
            there = dict.fromkeys(needs.value, "") | there
        if isinstance(version, Known) and isinstance(name, Known):
            there[str(name.value)] = str(version.value)
    return {"packages.installed": Known(there, SOURCE)}


def _files(package: str, facts: Mapping[str, Fact]) -> dict[str, Fact]:
    found: dict[str, Fact] = {
        f"{package}.missing_files": Known(0, SOURCE),
        f"{package}.gone": Known(value=False, source=SOURCE),
        # an installer takes no release that is not for this Python
        f"{package}.requires_python": Absent(SOURCE),
    }
    if package == XFORMERS:
        found["xformers.extension"] = Known("_C.so", SOURCE)
    if package == FLASH_ATTN:
        found["flash_attn.interface"] = Known(value=True, source=SOURCE)
        found["flash_attn.namespace_only"] = Known(value=False, source=SOURCE)
        found |= _extension(facts)
    return found


def _extension(facts: Mapping[str, Fact]) -> dict[str, Fact]:
    """Return the name of the extension: for the Python of the file that is named, or for this."""
    tag, suffix = (facts.get(n) for n in ("flash_attn.wheel.python", "python.ext_suffix"))
    if isinstance(tag, Known):
        name = f"{STEM}.cpython-{str(tag.value).removeprefix('cp')}-x86_64-linux-gnu.so"
    elif isinstance(suffix, Known):
        name = STEM + str(suffix.value)
    else:
        return {}
    return {"flash_attn.extension": Known(name, SOURCE)}
