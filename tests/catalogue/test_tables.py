"""The flash-attn tables: sums, overlaps, and that they say the same where they speak twice."""

from __future__ import annotations

import re
from collections import Counter
from itertools import combinations, product
from typing import TYPE_CHECKING

import pytest

from fadoctor.knowledge.matrix.query import Matrix
from fadoctor.knowledge.matrix.versions import is_in, parse_version
from fadoctor.model.fact import Absent, Fact, Known, Unknown
from tests.catalogue.environments import known, words_of

if TYPE_CHECKING:
    from fadoctor.knowledge.matrix.wheels import WheelFile, Wheels
    from fadoctor.model.rule import Knowledge, Table

TYPES = {
    "torch": r"[12]\.[0-9]{1,2}|\*",
    "cuda": r"cu1[1-3][0-9]?|1[1-3]|\*",
    "abi": r"true|false",
    "label": r"true|false",
    "cuda_major": r"1[1-3]|\*",
    "python": r"cp37m|cp3[0-9]{1,2}t?|cp39-abi3",
    "platform": r"linux_(x86_64|aarch64)|win_amd64|manylinux_2_[0-9]{2}_(x86_64|aarch64)",
    "tag": r"v0\.[0-9]\.[0-9]{1,2}",
    "package": r"flash-attn|flash-attn-3",
    "source": r"official|community",
    "feature": r"[a-z0-9-]+",
    "fault": r"[a-z-]+",
    "variable": r"[A-Z0-9_]+",
    "module": r"[a-z][a-z0-9_]+",
    "argument": r"[a-z_]+",
}
"""What a word of a key looks like."""

EVIDENCE = {"released": 3650, "planned": 1826, "listed": 234, "implausible": 26, "linked": 3}
BUILT_BY_THE_RELEASE, UPLOADED_LATER = 5712, 27


def flash_attn_tables(knowledge: Knowledge) -> list[Table]:
    return [table for name, table in knowledge.tables.items() if name.startswith("flash-attn")]


def releases(knowledge: Knowledge) -> list[str]:
    rows = knowledge.tables["flash-attn-releases"].rows
    return [version for row in rows for version in str(row["version"]).split()]


def is_later(file: WheelFile) -> bool:
    """Return whether a file was uploaded after its release."""
    return file.evidence in ("listed", "linked") and not isinstance(file.sm, Known)


def cell(knowledge: Knowledge, table: str, column: str, **keys: str) -> Fact:
    facts = {name: known(value) for name, value in keys.items()}
    return Matrix(knowledge.tables).find(table, facts).cell(column)


def test_the_sums_are_those_of_the_build_matrices(official: tuple[WheelFile, ...]) -> None:
    assert Counter(file.evidence for file in official) == EVIDENCE
    later = sum(1 for file in official if is_later(file))
    assert (len(official) - later, later) == (BUILT_BY_THE_RELEASE, UPLOADED_LATER)
    assert sum(EVIDENCE.values()) == BUILT_BY_THE_RELEASE + UPLOADED_LATER


@pytest.mark.parametrize(
    ("release", "count"),
    [("2.0.6", 72), ("2.1.1", 86), ("2.2.2", 94), ("2.3.6", 58), ("2.4.0", 62), ("2.4.3", 84),
     ("2.5.1", 74), ("2.5.9.post1", 102), ("2.6.3", 84), ("2.7.0.post2", 92), ("2.7.3", 106),
     ("2.7.4", 50), ("2.7.4.post1", 50), ("2.8.0.post2", 38), ("2.8.1", 47), ("2.8.3", 53),
     ("2.8.3.post1", 49)],
)  # fmt: skip
def test_files_of_a_release(official: tuple[WheelFile, ...], release: str, count: int) -> None:
    assert sum(1 for file in official if file.release == release) == count


def test_the_sum_of_the_community_files(wheels: Wheels) -> None:
    files = list(wheels.community())
    assert Counter(file.package for file in files) == {"flash-attn": 3659, "flash-attn-3": 103}
    assert len({file.name for file in files}) == 2264


def test_no_address_stands_twice(wheels: Wheels) -> None:
    addresses = Counter(file.url for file in (*wheels.official(), *wheels.community()))
    assert [address for address, count in addresses.items() if count > 1] == []


