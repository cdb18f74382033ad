"""Each official wheel, in an environment that fits it, is found healthy.

The facts are those that its name, its metadata and its binary give. The torch is a published build
of the minor, the CUDA major and the C++ ABI that the file really has; where there never was one, a
build of one's own. One GPU stands for each class of machine code in the file.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

import pytest

from fadoctor.model.fact import Known
from tests.catalogue.environments import Torch, Torches, environment
from tests.catalogue.evaluation import Doctor, failed, undecided

if TYPE_CHECKING:
    from fadoctor.matrix.wheels import WheelFile

LATER_CLASSES = ("10.0", "12.0")
"""What a file may hold besides, if it is one whose nvcc nobody has recorded."""


def known_code(file: WheelFile) -> tuple[str, ...]:
    """Return the compute capabilities for which a file is known to have code."""
    for fact in (file.sm, file.sm_at_least):
        if isinstance(fact, Known) and isinstance(fact.value, tuple):
            return fact.value
    return ()


def classes(file: WheelFile) -> tuple[str, ...]:
    """Return a GPU for each class of machine code, and those of which nobody knows."""
    if isinstance(file.sm, Known):
        return known_code(file)
    return (*known_code(file), *LATER_CLASSES) if known_code(file) else ("8.0", "9.0")


def beside(file: WheelFile, torches: Torches) -> dict[Torch, tuple[str, ...]]:
    """Return torch -> the GPUs to try with it."""
    found: dict[Torch, tuple[str, ...]] = {}
    for capability in classes(file):
        torch = torches.fitting(file, capability)
        found[torch] = (*found.get(torch, ()), capability)
    return found


@pytest.mark.parametrize(
    ("binary", "labels"),
    [(True, True), (False, True), (True, False)],
    ids=["binary and labels", "labels alone", "binary alone"],
)
def test_every_official_wheel_is_healthy_where_it_fits(
    official: tuple[WheelFile, ...], torches: Torches, doctor: Doctor, binary: bool, labels: bool
) -> None:
    """Code that nobody has described is unknown, if it is known that the file is that one."""
    wrong, verdicts = [], Counter[str]()
    for file in official:
        for torch, gpus in beside(file, torches).items():
            made = environment(file, torch, gpus, binary=binary, labels=labels)
            assessment = doctor.assess(made)
            got = doctor.half_precision(made, assessment)
            owed = {
                f"gpu[{index}]": "works" if not labels or gpu in known_code(file) else "unknown"
                for index, gpu in enumerate(gpus)
            }
            verdicts.update(got.values())
            if got != owed or failed(assessment):
                wrong.append((file.name, torch, got, failed(assessment), undecided(assessment)))
    print(f"{len(official)} wheels; of their GPU classes: {dict(verdicts)}")
    assert wrong[:5] == []
    assert len(official) == 5739
