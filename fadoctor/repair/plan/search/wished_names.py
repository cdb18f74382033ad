"""Names on the command line: which package, or which distribution of a table, each means."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from fadoctor.knowledge.matrix.versions import parse_specifier
from fadoctor.model.errors import UsageError, did_you_mean
from fadoctor.model.fact import printable
from fadoctor.model.packages import ATTENTION, BACKENDS, PACKAGES
from fadoctor.model.packages import package_of as name_of_package
from fadoctor.model.verdict import Backend
from fadoctor.sources.probes.metadata import normalise_name

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from fadoctor.repair.plan.choices.helpers import Helpers

HUB = {
    Backend.FA2: Backend.HUB_FA2,
    Backend.FA3: Backend.HUB_FA3,
    Backend.FA4: Backend.HUB_FA4,
}
"""Backend of a package -> the same attention as transformers takes it from the Hub."""

_ALIASES = {each.value: BACKENDS[each.value] for each in HUB}

_WISH = re.compile(
    r"(?P<name>[A-Za-z0-9._-]{1,60})\s*(?:\[[\w, .-]{0,60}\])?\s*(?P<versions>[=<>!~].{0,100})?"
)
"""A wish: a name, and which versions of it."""


def package_of(name: str, option: str) -> str:
    """Return the fact prefix that a name on the command line means; UsageError for another."""
    plain = name.strip().lower().replace("-", "_")
    plain = _ALIASES.get(plain, plain)
    for prefix, names in PACKAGES.items():
        if plain == prefix or plain in {other.replace("-", "_") for other in names}:
            return prefix
    kernels = [backend.value for backend in HUB.values()] if option == "--want" else []
    known = [*(name for names in PACKAGES.values() for name in names), *kernels]
    plans = [*(names[0] for names in PACKAGES.values()), *kernels]
    otherwise = f" It plans for {', '.join(plans)}."
    hint = did_you_mean(name, known, otherwise)
    raise UsageError(f"{option} {printable(name, 60)}: not a package in fadoctor's tables.{hint}")


def with_version(text: str) -> tuple[str, str]:
    """Return package and versions that a wish means: ``vllm==0.15.0``, ``torch>=2.6,<2.9``."""
    found = _WISH.fullmatch(text.strip())
    if found is None or not found["versions"]:
        return package_of(text, "--want"), ""
    return package_of(found["name"], "--want"), _versions(text, found["versions"])


def _versions(text: str, versions: str) -> str:
    """Return the versions of a wish; UsageError for what is no range of versions."""
    if versions and parse_specifier(versions) is None:
        shown = printable(versions, 60)
        raise UsageError(f"--want {printable(text, 60)}: {shown} is not a version, such as ==2.8.0")
    return versions.replace(" ", "")


def framework(text: str, helpers: Helpers) -> tuple[str, str] | None:
    """Return a distribution outside the catalogue and its versions, where its releases are known.

    None for what is in the catalogue, or in no table.
    """
    found = _WISH.fullmatch(text.strip())
    name = normalise_name(found["name"]) if found else ""
    if found is None or name_of_package(name) or not helpers.knows(name):
        return None
    return name, _versions(text, found["versions"] or "")


def attention_of(helpers: Helpers, frameworks: Mapping[str, str]) -> Iterator[str]:
    """Yield the packages for attention that the newest releases in some ranges require.

    They have files for some torch only, so that a plan decides about them.
    """
    for name, versions in frameworks.items():
        newest = helpers.newest_in(name, versions)
        found = (name_of_package(each) for each in helpers.needs(name, newest))
        yield from (package for package in found if package in ATTENTION)
