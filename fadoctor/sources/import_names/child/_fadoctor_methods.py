"""Methods of texts, lists and dicts that decide what a module does at import."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Dict, List

from fadoctor.sources.import_names.child._fadoctor_values import (
    UNKNOWN,
    LazyNames,
    Packages,
    lengthen,
)

if TYPE_CHECKING:
    from fadoctor.sources.import_names.child._fadoctor_world import World

_TEXT_METHODS = frozenset((
    "upper", "lower", "strip", "replace", "split", "startswith", "endswith", "join", "partition",
    "rpartition", "removeprefix", "removesuffix", "lstrip", "rstrip",
))  # fmt: skip


def packages_of(world: World, module: Any) -> Any:
    """Return the distributions that bring a module, where that is sure."""
    own = re.sub(r"[-_.]+", "-", module).lower() if type(module) is str else ""
    return [own] if own in world.installed else UNKNOWN


def call_method(world: World, base: Any, name: str, given: List[Any], named: Dict[str, Any]) -> Any:
    """Return what a method of a value gives, and change lists and dicts as it does."""
    if isinstance(base, Packages) and name == "get" and given:
        return packages_of(world, given[0])
    return _called(base, name, given, named)


def _called(base: Any, name: str, given: List[Any], named: Dict[str, Any]) -> Any:
    try:
        if isinstance(base, str) and name in _TEXT_METHODS:
            known = all(type(g) in (str, int, tuple, list) for g in given) and not named
            return getattr(base, name)(*given) if known and len(base) < 5000 else UNKNOWN
        if isinstance(base, LazyNames) and name == "update" and isinstance(given[0], dict):
            base.add(given[0])
            return None
        if type(base) is dict:
            return _of_dict(base, name, given)
        if type(base) in (list, set, frozenset):
            return _of_list(base, name, given)
    except (IndexError, KeyError, TypeError, ValueError):
        return UNKNOWN
    return UNKNOWN


def _of_dict(base: Dict[Any, Any], name: str, given: List[Any]) -> Any:
    if name == "get":
        if given[0] is UNKNOWN:
            return UNKNOWN
        return base.get(given[0], given[1] if len(given) > 1 else None)
    if name == "setdefault" and given[0] is not UNKNOWN:
        return base.setdefault(given[0], given[1])
    if name == "update":
        if isinstance(given[0], dict):
            base.update(given[0])
        else:
            base[UNKNOWN] = UNKNOWN
        return None
    if name in ("items", "keys", "values") and not given:
        found = list(getattr(base, name)())
        return UNKNOWN if UNKNOWN in base else found
    return UNKNOWN


def _of_list(base: Any, name: str, given: List[Any]) -> Any:
    if name in ("copy", "union"):
        known = all(type(each) in (set, frozenset, list, tuple) for each in given)
        return getattr(base, name)(*given) if known else UNKNOWN
    if name in ("append", "add"):
        getattr(base, name)(given[0])
    elif name in ("extend", "update"):
        lengthen(base, given[0])
    return None if name in ("append", "add", "extend", "update") else UNKNOWN
