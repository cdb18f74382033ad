"""What the packages that a text names require: by tables, since a text holds no metadata."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fadoctor.knowledge.matrix.declared import (
    BY_NAMES,
    RELEASE_REQUIRES,
    import_bounds,
    narrowed,
    on_platform,
)
from fadoctor.knowledge.matrix.query import words_of
from fadoctor.knowledge.matrix.required import required
from fadoctor.model.catalogue import REQUIRER
from fadoctor.model.environment import REQUIRER_LIMIT
from fadoctor.model.fact import Fact, Known, Unknown, fact_mapping, fact_text
from fadoctor.model.packages import COMPANIONS, PACKAGES, STACK, TORCH
from fadoctor.sources.completion.told_requirements import told_requirements
from fadoctor.sources.completion.torch_pins import torch_pins
from fadoctor.sources.manifests.installed.markers import Markers
from fadoctor.sources.probes.requires import marker_target
from fadoctor.sources.targets.unmet_requirements import NAMED

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from fadoctor.knowledge.matrix.query import Matrix
    from fadoctor.sources.completion.told_requirements import Requirements

_SOURCE = "the tables of releases"
_TOLD = "what an installer says in the text"

_EVERY_TORCH = frozenset({"filelock", "fsspec", "jinja2", "networkx", "sympy", "typing-extensions"})
"""What every torch since 2.1 requires on every platform."""

_WITH_FACTS = frozenset(name for names in PACKAGES.values() for name in names)

_OF_TABLES, _WINDOWS = "linux_x86_64", "win_amd64"


def requirement_facts(facts: Mapping[str, Fact], text: str, matrix: Matrix) -> dict[str, Fact]:
    """Return what the named packages require, those without facts of their own too.

    What an installer says of a release counts where no table has it.
    """
    told = told_requirements(text, fact_mapping(facts.get(NAMED)))
    found = dict(_of_packages(facts, matrix, told)) | _of_others(facts, matrix, told)
    known = {**facts, **found}
    return found | torch_pins(known, told.get(TORCH, {}), matrix, is_whole=_is_whole(facts))


def _of_packages(
    facts: Mapping[str, Fact], matrix: Matrix, told: Requirements
) -> Iterator[tuple[str, Fact]]:
    """Yield the requirements of packages; torch's triton has a table of its own."""
    markers = Markers(marker_target(dict(facts)), None)
    for package in PACKAGES:
        version, name = facts.get(f"{package}.version"), f"{package}.requires"
        if package == TORCH or not isinstance(version, Known):
            continue
        if isinstance(facts.get(name), Unknown):
            tabled = required(package, facts, matrix, markers.hold)
            distribution = _text(facts, f"{package}.distribution") or PACKAGES[package][0]
            declared = _declared(distribution, str(version.value), facts, matrix)
            found = _with_others(tabled, declared, _SOURCE)
            yield name, _with_others(found, told.get(distribution, {}), _TOLD)


def _with_others(tabled: Fact, others: Mapping[str, str], source: str) -> Fact:
    """Return what a table of releases says, with what others say of the same release."""
    own = fact_mapping(tabled)
    return Known({**others, **own}, tabled.source if own else source) if others else tabled


def _declared(
    distribution: str, version: str, facts: Mapping[str, Fact], matrix: Matrix
) -> dict[str, str]:
    """Return what tables say that a release requires here, of what the text names.

    Somebody may have shortened a list, and conda calls some by other names: that something is not
    in it says little. A list that is whole lacks what is not installed: of that the stack counts,
    on the platform that the tables are about, and what Windows has under another name.
    """
    platform = _text(facts, "host.platform")
    told = on_platform(distribution, version, platform, matrix)
    there, is_whole = fact_mapping(facts.get(NAMED)), _is_whole(facts)
    lacked = STACK if is_whole and platform == _OF_TABLES else frozenset()
    found = {n: specifier for n, specifier in told.items() if n in there or n in lacked}
    on_windows = _on_windows(distribution, matrix) if is_whole and platform == _WINDOWS else ()
    return dict.fromkeys(on_windows, "") | found


def _is_whole(facts: Mapping[str, Fact]) -> bool:
    """Return whether a list of pip names torch, and all that each torch requires.

    Whoever shortens a list leaves such small packages out first.
    """
    is_listed = isinstance(facts.get("packages.installed"), Known)
    is_of_pip = _text(facts, "torch.installer") == "pip"
    return is_listed and is_of_pip and fact_mapping(facts.get(NAMED)).keys() >= _EVERY_TORCH


def _on_windows(distribution: str, matrix: Matrix) -> tuple[str, ...]:
    """Return what a distribution requires on Windows under a name of its own."""
    keys = {"package": Known(distribution, "asked")}
    name = matrix.find("undeclared-requirements", keys).cell("windows")
    return (str(name.value),) if isinstance(name, Known) else ()


def _of_others(facts: Mapping[str, Fact], matrix: Matrix, told: Requirements) -> dict[str, Fact]:
    """Return the facts of what else a text names and tables have the requirements of."""
    found: dict[str, Fact] = {}
    count = 0
    asked = (COMPANIONS | _declaring(matrix) | told.keys()) - _WITH_FACTS
    there = fact_mapping(facts.get(NAMED))
    for name, version in sorted(there.items()):
        if name not in asked or count == REQUIRER_LIMIT:
            continue
        names = import_bounds(name, version, matrix).items()
        at_import = {other: text for other, text in names if other in there}
        declared = {**told.get(name, {}), **_declared(name, version, facts, matrix)}
        if needs := narrowed(declared, at_import):
            at = f"{REQUIRER}[{count}]"
            found |= {
                f"{at}.distribution": Known(name, facts[NAMED].source),
                f"{at}.version": Known(version, facts[NAMED].source),
                f"{at}.installer": Unknown("pip, or another installer", facts[NAMED].source),
                f"{at}.requires": Known(needs, _TOLD if name in told else _SOURCE),
            }
            count += 1
    return found | {f"{REQUIRER}.count": Known(count, _SOURCE)} if count else {}


def _declaring(matrix: Matrix) -> frozenset[str]:
    """Return the distributions of which a table says what they require, or ask for at import."""
    tables = ("declared-requirements", RELEASE_REQUIRES, BY_NAMES)
    return frozenset().union(*(words_of(matrix.tables[name], "package") for name in tables))


def _text(facts: Mapping[str, Fact], name: str) -> str:
    fact = facts.get(name)
    return "" if fact is None else fact_text(fact, "")
