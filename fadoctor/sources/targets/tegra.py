"""The drivers of Jetsons: their numbers are their own, and are compared with no other driver's."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fadoctor.model.fact import Absent, Fact, Known, Unknown

if TYPE_CHECKING:
    from collections.abc import Mapping

    from fadoctor.knowledge.matrix.query import Matrix

OWN_DRIVER = "a Jetson's driver comes with JetPack, and its numbers are its own"
_COMPARED = ("driver.version", "driver.kernel_module")
"""Facts of desktop and data-centre drivers, which rules hold against those drivers' floors."""


def is_tegra(facts: Mapping[str, Fact], matrix: Matrix) -> bool:
    """Return whether the GPUs are surely those of a Jetson.

    The GPUs decide: a Jetson board may carry a card, and then has that card's driver. Without one
    that tells, the machine does.
    """
    count = facts.get("gpu.count")
    number = count.value if isinstance(count, Known) and isinstance(count.value, int) else 0
    told = [_of_tegra(facts.get(f"gpu[{n}].compute_capability"), matrix) for n in range(number)]
    if True in told or False in told:
        return False not in told
    machine = facts.get("host.tegra")
    return isinstance(machine, Known) and machine.value is True


def driver_facts(facts: Mapping[str, Fact], matrix: Matrix) -> dict[str, Fact]:
    """Return a Jetson's driver under a name of its own, where this is one, so that no rule errs."""
    version = facts.get("driver.version")
    if version is None or isinstance(version, Absent) or not is_tegra(facts, matrix):
        return {}
    found: dict[str, Fact] = {"driver.tegra": version}
    for name in _COMPARED:
        fact = facts.get(name)
        said = f" ({fact.value}, {fact.source})" if isinstance(fact, Known) else ""
        found[name] = Absent(OWN_DRIVER + said)
    return found


def unknown_cuda(source: str) -> Unknown:
    """Return what is known of the CUDA version of an assumed driver of a Jetson."""
    return Unknown(OWN_DRIVER, source)


def _of_tegra(capability: Fact | None, matrix: Matrix) -> bool | None:
    if not isinstance(capability, Known):
        return None
    found = matrix.find("architectures", {"cc": capability}).cell("tegra")
    return found.value is True if isinstance(found, Known) else None
