"""A stream that was cut, spliced, doubled, reordered: never a wrong healthy count, never a crash.

``FADOCTOR_TESTS_REQUIRE=long`` runs 8,000 of them, and ``FADOCTOR_TESTS_MUTATIONS=100000`` says
how many else.
"""

from __future__ import annotations

import hashlib
import io
import os
import random

import msgspec
import pytest

from fadoctor.fleet.documents import document_of
from fadoctor.fleet.frames import frames_of
from fadoctor.fleet.gathered import Gathered, is_healthy
from fadoctor.fleet.streams import Intake
from tests.unit.fleet.samples import content, line, node

MUTATIONS = int(os.environ.get("FADOCTOR_TESTS_MUTATIONS", "8000"))
NODES = 12
SICK = {
    3: content(1, ("e flash-attn-missing",)),
    5: content(2, ("e driver-too-old",)),
    8: content(3),
}
HEALTHY = {node(n).key for n in range(NODES)} - {node(n).key for n in SICK}
NOISE = (
    b"srun: error: n03: task 3: Exited with exit code 1\n", b"@fad1 ", b"{\n", b"}\n", b'{"fleet":',
    b"\x00\xff\xfe", b"3: ", b"\r\n", b"@fad1 000000000000 12 {}", b'{"kind":"report"}\n',
)  # fmt: skip


FILLING = b"".join(hashlib.sha256(b"%d" % n).hexdigest().encode() for n in range(20))


def stream() -> list[bytes]:
    """Return records, pieces and reports of the nodes, on one line and on several, as lines."""
    lines = []
    for number in range(NODES):
        said = SICK.get(number, content())
        # A small document: what is broken is how it came.
        signed = document_of(node(number), said, None)
        document = signed[:-1] + b',"filling":"' + FILLING + b'"}'
        forms = (
            [line(number, said)],
            [document + b"\n"],
            frames_of(node(number), document),
            (msgspec.json.format(document, indent=2) + b"\n").splitlines(keepends=True),
        )
        prefix = b"%d: " % number if number // 2 % 2 else b""
        lines += [prefix + row for row in forms[number % len(forms)]]
    return lines


LINES = stream()


def mutated(chance: random.Random) -> bytes:
    """Return the stream with a few faults of launchers, and of worse."""
    lines = list(LINES)
    for _ in range(chance.randint(1, 6)):
        at = chance.randrange(len(lines))
        text = lines[at]
        match chance.randrange(9):
            case 0:
                lines[at] = text[: chance.randrange(len(text) + 1)]
            case 1:
                lines[at] = text[chance.randrange(len(text) + 1) :]
            case 2:
                lines.insert(chance.randrange(len(lines)), text)
            case 3:
                del lines[at]
                lines = lines or [b"\n"]
            case 4:
                chance.shuffle(lines)
            case 5:
                place = chance.randrange(len(text) + 1)
                lines[at] = text[:place] + chance.choice(NOISE) + text[place:]
            case 6:
                other = chance.choice(lines)
                lines[at] = (
                    text[: chance.randrange(len(text) + 1)]
                    + other[chance.randrange(len(other) + 1) :]
                )
            case 7 if text:
                place = chance.randrange(len(text))
                lines[at] = text[:place] + bytes([chance.randrange(256)]) + text[place + 1 :]
            case _:
                other = chance.choice(lines)
                place = chance.randrange(len(text) + 1)
                lines[at] = text[:place] + other + text[place:]
    return b"".join(lines)


def check_seed(seed: int) -> None:
    """Nobody is healthy who is not, and nobody is there who never was."""
    text = mutated(random.Random(seed))  # noqa: S311 -- mutations are not secrets
    gathered = Gathered()
    intake = Intake(gathered)
    intake.read(io.BytesIO(text), "stream")
    intake.finish()
    fine = {
        name
        for name, group in gathered.nodes.items()
        if is_healthy(group.content) and name not in gathered.contradicting
    }
    assert fine <= HEALTHY, f"seed {seed}"


def test_the_stream_itself_is_whole() -> None:
    gathered = Gathered()
    intake = Intake(gathered)
    intake.read(io.BytesIO(b"".join(LINES)), "stream")
    intake.finish()
    assert (len(gathered.nodes), gathered.unreadable_count) == (NODES, 0)


@pytest.mark.property
@pytest.mark.parametrize("start", range(0, 400, 100))
def test_a_few_mutations(start: int) -> None:
    for seed in range(start, start + 100):
        check_seed(seed)


@pytest.mark.property
@pytest.mark.long
@pytest.mark.thinned(every=3)
@pytest.mark.parametrize("start", range(0, MUTATIONS, 2_000))
def test_many_mutations(start: int) -> None:
    for seed in range(start, start + 2_000):
        check_seed(seed)
