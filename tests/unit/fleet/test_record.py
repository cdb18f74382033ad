"""Records: their size, what is dropped, who made them, and hostile values."""

from __future__ import annotations

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fadoctor.fleet.content import (
    FINDINGS,
    CheckOutcome,
    Content,
    content_of,
    failed,
    first_steps,
    sealed,
)
from fadoctor.fleet.envelope import LINE_LIMIT, Damaged, opened, seal
from fadoctor.fleet.identity import NodeIdentity, node_of, plain_name, renamed
from fadoctor.fleet.record import SEPARATOR, record_line, second_line
from fadoctor.model.fact import Known
from fadoctor.model.finding import Confidence, Finding, Severity
from fadoctor.model.fix import Fix, Step, StepKind
from fadoctor.model.verdict import Backend, Dtype, Measured, Predicted, Verdict
from tests.unit.fleet.samples import content, line, node
from tests.work import examples


def read(text: bytes) -> tuple[NodeIdentity, Content]:
    (payload,) = opened(text)
    assert isinstance(payload, bytes)
    who, _, what = payload.partition(SEPARATOR)
    return msgspec.json.decode(who, type=NodeIdentity), msgspec.json.decode(what, type=Content)


def test_a_record_says_all_of_a_usual_node() -> None:
    assert read(line(7)) == (node(7), content())


def test_what_does_not_fit_goes_in_a_fixed_order_and_is_said() -> None:
    many = {f"NAME_{number}": "x" * 40 for number in range(9)}
    said = sealed(msgspec.structs.replace(content(), t={**content().t, "env": many}))
    who, short = read(record_line(node(1), said))
    assert who == node(1)
    assert list(short.o)[:3] == ["lib", "env", "nv"][: len(short.o)]
    assert (short.d, short.c, short.w, short.v) == (said.d, said.c, said.w, said.v)
    assert short.t["pkg"] == said.t["pkg"]


def finding_with(*steps: Step, severity: Severity = Severity.ERROR) -> Finding:
    fix = Fix("one", "Do it", steps=steps)
    return Finding(
        "some-rule",
        severity,
        Confidence.HIGH,
        "A title",
        "It.",
        "Why.",
        "flash-attn",
        (),
        (fix,),
        (),
        (),
        "",
    )


LOOK = Step(StepKind.ADVICE, "Read the page.")


def test_a_node_says_what_to_do_first_and_a_command_before_a_sentence() -> None:
    install = Step(StepKind.INSTALL, "pip install torch==2.8.0", ("torch==2.8.0",))
    said = {"some-rule": "pip install torch==2.8.0"}
    assert first_steps([finding_with(LOOK, install)]) == said
    away = Step(StepKind.UNINSTALL, "pip uninstall torch", ("torch",))
    both = {"some-rule": "pip uninstall torch && pip install torch==2.8.0"}
    assert first_steps([finding_with(away, LOOK, install)]) == both
    assert first_steps([finding_with(LOOK)]) == {"some-rule": "Read the page."}
    assert first_steps([finding_with(), finding_with(LOOK, severity=Severity.NOTE)]) == {}
    assert first_steps([finding_with(Step(StepKind.INSTALL, "pip install " + "x" * 300))]) == {}


def test_first_steps_go_first_and_make_no_nodes_differ() -> None:
    plain = content(1, ("e some-rule",))
    told = msgspec.structs.replace(plain, a={"some-rule": "pip install torch==2.8.0"})
    assert sealed(told).d == plain.d
    assert read(record_line(node(1), told))[1].a == told.a
    long = {f"rule-{number}": "pip install " + "x" * 200 for number in range(5)}
    _, short = read(record_line(node(1), msgspec.structs.replace(plain, a=long)))
    assert short == plain


def test_of_too_many_findings_the_worst_stay_and_all_are_counted() -> None:
    ids = (*(f"e {'long-' * 8}{n}" for n in range(10)), *(f"n note-{n:03}" for n in range(200)))
    _, short = read(record_line(node(1), content(1, ids)))
    assert short.c[:3] == (10, 0, 200)
    assert short.f[:10] == ids[:10]
    assert 10 < len(short.f) < 210
    assert FINDINGS in short.o


