"""Pastes as they come: with nothing in them, hostile, large."""

from __future__ import annotations

import random

import pytest

from fadoctor.judging.engine.judge import judge
from fadoctor.model.errors import InputError
from fadoctor.model.fact import Known
from fadoctor.sources.logs.pasted_text import SIZE_LIMIT
from tests.unit.sources.pasted.reading import read_environment, read_report, shipped
from tests.unit.sources.pasted.test_tools import COLLECT_ENV, CONDA, FREEZE, PIP_LIST, SMI, UNSLOTH


@pytest.mark.parametrize("text", ["", "hello", "\x00\x01\x02" * 100, "- nothing: here\n" * 50])
def test_what_is_no_report_is_refused_with_the_names_of_those_that_are(text: str) -> None:
    with pytest.raises(InputError, match="nvidia-smi"):
        read_environment(text.encode())


def test_what_is_too_large_is_refused() -> None:
    with pytest.raises(InputError, match="larger than 2 MiB"):
        read_report(b"x" * (SIZE_LIMIT + 1), "paste")


@pytest.mark.long
@pytest.mark.property
def test_no_damage_raises() -> None:
    whole = COLLECT_ENV + SMI + PIP_LIST + CONDA + FREEZE + UNSLOTH
    rng = random.Random(1)  # noqa: S311 -- no secret
    for _ in range(60):
        text = bytearray(whole.encode())
        for _ in range(rng.randrange(1, 60)):
            place = rng.randrange(len(text))
            text[place : place + rng.randrange(3)] = rng.randbytes(rng.randrange(3))
        environment = read_report(bytes(text), "paste")
        assert all("\x1b" not in str(fact) for fact in environment.facts.values())


@pytest.mark.sampled(every=3)
@pytest.mark.parametrize(
    "line",
    ["GPU 0: " + "A" * 5_000, "- " + "a" * 5_000, "|" + " " * 5_000, "[pip3] " + "x " * 3_000,
     "a" * 3_000 + " ..." * 800, "==((====))==" + " " * 4_000 + "Torch: 1", "> " * 3_000],
)  # fmt: skip
def test_hostile_lines_say_nothing(line: str) -> None:
    text = f"PyTorch version: 2.7.1\nxFormers 0.0.1\n{line}\n" + f"{line}\n" * 300
    facts = read_report(text[:SIZE_LIMIT].encode(), "paste").facts
    known = {name for name, fact in facts.items() if isinstance(fact, Known)}
    assert {"torch.version", "xformers.version"} <= known
    assert not any(name.startswith(("driver.", "host.")) for name in known)


def test_what_a_log_shows_is_no_open_fact_of_a_report() -> None:
    environment = read_environment(COLLECT_ENV.encode())
    assert "log.causes" not in environment.facts
    undecided = judge(environment, shipped()).unknown
    assert not [each.rule_id for each in undecided if "log.causes" in each.needs]