def test_every_word_of_a_key_has_its_type(knowledge: Knowledge) -> None:
    wrong = [
        f"{place}: {name} {word}"
        for table in flash_attn_tables(knowledge)
        for row, place in zip(table.rows, table.places, strict=True)
        for name, kind in table.keys.items()
        for word in str(row[name]).split()
        if kind == "word" and not re.fullmatch(TYPES[name], word)
    ]
    assert wrong == []


def test_no_two_rows_answer_one_question(knowledge: Knowledge) -> None:
    versions = [*releases(knowledge), "2.8.4", "2.9.0"]
    wrong = [
        f"{one[0]} and {other[0]}"
        for table in flash_attn_tables(knowledge)
        for one, other in combinations(zip(table.places, table.rows, strict=True), 2)
        if all(_meet(kind, one[1][k], other[1][k], versions) for k, kind in table.keys.items())
    ]
    assert wrong == []


NVCC = ("11.4", "11.6.2", "11.7.1", "11.8.0", "12.1", "12.7", "12.8", "12.9.1", "13.0")


def _meet(kind: str, one: object, other: object, versions: list[str]) -> bool:
    """Return whether two key cells have a value in common."""
    if kind == "range":
        asked = [*versions, *NVCC]
        return any(is_in(v, str(one)) and is_in(v, str(other)) for v in asked)
    mine, theirs = set(str(one).split()), set(str(other).split())
    return bool(mine & theirs) or "*" in mine | theirs


def test_wheels_are_of_known_releases_and_planned_ones_were_not_published(
    knowledge: Knowledge, official: tuple[WheelFile, ...]
) -> None:
    published = {
        str(row["version"]): row["on_pypi"] is True
        for row in knowledge.tables["flash-attn-releases"].rows
    }
    assert {file.release for file in official} <= published.keys()
    doubtful = {"planned", "implausible"}
    assert [f.name for f in official if published[f.release] is (f.evidence in doubtful)] == []
    assert [f.name for f in official if f.verified is (f.evidence in doubtful)] == []


def test_the_code_of_each_file_is_what_setup_py_makes_with_its_nvcc(
    knowledge: Knowledge, official: tuple[WheelFile, ...]
) -> None:
    wrong = []
    for file in {(f.release, f.torch, f.cuda): f for f in official}.values():
        keys = {"version": file.release, "torch": file.torch, "cuda": file.cuda}
        nvcc = cell(knowledge, "flash-attn-wheel-nvcc", "nvcc", **keys)
        if file.evidence == "implausible":
            continue
        if isinstance(nvcc, Known):
            keys = {"version": file.release, "nvcc": str(nvcc.value)}
            made = words_of(cell(knowledge, "flash-attn-cubins", "sm", **keys))
            if words_of(file.sm) != made or not isinstance(file.sm_at_least, Absent):
                wrong.append(file)
        elif not is_later(file) or not isinstance(file.sm_at_least, Known):
            wrong.append(file)
    assert wrong == []


def test_the_label_names_the_nvcc(knowledge: Knowledge, official: tuple[WheelFile, ...]) -> None:
    wrong = []
    for file in {(f.release, f.torch, f.cuda): f for f in official}.values():
        keys = {"version": file.release, "torch": file.torch, "cuda": file.cuda}
        nvcc = cell(knowledge, "flash-attn-wheel-nvcc", "nvcc", **keys)
        digits = str(nvcc.value).replace(".", "") if isinstance(nvcc, Known) else ""
        if digits and not f"cu{digits}".startswith(file.cuda):
            wrong.append((file.name, nvcc))
    assert wrong == []


def test_what_each_file_was_built_with(
    knowledge: Knowledge, official: tuple[WheelFile, ...]
) -> None:
    """The torch of a build is of the minor that its name says, if only a nightly of it."""
    wrong = []
    for file in {(f.release, f.torch): f for f in official if not is_later(f)}.values():
        keys = {"version": file.release, "torch": file.torch}
        built = cell(knowledge, "flash-attn-built-with", "built", **keys)
        if not isinstance(built, Known) or not str(built.value).startswith(f"{file.torch}."):
            wrong.append((file.name, built))
    assert wrong == []


