"""Names that packages ask of each other in vain, as they would be after a choice."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fadoctor.model.environment import SUBJECT_LIMIT
from fadoctor.model.fact import Absent, Fact, Known, Unknown
from fadoctor.model.packages import PACKAGES, package_of
from fadoctor.repair.plan.choices.choice import ChoiceKind
from fadoctor.repair.plan.states.compiled import AFTER

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from fadoctor.knowledge.matrix.query import Matrix
    from fadoctor.model.environment import Environment
    from fadoctor.repair.plan.choices.choice import Choice

_SIDES = ("asker", "provider")
_GONE = Absent(f"{AFTER}: removed")
_FITS = Absent(f"{AFTER}: the tables of names say that it fits")
_OPEN = Unknown("only an installation shows whether the other release fits", AFTER)


def contracts_after(facts: Mapping[str, Fact], choice: Choice, matrix: Matrix) -> dict[str, Fact]:
    """Return what is known afterwards of names that a changed package asks for, or is asked for.

    Tables know of released versions who asks and who has a name; of others nobody can say.
    """
    if not isinstance(facts.get("contract.count"), Known):
        return {}
    names = PACKAGES.get(choice.package, (choice.package,))
    versions = dict.fromkeys(names, choice.version) | choice.brings
    found: dict[str, Fact] = {}
    for contract in _contracts(facts):
        moved = [each for each in _SIDES if _value(facts, f"{contract}.{each}") in versions]
        if not moved or facts.get(f"{contract}.wanted") == _GONE:
            continue
        for side in moved:
            version = versions[_value(facts, f"{contract}.{side}")]
            found[f"{contract}.{side}_version"] = Known(version, AFTER) if version else _OPEN
        removed = choice.kind is ChoiceKind.REMOVE
        found[f"{contract}.wanted"] = _GONE if removed else _wanted(facts, found, contract, matrix)
    return found


def _wanted(
    facts: Mapping[str, Fact], found: Mapping[str, Fact], contract: str, matrix: Matrix
) -> Fact:
    asked = _value(facts, f"{contract}.asked")
    if not asked:
        return _OPEN
    # Late: few environments have a contract that is broken.
    from fadoctor.sources.targets.missing_names import is_wanted  # noqa: PLC0415

    still = is_wanted({**facts, **found}, contract, matrix)
    if still is None:
        return _OPEN
    return Known(asked.rpartition(":")[2], AFTER) if still else _FITS


def contract_packages(environment: Environment) -> frozenset[str]:
    """Return the packages that ask another for a name in vain, or are asked."""
    facts = environment.facts
    found = {_value(facts, f"{each}.{side}") for each in _contracts(facts) for side in _SIDES}
    return frozenset(package_of(name, name) for name in found if name)


def open_contracts(environment: Environment) -> Iterator[str]:
    """Yield the names of which nobody can say whether they fit, in words."""
    facts = environment.facts
    for each in _contracts(facts):
        if isinstance(facts.get(f"{each}.wanted"), Unknown):
            asker, asked = (_value(facts, f"{each}.{name}") for name in ("asker", "asked"))
            yield f"whether {asker} still asks for {asked.replace(':', '.')} without success"


def _contracts(facts: Mapping[str, Fact]) -> Iterator[str]:
    count = facts.get("contract.count")
    number = count.value if isinstance(count, Known) else 0
    for index in range(min(number, SUBJECT_LIMIT) if isinstance(number, int) else 0):
        yield f"contract[{index}]"


def _value(facts: Mapping[str, Fact], name: str) -> str:
    fact = facts.get(name)
    return str(fact.value) if isinstance(fact, Known) else ""
