"""What the facts alone hold against a backend, whatever the rules say.

Rules name causes. Here stands what must be true beside them: a backend does not work while
something that it needs is missing or is known not to load, and nobody can say that it works while
a requirement that its package declares is unmet.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from fadoctor.model.fact import Absent, Known, Unknown, fact_text, printable
from fadoctor.model.packages import EXTENSIONS, PACKAGES, TORCH
from fadoctor.model.verdict import Predicted

if TYPE_CHECKING:
    from collections.abc import Iterator

    from fadoctor.knowledge.matrix.kernels import Kernels
    from fadoctor.model.environment import Environment
    from fadoctor.model.verdict import Backend


_COMPILED, _MISTAKEN = "prebuilt-wheel-missing", "index-name-mistaken"
_UNFIT, _ISOLATED = "wheel-not-supported", "build-no-torch-isolation"
_UNSERVED = "torch-not-on-index"

READ_BY_NAME = (
    "packages.unfit_wheels", "packages.isolated_builds", "packages.mistaken", "packages.unserved",
)  # fmt: skip
"""Mappings of which the entry of a backend's own distribution is an obstacle."""


class Obstacle(msgspec.Struct, frozen=True):
    """Why a backend fails, or why nobody knows whether it works."""

    predicted: Predicted
    detail: str
    rule: str = ""
    """Id of the rule that explains it, where there is one."""


def obstacle(environment: Environment, kernels: Kernels, backend: Backend) -> Obstacle | None:
    """Return the gravest of what is held against a backend, None where there is nothing."""
    found: Obstacle | None = None
    for each in _obstacles(environment, kernels, backend):
        if each.predicted is Predicted.FAILS:
            return each
        found = found or each
    return found


def _obstacles(environment: Environment, kernels: Kernels, backend: Backend) -> Iterator[Obstacle]:
    for package in kernels.needs(backend):
        yield from _presence(environment, package)
    for package in kernels.brought_by(backend):
        # Whatever computes on AMD's GPUs is called through torch's own extension.
        if kernels.is_compiled(backend) or package == TORCH:
            yield from _extensions(environment, package)
        yield from _compiled(environment, package)
    yield from _choices(environment, kernels.one_of(backend), kernels.label(backend))
    yield from _requirements(environment, kernels, backend)


def _choices(
    environment: Environment, extensions: tuple[str, ...], label: str
) -> Iterator[Obstacle]:
    """Yield that none of several extensions is there, where one would do."""
    files = [environment.facts.get(f"{each}.file") for each in extensions]
    if files and all(isinstance(file, Absent) for file in files):
        yield Obstacle(Predicted.UNKNOWN, f"no compiled extension of {label} is there")


def _presence(environment: Environment, package: str) -> Iterator[Obstacle]:
    version = environment.fact(f"{package}.version")
    if isinstance(version, Absent):
        yield _fails(f"needs {package}, which is not installed")
    elif isinstance(version, Unknown):
        yield Obstacle(Predicted.UNKNOWN, version.reason)


def _extensions(environment: Environment, package: str) -> Iterator[Obstacle]:
    """Yield what is wrong with the compiled extensions that a package cannot do without."""
    broken_parts, needed = False, False
    facts = environment.facts
    for name in EXTENSIONS.get(package, ()):
        extension = f"{package}.{name}"
        optional, failure = facts.get(f"{extension}.optional"), facts.get(f"{extension}.failure")
        if isinstance(optional, Known) and optional.value is True:
            broken_parts |= isinstance(failure, Known)
            continue
        needed = True
        if isinstance(failure, Known):
            says = fact_text(environment.fact(f"{extension}.says"), str(failure.value))
            yield _fails(printable(f"{PACKAGES[package][0]} does not load: {says}"))
        elif name == "binary" and _is_missing(environment, package):
            text = f"{PACKAGES[package][0]} is installed without its compiled extension"
            yield Obstacle(Predicted.UNKNOWN, text)
    loads = facts.get(f"{package}.loads")
    is_refused = isinstance(loads, Known) and loads.value is False
    if is_refused and needed and not broken_parts:
        yield _fails(f"{PACKAGES[package][0]} does not load")


def _compiled(environment: Environment, package: str) -> Iterator[Obstacle]:
    """Yield that a package is compiled when it is installed, or is not what its name says."""
    name = PACKAGES[package][0]
    unfit, apart, mistaken, unserved = map(environment.facts.get, READ_BY_NAME)
    if isinstance(unfit, Known) and isinstance(unfit.value, dict) and name in unfit.value:
        yield Obstacle(Predicted.FAILS, f"the wheel of {name} is {unfit.value[name]}", _UNFIT)
    if isinstance(apart, Known) and isinstance(apart.value, dict) and name in apart.value:
        text = f"{name} does not install: its setup imports torch, and is built without it"
        yield Obstacle(Predicted.FAILS, text, _ISOLATED)
    if isinstance(unserved, Known) and isinstance(unserved.value, dict) and name in unserved.value:
        text = f"{name} does not install: {unserved.value[name]}"
        yield Obstacle(Predicted.FAILS, text, _UNSERVED)
    if isinstance(mistaken, Known) and isinstance(mistaken.value, dict) and name in mistaken.value:
        yield Obstacle(Predicted.UNKNOWN, f"{name} {mistaken.value[name]}", _MISTAKEN)
    prebuilt = environment.facts.get(f"{package}.wheel.prebuilt")
    if isinstance(prebuilt, Unknown):
        yield Obstacle(Predicted.UNKNOWN, prebuilt.reason)
    elif isinstance(prebuilt, Known) and prebuilt.value is False:
        text = f"no prebuilt wheel of {PACKAGES[package][0]} fits: it is compiled when installed"
        yield Obstacle(Predicted.UNKNOWN, text, _COMPILED)


def _is_missing(environment: Environment, package: str) -> bool:
    """Return whether a package is installed, and its extension is surely nowhere."""
    is_nowhere = isinstance(environment.facts.get(f"{package}.binary.file"), Absent)
    return is_nowhere and isinstance(environment.fact(f"{package}.version"), Known)


def _requirements(
    environment: Environment, kernels: Kernels, backend: Backend
) -> Iterator[Obstacle]:
    """Yield what its package requires and is not there, but for what a backend runs without."""
    package = kernels.package(backend)
    unmet = environment.facts.get(f"{package}.unmet")
    if isinstance(unmet, Unknown):
        yield Obstacle(Predicted.UNKNOWN, unmet.reason)
    elif isinstance(unmet, Known) and isinstance(unmet.value, dict):
        for name, state in unmet.value.items():
            if not kernels.runs_without(backend, name):
                text = f"{PACKAGES[package][0]} requires {name} {state}"
                yield Obstacle(Predicted.UNKNOWN, printable(text))


def _fails(detail: str) -> Obstacle:
    return Obstacle(Predicted.FAILS, detail)