def test_abi_and_glibc_are_stated_for_every_file(official: tuple[WheelFile, ...]) -> None:
    assert [f.name for f in official if not isinstance(f.real_abi, Known)] == []
    assert [f.name for f in official if not isinstance(f.glibc_enough, Known)] == []
    lies = {f.release for f in official if f.torch == "2.6" and _lies(f)}
    assert lies == {"2.8.0", "2.8.0.post1", "2.8.0.post2", "2.8.1", "2.8.2", "2.8.3", "2.8.3.post1"}
    assert {f.torch for f in official if _lies(f)} == {"2.6", "2.7", "2.8"}
    assert all(f.label_abi is False for f in official if _lies(f))


def _lies(file: WheelFile) -> bool:
    return isinstance(file.real_abi, Known) and file.real_abi.value is not file.label_abi


@pytest.mark.parametrize("table", ["flash-attn-build", "flash-attn-lookup", "flash-attn-cubins"])
def test_every_release_is_covered(knowledge: Knowledge, table: str) -> None:
    ranges = [str(row["version"]) for row in knowledge.tables[table].rows]
    missing = [v for v in releases(knowledge) if not any(is_in(v, each) for each in ranges)]
    assert missing == []


def test_versions_that_others_name_are_versions(knowledge: Knowledge) -> None:
    known_releases = set(releases(knowledge))
    tables = knowledge.tables
    since = {str(row["since"]) for row in tables["flash-attn-api"].rows}
    since |= {str(row["since"]) for row in tables["flash-attn-variables"].rows}
    since |= {str(row["repaired"]) for row in tables["flash-attn-faults"].rows if row["repaired"]}
    unpublished_or_known = {v for v in since if v not in known_releases and v != "2.0.0"}
    assert unpublished_or_known == set()
    bad = {v for row in tables["flash-attn-known-bad"].rows for v in str(row["version"]).split()}
    assert bad <= known_releases


def test_dates_of_releases_go_forward(knowledge: Knowledge) -> None:
    rows = [row for row in knowledge.tables["flash-attn-releases"].rows if row["on_pypi"] is True]
    order = sorted(rows, key=lambda row: parse_version(str(row["version"])) or 0)
    assert rows == order
    dates = [str(row["published"]) for row in rows]
    assert all(re.fullmatch(r"20[0-9]{2}-[01][0-9]-[0-3][0-9]", date) for date in dates)
    assert dates == sorted(dates)


@pytest.mark.parametrize(
    ("version", "torch", "cuda_major", "label"),
    [
        ("2.0.5", "2.0", "11", None),
        ("2.1.1", "2.1", "12", "cu{cuda}"),
        ("2.2.5", "2.1", "12", "cu122"),
        ("2.3.3", "2.1", "11", "cu{cuda}"),
        ("2.5.8", "2.2", "12", "cu122"),
        ("2.6.3", "2.4", "12", "cu123"),
        ("2.8.3", "2.9", "13", "cu12"),
        ("2.8.3.post1", "2.9", "13", "cu13"),
    ],
)
def test_what_setup_py_asks_for(
    knowledge: Knowledge, version: str, torch: str, cuda_major: str, label: str | None
) -> None:
    keys = {"version": version, "torch": torch, "cuda_major": cuda_major}
    found = cell(knowledge, "flash-attn-lookup", "label", **keys)
    assert (found.value if isinstance(found, Known) else None) == label
    assert not isinstance(found, Unknown)


def test_each_question_about_the_lookup_has_one_answer(knowledge: Knowledge) -> None:
    minors = [
        m for row in knowledge.tables["torch-symbols"].rows for m in str(row["minor"]).split()
    ]
    asked = product(releases(knowledge), ["1.12", *minors], ["11", "12", "13"])
    unknown = []
    for version, torch, cuda_major in asked:
        keys = {"version": version, "torch": torch, "cuda_major": cuda_major}
        found = cell(knowledge, "flash-attn-lookup", "label", **keys)
        if isinstance(found, Unknown):
            unknown.append((version, torch, cuda_major))
    assert unknown == []
