"""How far back in time a wish may take a torch that nobody asked to change."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fadoctor.knowledge.matrix.query import cell_words
from fadoctor.knowledge.matrix.versions import is_older, version_key, version_part
from fadoctor.model.fact import Known, fact_mapping, fact_text
from fadoctor.model.finding import Severity
from fadoctor.model.packages import PACKAGES, PLANNED, TORCH
from fadoctor.model.rule import rules_by_id

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from fadoctor.model.finding import Finding
    from fadoctor.repair.plan.search.problem import Problem

_MOST = 4
"""Minor releases of torch, of which there are about four in a year."""

_DRIVER = "driver"
"""The area of the rules that judge a driver, beside what is installed."""


def oldest_torch(problem: Problem, findings: Iterable[Finding]) -> str:
    """Return the oldest minor release of torch that a wish may bring; "" for any.

    Where nothing is wrong with it, it does not go back by years for a package that is not there,
    nor where the driver alone is too old: builds of other CUDA releases are for that.
    Who asks for a version, of torch or of another package, means what goes with it.
    """
    wishes = problem.wishes
    if not wishes.asked or TORCH in wishes.asked or wishes.pinned:
        return ""
    if any(
        each.severity is Severity.ERROR for each in findings if not _is_of_driver(problem, each)
    ):
        return ""
    here = version_part(fact_text(problem.environment.fact("torch.version"), ""), "minor")
    rows = problem.session.matrix.tables["torch-releases"].rows
    found = {
        version_part(version, "minor") for row in rows for version in cell_words(row["version"])
    }
    known = sorted(filter(None, found), key=version_key)
    if not here or here not in known:
        return ""
    return known[max(known.index(here) - _MOST, 0)]


def _is_of_driver(problem: Problem, finding: Finding) -> bool:
    """Return whether the driver is to blame for a finding, and no package."""
    rule = rules_by_id(problem.session.knowledge).get(finding.rule_id)
    return rule is not None and rule.area == _DRIVER


def driver_notes(problem: Problem) -> Iterator[str]:
    """Yield what was asked for whose releases are all compiled for a CUDA beyond the driver's.

    Those that are beside a torch too far back in time are left out, and that is said.
    """
    here = fact_text(problem.environment.fact("driver.version"), "")
    newer = problem.environment.fact("driver.forward_compat")  # its newer libcuda
    runs_newer = isinstance(newer, Known) and newer.value is True
    for package in problem.wishes.asked if here and not runs_newer else ():
        floors = [_floor(problem, torch) for torch in _torches(problem, package)]
        least = min(filter(None, floors), key=lambda floor: version_key(floor[1]), default=None)
        if least is not None and None not in floors and is_older(here, least[1]):
            name, cuda, driver = PACKAGES[package][0], *least
            since = problem.oldest_torch
            which = f"{name} beside torch {since} or newer" if since else name
            yield (
                f"{which} is compiled for CUDA {cuda}, which needs NVIDIA driver {driver} or "
                f"newer; the driver here is {here}"
            )


def _torches(problem: Problem, package: str) -> set[str]:
    """Return the releases of torch that a package pins, one for each release of its own."""
    known = problem.session.candidates.listed.every(package) if package in PLANNED else ()
    pins = {fact_mapping(each.facts[f"{package}.requires"]).get(TORCH, "") for each in known}
    exact = {pin.removeprefix("==") for pin in pins if pin.startswith("==")}
    return {each for each in exact if not is_older(each, problem.oldest_torch)}


def _floor(problem: Problem, torch: str) -> tuple[str, str] | None:
    """Return the CUDA release of PyPI's build of a torch, and the oldest driver that runs it."""
    find = problem.session.matrix.find
    keys = {"version": torch, "build": "pypi", "platform": problem.platform}
    cuda = find("torch-builds", {k: Known(v, "asked") for k, v in keys.items()}).cell("cuda")
    major = version_part(fact_text(cuda, ""), "major") or ""
    keys = {"cuda": major, "os": fact_text(problem.environment.fact("host.os"), "")}
    driver = find("driver-floors", {k: Known(v, "asked") for k, v in keys.items()}).cell("driver")
    return (major, str(driver.value)) if isinstance(driver, Known) else None
