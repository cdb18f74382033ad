"""Each official wheel, in an environment that fits it, is found healthy.

The facts are those that its name, its metadata and its binary give. The torch is a published build
of the minor, the CUDA major and the C++ ABI that the file really has; where there never was one, a
build of one's own. One GPU stands for each class of machine code in the file.
"""

from __future__ import annotations

from collections import Counter
from math import prod
from typing import TYPE_CHECKING

import pytest

from fadoctor.model.fact import Known
from tests.catalogue.environments import Torch, Torches, environment, words_of
from tests.catalogue.evaluation import Doctor, failed, undecided

if TYPE_CHECKING:
    from fadoctor.knowledge.matrix.wheels import WheelFile
    from fadoctor.model.rule import Knowledge, Table

LATER_CLASSES = ("10.0", "12.0")
"""What a file may hold besides, if it is one whose nvcc nobody has recorded."""


def known_code(file: WheelFile) -> tuple[str, ...]:
    """Return the compute capabilities for which a file is known to have code."""
    return words_of(file.sm) or words_of(file.sm_at_least)


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


@pytest.mark.long
def test_every_official_wheel_is_healthy_where_it_fits(
    tried: tuple[WheelFile, ...], torches: Torches, knowledge: Knowledge
) -> None:
    """With all that can be known of each file, every rule is judged.

    Only code that nobody has described, in files of an unrecorded nvcc, leaves a verdict unknown.
    """
    doctor = Doctor(knowledge)
    count, wrong = judged(doctor, tried, torches, binary=True, labels=True)
    print(f"{len(tried)} official wheels, verdicts by GPU class: {dict(count)}")  # noqa: T201 -- the count belongs to the result
    assert wrong == []
    assert count["works"] == sum(len(known_code(file)) for file in tried)
    assert count.total() == sum(len(classes(file)) for file in tried)


def test_the_catalogue_has_every_official_file(
    official: tuple[WheelFile, ...], knowledge: Knowledge
) -> None:
    assert len(official) == files_in_rows(knowledge.tables["flash-attn-wheels"])


@pytest.mark.parametrize("binary", [False, True], ids=["labels alone", "binary alone"])
def test_half_of_the_evidence_accuses_no_wheel(
    some: tuple[WheelFile, ...], torches: Torches, knowledge: Knowledge, binary: object
) -> None:
    """An unread binary, or a file of unknown origin as ``pip install flash-attn`` leaves it.

    One Python of each file, and the rules that can matter: those that can decide the cell of
    FlashAttention-2 or are about flash-attn.
    """
    doctor = Doctor(knowledge, only_about="flash-attn")
    _, wrong = judged(doctor, some, torches, binary=bool(binary), labels=not binary)
    assert wrong == []


def judged(
    doctor: Doctor, files: tuple[WheelFile, ...], torches: Torches, *, binary: bool, labels: bool
) -> tuple[Counter[str], list[object]]:
    """Return how many GPU classes came out how, and the first files that came out wrong."""
    count, wrong = Counter[str](), list[object]()
    for file in files:
        for torch, gpus in beside(file, torches).items():
            made = environment(file, torch, gpus, binary=binary, labels=labels)
            assessment = doctor.assess(made)
            got = doctor.half_precision(made, assessment)
            owed = {
                f"gpu[{index}]": "works" if gpu in known_code(file) else "unknown"
                for index, gpu in enumerate(gpus)
            }
            count.update(got.values())
            if got != owed or failed(assessment):
                wrong.append((file.name, torch, got, failed(assessment), undecided(assessment)))
    return count, wrong[:5]


def files_in_rows(table: Table) -> int:
    """Return how many files the rows of a table stand for."""
    keys = [[str(row[key]).split() for key in table.keys] for row in table.rows]
    return sum(prod(len(words) for words in row) for row in keys)
