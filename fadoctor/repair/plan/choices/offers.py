"""Requirements as choices: what the rules' fixes install, and what has to follow a package."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TYPE_CHECKING

import msgspec

from fadoctor.knowledge.matrix.query import cell_words
from fadoctor.knowledge.matrix.versions import is_in, is_older, parse_version
from fadoctor.model.fact import Known, Unknown
from fadoctor.model.finding import Severity
from fadoctor.model.fix import StepKind
from fadoctor.model.packages import BYSTANDERS, PACKAGES, package_of
from fadoctor.repair.plan.choices.choice import Choice, ChoiceKind, distribution_of
from fadoctor.repair.plan.choices.released import common, just_before
from fadoctor.repair.plan.states.compiled import AFTER
from fadoctor.sources.probes.metadata import normalise_name

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable

    from fadoctor.knowledge.matrix.query import Matrix
    from fadoctor.model.environment import Environment
    from fadoctor.model.fact import Fact
    from fadoctor.model.finding import Finding

# transformers>=4.37, flash-attn==2.8.3
_SPECIFIER = re.compile(r"([A-Za-z0-9][A-Za-z0-9._-]{0,99})((?:[<>=!~]=?[^<>=!~,]{1,60},?){0,12})")
_END = re.compile(r"(?:^|,)(?P<sign><=?)(?P<last>[0-9][0-9A-Za-z.+!]{0,60})(?=,|$)")
_EXACT = re.compile(r"(?:^|,)[=~]=")
_LOWEST = re.compile(r"(?:>=|==|~=)\s*([0-9][0-9A-Za-z.+!]{0,60})(?:,|$)")


def offers_of(
    findings: Iterable[Finding], tabled: Collection[str], environment: Environment
) -> dict[str, tuple[Choice, ...]]:
    """Return what the rules' fixes install, for packages that no table has the releases of.

    What a fix names only so that it stays is none.
    """
    found: dict[str, dict[str, Choice]] = {}
    for finding in findings:
        if finding.severity is Severity.NOTE:
            continue
        for fix in finding.fixes:
            for step in fix.steps:
                for item in step.items if step.kind is StepKind.INSTALL else ():
                    choice = offer(item, step.index)
                    if choice is None or choice.package in tabled:
                        continue
                    if not _is_exactly(choice, environment.fact(f"{choice.package}.version")):
                        found.setdefault(choice.package, {})[choice.key] = choice
    return {package: tuple(choices.values()) for package, choices in found.items()}


def _is_exactly(choice: Choice, here: Fact) -> bool:
    exact = f"{choice.distribution}=={choice.version}"
    return isinstance(here, Known) and here.value == choice.version and choice.requirement == exact


def offer(requirement: str, index: str = "") -> Choice | None:
    """Return the choice to install a requirement; judged as the lowest version that it allows."""
    match = _SPECIFIER.fullmatch(requirement.replace(" ", ""))
    if match is None:
        return None
    name = normalise_name(match[1])
    package = package_of(name, name)
    lowest = _LOWEST.search(match[2] or "")
    version = lowest[1] if lowest and parse_version(lowest[1]) else ""
    facts = {}
    if package in PACKAGES:
        facts = common(package, version)
        unknown = Unknown("the installer chooses it", AFTER)
        if not version:
            facts[f"{package}.version"] = unknown
    requirement = f"{distribution_of(package)}{match[2] or ''}"
    return Choice(
        package, ChoiceKind.INSTALL, requirement, version, requirement, index, facts=facts
    )


def newest_in(name: str, specifier: str, here: str) -> Choice | None:
    """Return the choice to let the installer take the newest release in a range.

    `here`: the version that is installed, "" for none.
    """
    found = offer(f"{name}{specifier}")
    return None if found is None else at_its_end(found, here)


def at_its_end(choice: Choice, here: str) -> Choice:
    """Return a choice of a range below what is installed with the newest release that it admits.

    What the oldest release in it requires, or breaks, is not what comes.
    """
    specifier = choice.requirement.removeprefix(choice.distribution)
    end = _END.search(specifier)
    goes_up = bool(here and choice.version) and is_older(here, choice.version) is True
    is_judged = choice.package in PACKAGES and choice.package not in BYSTANDERS
    if is_judged or _EXACT.search(specifier) or end is None or goes_up:
        return choice
    version = end["last"] if end["sign"] == "<=" else just_before(end["last"])
    facts = common(choice.package, version) if choice.package in PACKAGES else {}
    return msgspec.structs.replace(choice, version=version, facts=facts)


def is_told(choice: Choice) -> bool:
    """Return whether the version of a choice is the one that comes, not the least of a range."""
    return _is_told(choice.requirement, choice.version)


@lru_cache(maxsize=8192)
def _is_told(requirement: str, version: str) -> bool:
    lowest = _LOWEST.search(requirement)
    is_range = lowest is not None and lowest[0].startswith(">=")
    return not is_range or lowest is None or lowest[1] != version


def bounded(matrix: Matrix, asker: str, version: str, needs: str, specifier: str) -> str:
    """Return a specifier with the upper bound that a release needs and does not declare."""
    bounds = [
        str(row["below"])
        for row in matrix.tables["requirement-bounds"].rows
        if asker in cell_words(row["package"])
        and needs in cell_words(row["needs"])
        and is_in(version, str(row["version"])) is True
    ]
    return ",".join([*filter(None, [specifier]), *(f"<{bound}" for bound in bounds)])
