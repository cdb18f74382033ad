"""A size of shared memory that a text tells as too little is not told again."""

from __future__ import annotations

import pytest

from fadoctor.judging.explain.fixes.told_sizes import with_told_sizes
from fadoctor.model.fix import Fix, Step, StepKind


def sized(lines: list[str], text: str = "shm_size: 8gb") -> str:
    some = Fix("some", "Give it more", steps=(Step(StepKind.SETTING, text),))
    return with_told_sizes((some,), lines)[0].steps[0].text


@pytest.mark.parametrize(
    ("line", "size"),
    [
        ("a shm_size of 2gb did not help, but setting it to 16gb did work", "16gb"),
        ("shm_size: 16gb in the compose file, and it still stops", "32gb"),
        ("--shm-size 1g", "8gb"),
        ("/dev/shm is small", "8gb"),
        ("the GPU has 24 GB", "8gb"),
    ],
)
def test_the_size_follows_the_text(line: str, size: str) -> None:
    assert sized([line]) == f"shm_size: {size}"


def test_an_option_is_read_alike() -> None:
    lines = ["docker run --shm-size=16g image", "No space left on device"]
    assert sized(lines, "docker run --shm-size=16g ...") == "docker run --shm-size=32g ..."