@settings(max_examples=examples(60), deadline=None)
@given(
    st.text(), st.text(), st.text(max_size=3_000),
    st.dictionaries(st.text(max_size=60), st.text(max_size=60), max_size=30),
)  # fmt: skip
def test_no_value_breaks_a_record(name: str, host: str, problem: str, keys: dict[str, str]) -> None:
    environ = {"SLURMD_NODENAME": name, "SLURM_STEP_NODELIST": problem, "SLURM_PROCID": "3"}
    who = node_of(environ, host)
    for said in (failed(2, problem), sealed(Content(x=1, t={"pkg": keys, "env": keys}))):
        text = record_line(who, said)
        assert len(text) <= LINE_LIMIT
        assert text.isascii()
        assert text.count(b"\n") == 1
        assert text.count(b"@") == 1
        seen, short = read(text)
        assert (seen.key, short.x, short.d) == (who.key, said.x, said.d)


@pytest.mark.parametrize("prefix", [b"0: ", b"host: ", b"[1,3]<stdout>:", b"noise @fad1 "])
def test_what_stands_around_a_record_does_not_matter(prefix: bytes) -> None:
    found = [each for each in opened(prefix + line(1)[:-1] + b" behind") if isinstance(each, bytes)]
    assert len(found) == 1


def test_a_record_within_another_is_found_and_the_other_is_damaged() -> None:
    first, second = line(1), line(2)
    found = list(opened(first[:200] + second + first[200:]))
    assert isinstance(found[0], Damaged)
    assert found[1] == second.split(b" ", 3)[3][:-1]
    assert len(list(opened(first[:200]))) == 1


def test_a_changed_letter_is_damage() -> None:
    text = seal(b'{"n":"a"}|{"x":0}').replace(b'"x":0', b'"x":1')
    assert isinstance(next(opened(text)), Damaged)


@pytest.mark.parametrize(
    ("environ", "expected"),
    [
        (
            {"SLURMD_NODENAME": "n3", "SLURM_PROCID": "3", "SLURM_LOCALID": "0",
             "SLURM_STEP_NUM_NODES": "4", "SLURM_STEP_NODELIST": "n[1-4]"},
            NodeIdentity("n3", r=3, l=0, h="vm", e=4, H="n[1-4]"),
        ),
        (
            {"OMPI_COMM_WORLD_RANK": "8", "OMPI_COMM_WORLD_LOCAL_RANK": "0",
             "OMPI_COMM_WORLD_SIZE": "16", "OMPI_COMM_WORLD_LOCAL_SIZE": "8"},
            NodeIdentity("vm", r=8, l=0, e=2, u=True),
        ),
        ({"NODE_NAME": "gke-1", "JOB_COMPLETION_INDEX": "2"},
         NodeIdentity("gke-1", r=2, h="vm", u=True)),
        ({"WORLD_SIZE": "7", "LOCAL_WORLD_SIZE": "2", "RANK": "x"}, NodeIdentity("vm", u=True)),
        ({}, NodeIdentity("vm", u=True)),
    ],
)  # fmt: skip
def test_who_a_node_is_by_its_launcher(environ: dict[str, str], expected: NodeIdentity) -> None:
    assert node_of(environ, "vm") == expected


def test_two_containers_of_one_name_are_two_nodes() -> None:
    keys = {node_of({"RANK": str(rank)}, "vm").key for rank in (0, 1)}
    assert keys == {"vm#0", "vm#1"}


def test_a_long_name_is_cut_but_stays_its_own() -> None:
    first, second = plain_name("a" * 70), plain_name("a" * 71)
    assert first != second
    assert len(first) == len(second) == 64


def test_no_name_is_left_of_a_node_that_is_renamed() -> None:
    assert renamed(node(4)) == NodeIdentity("n5", r=4, e=16)
    assert renamed(NodeIdentity("secret-host")).n.startswith("n-")


def test_another_task_says_that_the_first_one_reports() -> None:
    who, said = read(second_line(node(3, l=2)))
    assert (who.is_second, said.s, said.is_report) == (True, True, False)


def test_half_of_a_character_breaks_no_record() -> None:
    half = "\ud800"
    facts = {
        "packages.installed": Known({half: half}, "x"),
        "torch.version": Known(half, "x"),
        f"env.{half}": Known(half, "x"),
    }
    cell = Verdict(half, Backend.FA2, half, Dtype.BF16, Predicted.WORKS, (), Measured.NOT_RUN, half)
    said = content_of(CheckOutcome((), (cell,), (0, 0, 0, 0), 0, {"fadoctor": "0"}), facts)
    assert read(record_line(node(1), said)) == (node(1), said)
