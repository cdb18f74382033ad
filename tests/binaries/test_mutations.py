"""Damaged files: one error type, bounded work, bounded memory.

FADOCTOR_MUTATIONS=100000 makes it the long run; ``python -m tools.fuzz --target elf --guided``
looks for new paths.
"""

from __future__ import annotations

import os
import random
import resource
import sys
from typing import TYPE_CHECKING

import pytest

from fadoctor.binary.errors import BadBinaryError
from fadoctor.binary.predict import Predictor
from tests.binaries.exercise import exercise, mutate, seeds
from tests.binaries.forge import target_of
from tests.work import calls_of, which_ends

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="files in memory are of Linux")

COUNT = int(os.environ.get("FADOCTOR_MUTATIONS", "3000"))
_MOST_CALLS = 10_000
"""For one file; the seeds are of some kilobytes, and most take a thousand."""
_MOST_MEMORY_KB = 100 << 10


def is_refused(data: bytes) -> bool:
    """Read a file; True where that is refused by the one error."""
    try:
        exercise(data)
    except BadBinaryError:
        return True
    return False


def test_seeds_are_worth_mutating() -> None:
    assert sum(not is_refused(data) for data in seeds()) >= 8


def test_mutations_raise_one_error_after_bounded_work_in_bounded_memory() -> None:
    corpus = seeds()
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    most, refused = 0, 0
    for number in range(COUNT):
        rng = random.Random(number)
        data = mutate(rng.choice(corpus), rng)
        outcome: list[bool] = []
        with which_ends():
            most = max(most, calls_of(lambda: outcome.append(is_refused(data))))  # noqa: B023
        refused += outcome[0]
    after = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    assert most < _MOST_CALLS
    assert after - before < _MOST_MEMORY_KB
    # Both sides are met: some damage does not matter to the loader.
    assert COUNT // 10 < refused < COUNT - COUNT // 100


def test_every_file_cut_within_its_segment_is_refused() -> None:
    data = max((seed for seed in seeds() if len(seed) < 4096), key=len)
    # Nothing follows the one segment of these files.
    assert all(is_refused(data[:size]) for size in range(0, len(data), 7))


def test_predictions_never_raise(tmp_path: Path) -> None:
    corpus = seeds()
    path = tmp_path / "ext.so"
    for number in range(COUNT // 30):
        rng = random.Random(-1 - number)
        path.write_bytes(mutate(rng.choice(corpus), rng))
        with Predictor(target_of(None, {})) as predictor:
            found = predictor.predict(str(path), after_torch=False)
        assert (found.loads is True) == (found.reason is None)
