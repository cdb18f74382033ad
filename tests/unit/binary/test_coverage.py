"""Whether code runs on a GPU, container by container."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fadoctor.binary.coverage import (
    CodeSummary,
    Cover,
    CoverageVerdict,
    GpuRow,
    best_ptx,
    common_targets,
    cover,
    coverage,
    describe,
    parse_code,
    summarise,
)
from fadoctor.knowledge.matrix.load import load_knowledge
from tests.unit.binary.fatbin_builder import (
    CUBIN,
    FAMILY,
    LINUX_64,
    LTO,
    RELOCATABLE_PTX,
    SPECIFIC,
    container,
    elf,
    image,
    ptx,
)
from tests.work import examples

if TYPE_CHECKING:
    from collections.abc import Callable

    from fadoctor.binary.fatbin import Fatbins

    Read = Callable[..., Fatbins]

TURING = GpuRow("7.5", frozenset({"7.0", "7.5"}))
AMPERE = GpuRow("8.6", frozenset({"8.0", "8.6"}))
HOPPER = GpuRow("9.0", frozenset({"9.0", "9.0a"}))
B200 = GpuRow("10.0", frozenset({"10.0", "10.0a", "10.0f"}))
B300 = GpuRow("10.3", frozenset({"10.0", "10.3", "10.3a", "10.0f", "10.3f"}))
RTX_50 = GpuRow("12.0", frozenset({"12.0", "12.0a", "12.0f"}))
ORIN = GpuRow("8.7", frozenset({"8.7"}), frozenset({"8.0", "8.6"}))


def test_a_container_becomes_one_line(read: Read) -> None:
    body = container(
        ptx(90, flags=LINUX_64 | SPECIFIC),
        image(CUBIN, 100, flags=LINUX_64 | FAMILY),
        image(CUBIN, 80),
        image(CUBIN, 80),
        ptx(80, (7, 8)),
        image(LTO, 80),
        image(99, 75),
    )
    data = elf(body, b"between", container(), container(image()), wrappers=[(2, 0), (1, 2), (1, 3)])
    lines = [describe(one) for one in read(data).containers]
    assert lines == [
        "linked: 8.0 10.0f 8.0+LTO 7.5+OTHER 8.0+PTX@7.8 9.0a+PTX@8.4",
        "relocatable: ",
        "relocatable: 8.0",
    ]
    assert parse_code(lines[0]).machine == {"8.0", "10.0f"}
    assert parse_code(lines[0]).ptx == (("8.0", "7.8"), ("9.0a", "8.4"))
    assert [parse_code(line).role.value for line in lines] == ["linked"] + ["relocatable"] * 2


def test_the_summary_is_what_facts_tell(read: Read) -> None:
    data = elf(
        container(image(architecture=80), image(architecture=90, flags=LINUX_64 | SPECIFIC)),
        container(image(architecture=80), image(architecture=120), ptx(120, (9, 0))),
        container(image(architecture=80), ptx(90, (8, 10), flags=LINUX_64 | SPECIFIC)),
        container(image(architecture=80), image(architecture=90, flags=LINUX_64 | SPECIFIC)),
        container(),
        wrappers=[(1, part) for part in range(5)],
    )
    found = summarise(read(data))
    assert found.targets == ("8.0", "9.0a", "12.0")
    assert found.common == ("8.0",)
    assert (found.ptx, found.specific_ptx, found.lowest_isa) == ("12.0", ("9.0a",), "8.10")
    assert found.code == {
        "": "1",
        "8.0 12.0 12.0+PTX@9.0": "1",
        "8.0 9.0a": "2",
        "8.0 9.0a+PTX@8.10": "1",
    }


def test_a_file_without_gpu_code(read: Read) -> None:
    found = summarise(read(elf(b"nothing")))
    assert found == CodeSummary((), (), "", (), "", {})
    assert coverage(found.code, HOPPER).verdict is CoverageVerdict.EMPTY


@pytest.mark.parametrize(
    ("line", "gpu", "expected"),
    [
        ("8.0 9.0", AMPERE, Cover.MACHINE),
        ("8.0 9.0", HOPPER, Cover.MACHINE),
        ("8.0 9.0", B200, Cover.NONE),
        ("8.6", GpuRow("8.0", frozenset({"8.0"})), Cover.NONE),
        ("8.0", TURING, Cover.NONE),
        ("9.0a", HOPPER, Cover.MACHINE),
        ("9.0a", B200, Cover.NONE),
        ("10.0f", B300, Cover.MACHINE),
        ("10.0a", B300, Cover.NONE),
        ("10.3f", B200, Cover.NONE),
        ("10.0f", RTX_50, Cover.NONE),
        ("9.0+PTX@8.4", RTX_50, Cover.JIT),
        ("9.0+PTX@8.4", AMPERE, Cover.NONE),
        ("9.0a+PTX@8.4", RTX_50, Cover.NONE),
        ("9.0a+PTX@8.4", HOPPER, Cover.JIT),
        ("10.0f+PTX@8.8", B300, Cover.JIT),
        ("10.0f+PTX@8.8", RTX_50, Cover.NONE),
        ("8.0", ORIN, Cover.UNCERTAIN),
        ("8.7", ORIN, Cover.MACHINE),
        ("8.0 8.0+PTX@8.4", ORIN, Cover.JIT),
        ("9.0", ORIN, Cover.NONE),
        ("8.0+LTO", AMPERE, Cover.NONE),
        ("", AMPERE, Cover.NONE),
    ],
)
def test_one_container(line: str, gpu: GpuRow, expected: Cover) -> None:
    assert cover(parse_code(line), gpu) is expected


def test_the_newest_ptx_that_fits_is_compiled() -> None:
    code = parse_code("7.5+PTX@8.8 9.0+PTX@8.4 12.0+PTX@9.0 10.0f+PTX@8.9")
    assert [best_ptx(code, gpu) for gpu in (TURING, HOPPER, B300, RTX_50)] == [
        "8.8", "8.4", "8.9", "9.0",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("code", "gpu", "verdict", "isas"),
    [
        ({"8.0 9.0": "64"}, HOPPER, CoverageVerdict.ALL, ("", "")),
        ({"8.0": "3", "8.6": "2"}, AMPERE, CoverageVerdict.ALL, ("", "")),
        ({"8.0 9.0": "64"}, RTX_50, CoverageVerdict.NONE, ("", "")),
        (
            {"8.0+PTX@8.5": "2", "8.0 9.0+PTX@8.10": "1"},
            RTX_50,
            CoverageVerdict.JIT,
            ("8.5", "8.10"),
        ),
        ({"8.0": "1", "9.0": "1"}, HOPPER, CoverageVerdict.MIXED, ("", "")),
        ({"9.0": "1", "8.0+PTX@9.0": "1"}, HOPPER, CoverageVerdict.MIXED, ("9.0", "9.0")),
        ({"8.0": "4"}, ORIN, CoverageVerdict.UNCERTAIN, ("", "")),
        ({"": "4"}, ORIN, CoverageVerdict.EMPTY, ("", "")),
        ({"unclaimed: 8.0": "4"}, AMPERE, CoverageVerdict.ALL, ("", "")),
        ({"stub: 7.5": "1", "": "2"}, AMPERE, CoverageVerdict.EMPTY, ("", "")),
    ],
)
def test_all_containers_together(
    code: dict[str, str], gpu: GpuRow, verdict: CoverageVerdict, isas: tuple[str, str]
) -> None:
    found = coverage(code, gpu)
    assert (found.verdict, (found.lowest_isa, found.highest_isa)) == (verdict, isas)
    assert sum(found.counts.values()) == (
        0 if verdict is CoverageVerdict.EMPTY else sum(map(int, code.values()))
    )


PARTS = {"relocatable: 8.0 9.0+PTX@8.4": "5", "relocatable: 8.0 8.0+PTX@8.5": "1"}


@pytest.mark.parametrize(
    ("code", "gpu", "verdict", "isas"),
    [
        ({"linked: 8.0": "1", **PARTS}, AMPERE, CoverageVerdict.ALL, ("", "")),
        ({"linked: 8.0": "1", **PARTS}, RTX_50, CoverageVerdict.JIT, ("8.4", "8.5")),
        ({"linked: 8.0": "1", **PARTS}, TURING, CoverageVerdict.NONE, ("", "")),
        (
            {"linked: 8.0": "1", **PARTS, "relocatable: 8.0": "1"},
            RTX_50,
            CoverageVerdict.NONE,
            ("", ""),
        ),
        ({"linked: 8.0": "1", "relocatable: 8.0+LTO": "1"}, HOPPER, CoverageVerdict.NONE, ("", "")),
        ({"linked: ": "1", "relocatable: 9.0 9.0a": "2"}, HOPPER, CoverageVerdict.JIT, ("", "")),
        ({"linked: 9.0": "1", "relocatable: 8.0": "2"}, ORIN, CoverageVerdict.UNCERTAIN, ("", "")),
        ({"linked: 8.0": "1"}, HOPPER, CoverageVerdict.NONE, ("", "")),
    ],
)
def test_the_driver_links_again_where_every_part_has_code(
    code: dict[str, str], gpu: GpuRow, verdict: CoverageVerdict, isas: tuple[str, str]
) -> None:
    found = coverage(code, gpu)
    assert (found.verdict, (found.lowest_isa, found.highest_isa)) == (verdict, isas)
    assert sum(found.counts.values()) == 1


def test_parts_are_known_by_their_ptx(read: Read) -> None:
    part = container(image(architecture=80), ptx(80, (9, 0), options=RELOCATABLE_PTX))
    linked = container(image(architecture=80))
    found = summarise(read(elf(linked, part, wrappers=[(2, 0), (1, 1)])))
    assert coverage(found.code, RTX_50).verdict is CoverageVerdict.JIT
    assert found.common == ("8.0",)


def test_a_stub_is_no_code(read: Read) -> None:
    stub, real = container(image(architecture=75)), container(image(architecture=80))
    found = summarise(read(elf(stub, real, wrappers=[(2, 0), (1, 1)])))
    assert (found.targets, found.common) == (("8.0",), ("8.0",))
    assert coverage(found.code, TURING).verdict is CoverageVerdict.NONE


def test_the_architectures_of_torch_are_those_of_every_container() -> None:
    code = ["5.0 8.0 9.0", "5.0 8.0 9.0 9.0a", "", "relocatable: 7.0", "5.0 8.0 8.9 9.0"]
    assert common_targets(map(parse_code, code)) == ("5.0", "8.0", "9.0")
    assert common_targets([]) == ()


@pytest.mark.parametrize("number", ["", "x", "-1", "9" * 5000, "٣"])
def test_numbers_from_a_hostile_file_of_facts(number: str) -> None:
    assert coverage({"8.0": number}, AMPERE).verdict is CoverageVerdict.ALL


@given(st.dictionaries(st.text(max_size=60), st.text(max_size=12), max_size=4))
@settings(max_examples=examples(200), deadline=None, database=None)
@pytest.mark.property
def test_any_text_is_judged(code: dict[str, str]) -> None:
    for gpu in (HOPPER, ORIN):
        assert isinstance(coverage(code, gpu).verdict, CoverageVerdict)


def gpus() -> dict[str, GpuRow]:
    """Return the GPUs that the matrix knows."""
    found = {}
    for row in load_knowledge().tables["architectures"].rows:
        cc, runs = str(row["cc"]), row["runs"]
        known = str(runs) if isinstance(runs, str) else str(row.get("own") or "")
        may_run = frozenset(str(row.get("since_cuda_13_2") or "").split())
        found[cc] = GpuRow(cc, frozenset(known.split()), may_run)
    return found


def test_what_the_matrix_says_runs_is_coherent() -> None:
    found = gpus()
    for cc, gpu in found.items():
        assert cc == "8.8" or cc in gpu.runs
        for target in gpu.runs | gpu.may_run:
            base = target.rstrip("af")
            same_chip = (cc, base) == ("11.0", "10.1")
            assert same_chip or base.split(".")[0] == cc.split(".")[0]
            assert int(base.split(".")[1]) <= int(cc.split(".")[1]) or same_chip
            assert not target.endswith("a") or base == cc or same_chip
        assert not gpu.runs & gpu.may_run


def test_families_of_the_matrix() -> None:
    families = {
        "10.0f": {"10.0", "10.3", "10.7"},
        "10.3f": {"10.3", "10.7"},
        "10.7f": {"10.7"},
        "11.0f": {"11.0"},
        "12.0f": {"12.0", "12.1"},
        "12.1f": {"12.1"},
    }
    for target, members in families.items():
        assert {cc for cc, gpu in gpus().items() if target in gpu.runs} == members


def test_code_for_ampere_on_a_jetson() -> None:
    found = gpus()
    assert coverage({"8.0 9.0": "1"}, found["8.7"]).verdict is CoverageVerdict.UNCERTAIN
    assert coverage({"8.0 8.7": "1"}, found["8.7"]).verdict is CoverageVerdict.ALL
    assert coverage({"7.5 9.0": "1"}, found["8.7"]).verdict is CoverageVerdict.NONE
    assert coverage({"7.0": "1"}, found["7.2"]).verdict is CoverageVerdict.UNCERTAIN


def test_every_isa_of_the_matrix_grows_with_cuda() -> None:
    rows = load_knowledge().tables["ptx-isa"].rows
    pairs = [
        [tuple(map(int, str(row[key]).split("."))) for key in ("isa", "cuda", "driver_branch")]
        for row in rows
    ]
    assert pairs == sorted(pairs)
    for column in zip(*pairs, strict=True):
        assert list(column) == sorted(set(column))
