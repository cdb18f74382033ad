"""Bounds that the next release declares: an older one that declares none takes no more."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec
from packaging.specifiers import InvalidSpecifier, SpecifierSet

from fadoctor.model.fact import Known, fact_mapping
from fadoctor.repair.plan.states.compiled import AFTER

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from fadoctor.repair.plan.choices.choice import Choice

_UPPER = {"<": "<", "<=": "<=", "==": "<=", "~=": "<="}
"""Operator of a clause -> how its version bounds a range above."""


def as_later_ones(every: Iterable[Choice]) -> Iterator[Choice]:
    """Yield the releases of a framework, newest first, with the bounds of the next newer ones.

    Its authors added such a bound as newer releases did not work, whatever older metadata admit.
    """
    bounds: dict[str, str] = {}
    for choice in every:
        fact = f"{choice.package}.requires"
        declared = fact_mapping(choice.facts[fact])
        needs = {name: _within(text, bounds.get(name, "")) for name, text in declared.items()}
        bounds |= {name: upper for name, text in needs.items() if (upper := _upper(text))}
        facts = {**choice.facts, fact: Known(needs, AFTER)}
        yield choice if needs == declared else msgspec.structs.replace(choice, facts=facts)


def _within(specifier: str, bound: str) -> str:
    """Return a range, with a bound where it has none itself."""
    if not bound or _upper(specifier):
        return specifier
    return f"{specifier},{bound}" if specifier else bound


def _upper(specifier: str) -> str:
    """Return the upper bound of a range, "" for none."""
    try:
        clauses = list(SpecifierSet(specifier))
    except InvalidSpecifier:
        return ""
    found = (
        f"{_UPPER[each.operator]}{each.version.removesuffix('.*')}"
        for each in clauses
        if each.operator in _UPPER
    )
    return next(found, "")
