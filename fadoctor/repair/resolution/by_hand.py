"""What is left to hands in a file: each sentence names something that differs from its text."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fadoctor.model.fact import Known
from fadoctor.model.packages import BESIDE_TORCH, TORCH
from fadoctor.sources.probes.metadata import normalise_name

if TYPE_CHECKING:
    from collections.abc import Iterator

    from fadoctor.model.environment import Environment
    from fadoctor.model.place import Place
    from fadoctor.sources.manifests.planned import Manifest, Requirement


def open_questions(environment: Environment) -> Iterator[str]:
    """Yield what a plan would need to know: without a Python or a platform no release fits."""
    for name, option in (("python.version", "--python-version"), ("host.platform", "--platform")):
        if not isinstance(environment.fact(name), Known):
            yield f"{name} is unknown, so no release can be chosen: name it with {option}"


def by_hand(
    place: Place | str, change: tuple[str, str, str], manifest: Manifest | None = None
) -> str:
    """Return what to do in a place; "" where its text says so by now.

    `change`: the name, the requirement ("" to remove it) and its index. A whole file may be
    the place.
    """
    name, wanted, index = change
    if not wanted:
        return f"{place}: remove {name}"
    there = _at(place, name, manifest)
    label = index.rstrip("/").rpartition("/")[2]
    is_of_index = there is not None and index.rstrip("/") == there.index.rstrip("/")
    is_alone = there is not None and there.is_only_index
    plain = wanted.removesuffix(f"+{label}") if label and is_of_index and is_alone else wanted
    if there is None or not (_is_asked(there, wanted) or _is_asked(there, plain)):
        source = f" from {index}" if index else ""
        return f"{place}: ask for {wanted}{source}"
    if index:
        text = f"{place}: {name} comes from {index}: name that index there for it"
        return "" if is_of_index else text
    beside = " and ".join(_with_it(there, manifest))
    also = f", {beside} with it" if beside else ""
    without = f"the index {there.index}" if there.index else "another index"
    return f"{place}: install {wanted} from PyPI{also}, so without {without}"


def _at(place: Place | str, name: str, manifest: Manifest | None) -> Requirement | None:
    """Return what the file asks for in a place."""
    asked = () if manifest is None else manifest.requirements
    return next((each for each in asked if each.place == place and each.name == name), None)


def _is_asked(there: Requirement, wanted: str) -> bool:
    """Return whether a requirement is what is wanted, letter by letter."""
    name, _, url = wanted.partition(" @ ")
    if url or there.url:
        return bool(url) and there.url == url
    bare = name.replace(" ", "")
    asked = there.name + there.specifier.replace(" ", "")
    return not there.manager and normalise_name(bare) == normalise_name(asked)


def _with_it(there: Requirement, manifest: Manifest | None) -> list[str]:
    """Return what is published with torch and comes from the same index in the same command."""
    if there.name != TORCH or manifest is None:
        return []
    return [
        each.name
        for each in manifest.requirements
        if each.name in BESIDE_TORCH and (each.index, each.command) == (there.index, there.command)
    ]
