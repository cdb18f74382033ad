"""What could be installed: only what exists, for this machine, with the facts that it gives."""

from __future__ import annotations

import re

import msgspec
import pytest

from fadoctor.knowledge.matrix.query import Matrix, cell_words
from fadoctor.model.fact import Absent, Known
from fadoctor.model.packages import BESIDE_TORCH
from fadoctor.repair.plan.choices.candidates import Candidates
from fadoctor.repair.plan.choices.choice import ChoiceKind
from fadoctor.repair.plan.choices.offers import offer
from fadoctor.repair.plan.choices.released import accepts
from tests.unit.repair.plan.problems import golden, problem, session

HEALTHY = golden("linux-a100-healthy")  # torch 2.8.0, Python 3.11, CUDA 12.8


def test_torch_builds_are_nearest_first_then_newest() -> None:
    found = session().candidates.torch(HEALTHY)
    assert [choice.distance for choice in found] == sorted(choice.distance for choice in found)
    assert {c.version.partition("+")[0] for c in found if c.distance == 1} == {"2.8.0"}
    assert {choice.distance for choice in found if choice.version == "2.9.1"} == {3}
    assert {choice.distance for choice in found if choice.version == "2.10.0"} == {4}
    others = [choice.age for choice in found if choice.distance == 3]
    assert others == sorted(others)


def test_another_patch_of_a_torch_is_nearer_than_another_minor_release() -> None:
    found = session().candidates.torch(golden("linux-a100-healthy", torch__version="2.7.0"))
    assert {c.version.partition("+")[0] for c in found if c.distance == 2} == {"2.7.1"}


def test_builds_that_are_not_of_pypi_have_their_index() -> None:
    for choice in session().candidates.torch(HEALTHY):
        build = choice.facts["torch.build"]
        assert isinstance(build, Known)
        expected = (
            "" if build.value == "pypi" else f"https://download.pytorch.org/whl/{build.value}"
        )
        assert choice.index == expected
        assert choice.requirement == f"torch=={choice.version}"


@pytest.mark.parametrize(
    ("changes", "absent"),
    [
        ({"python__version": "3.8.1", "python__abi_tag": "cp38"}, "2.8.0"),
        ({"python__version": "3.14.0", "python__abi_tag": "cp314"}, "2.6.0"),
        ({"host__platform": "win_amd64"}, "2.8.0"),
    ],
)
def test_other_pythons_and_platforms(changes: dict[str, str], absent: str) -> None:
    environment = golden("linux-a100-healthy", **changes)
    assert absent not in {choice.version for choice in session().candidates.torch(environment)}


def test_an_unknown_platform_has_no_candidates() -> None:
    environment = golden("linux-a100-healthy", host__platform=None)
    assert session().candidates.torch(environment) == ()


def test_files_of_flash_attn_fit_this_torch_and_python() -> None:
    found = session().candidates.flash_attn(HEALTHY)
    assert found
    for choice in found:
        assert re.search(r"torch2\.8(cxx11abi\w+)?-cp311-cp311-", choice.url), choice.url
        assert choice.kind in (ChoiceKind.WHEEL, ChoiceKind.COMMUNITY)
        assert choice.facts["flash_attn.wheel.torch"] == Known(
            "2.8", choice.facts["flash_attn.wheel.torch"].source
        )


def test_known_bad_and_first_generation_files_are_left_out() -> None:
    environment = golden(
        "linux-a100-healthy", torch__version="2.5.1+cu118", torch__cuda="11.8",
        torch__build="cu118", torch__cxx11_abi=False,
    )  # fmt: skip
    versions = {choice.version for choice in session().candidates.flash_attn(environment)}
    assert versions
    assert not [version for version in versions if version.startswith("1.")]
    assert "2.8.1" not in versions


@pytest.mark.parametrize(
    "changes",
    [{"torch__cuda": None}, {"torch__build": "other"}, {"torch__build": "rocm"}],
)
def test_no_file_where_torch_is_not_a_published_cuda_build(changes: dict[str, object]) -> None:
    assert session().candidates.flash_attn(golden("linux-a100-healthy", **changes)) == ()


def test_files_that_need_a_newer_glibc_are_left_out() -> None:
    old = golden("linux-a100-healthy", host__glibc="2.28")
    here = {choice.key for choice in session().candidates.flash_attn(HEALTHY)}
    there = {choice.key for choice in session().candidates.flash_attn(old)}
    assert there < here


@pytest.mark.parametrize("glibc", ["2.17", "2.28", "2.34"])
def test_a_community_file_that_promises_no_glibc_is_not_for_an_old_system(glibc: str) -> None:
    """Files built on Ubuntu 22.04 were planned under glibc 2.17 as proved."""
    old = golden("linux-a100-healthy", host__glibc=glibc)
    found = session().candidates.flash_attn(old)
    assert found or glibc == "2.17"
    for choice in found:
        if choice.kind is ChoiceKind.COMMUNITY:
            assert "manylinux" in choice.url
            assert isinstance(choice.facts["flash_attn.binary.glibc"], Known)


def test_of_two_files_alike_the_one_that_promises_a_glibc_is_taken() -> None:
    found = [c for c in session().candidates.flash_attn(HEALTHY) if c.kind is ChoiceKind.COMMUNITY]
    newest = [choice for choice in found if choice.version == found[0].version]
    assert all("manylinux" in choice.url for choice in newest)


def test_a_release_with_a_blank_requirement_is_not_proposed() -> None:
    """A blank torch was taken for "any torch": the plan moved it."""
    tables = session().matrix.tables
    table = tables["xformers-releases"]
    blank = tuple({k: v for k, v in row.items() if k != "torch"} for row in table.rows)
    poorer = {**tables, table.table: msgspec.structs.replace(table, rows=blank)}
    assert session().candidates.releases("xformers", HEALTHY)
    assert Candidates(Matrix(poorer)).releases("xformers", HEALTHY) == ()


def test_releases_ask_for_this_torch() -> None:
    found = session().candidates.releases("xformers", HEALTHY)
    assert {choice.version for choice in found} >= {"0.0.32.post2"}
    assert "0.0.29.post3" not in {choice.version for choice in found}


@pytest.mark.parametrize(
    ("requirement", "version", "package"),
    [
        ("bitsandbytes>=0.50", "0.50", "bitsandbytes"),
        ("tokenizers>=0.21,<0.22", "0.21", "tokenizers"),
        ("transformers<4.52", "", "transformers"),
        ("huggingface-hub", "", "huggingface-hub"),
        ("flash-attn==2.8.3", "2.8.3", "flash_attn"),
    ],
)
def test_offers_of_rules_are_judged_at_the_lowest_version(
    requirement: str, version: str, package: str
) -> None:
    choice = offer(requirement)
    assert choice is not None
    assert (choice.version, choice.package) == (version, package)


@pytest.mark.parametrize("text", ["--index-url=http://x", "a; b", "git+https://x", "", "/a/b"])
def test_what_is_no_requirement_is_not_offered(text: str) -> None:
    assert offer(text) is None


def test_frameworks_are_never_removed() -> None:
    made = problem(HEALTHY)
    for package in made.packages:
        kinds = {choice.kind for choice in made.domain(package, HEALTHY)}
        if package in ("torch", "transformers", "vllm", "unsloth"):
            assert ChoiceKind.REMOVE not in kinds


def test_the_tables_of_what_goes_with_a_torch_agree() -> None:
    """One table is asked by a rule, two by the planner; each was read from the same metadata."""
    tables, compared = session().matrix.tables, 0
    for row in tables["torch-companions"].rows:
        for package in BESIDE_TORCH:
            listed = {
                version: str(each["torch"])
                for each in tables[f"{package}-releases"].rows
                for version in cell_words(each["version"])
            }
            # The planner knows no release of before torch 1.13.
            if (version := str(row[package])) in listed:
                assert accepts(listed[version], str(row["torch"])), (row, package)
                compared += 1
    assert compared >= 50


def test_where_no_metadata_was_read_the_table_says_which_triton_torch_requires() -> None:
    candidates = session().candidates
    unread = golden("linux-a100-healthy", torch__requires=None)
    told = msgspec.structs.replace(unread, facts={**unread.facts, "torch.requires": Absent("text")})
    assert [choice.version for choice in candidates.triton(told)] == ["3.4.0"]
    without_cuda = {**told.facts, "torch.cuda": Absent("a build for the CPU")}
    assert not candidates.triton(msgspec.structs.replace(told, facts=without_cuda))


@pytest.mark.parametrize(
    ("cuda", "first"), [("12.1", "2.6.0"), ("13.0", "2.6.0+cu126"), ("11.8", "2.6.0+cu118")]
)
def test_of_the_builds_of_one_release_the_nearest_cuda_comes_first(cuda: str, first: str) -> None:
    """The oldest CUDA came, whatever was there. PyPI's 2.6.0 is the one for 12.4."""
    found = session().candidates.torch(
        golden("linux-a100-healthy", torch__version="2.6.0", torch__cuda=cuda)
    )
    assert found[0].version == first


@pytest.mark.parametrize(("capability", "is_there"), [("12.0", False), ("8.9", True)])
def test_a_build_of_which_nobody_knows_whether_it_runs_is_no_candidate(
    capability: str,
    is_there: bool,  # noqa: FBT001
) -> None:
    changes = {
        "host__platform": "win_amd64",
        "torch__version": "2.6.0+cu124",
        "gpu[0].compute_capability": capability,
    }
    found = session().candidates.torch(golden("linux-a100-healthy", **changes))
    assert ("2.6.0+cu118" in {choice.version for choice in found}) is is_there


@pytest.mark.parametrize(("version", "is_other"), [("0.21.0+cu126", True), ("0.21.0+cu124", False)])
def test_a_label_tells_the_other_form_of_strings(
    version: str,
    is_other: bool,  # noqa: FBT001
) -> None:
    changes = {
        "torch__version": "2.6.0",
        "torch__build": "pypi",
        "torch__cuda": "12.4",
        "torch__cxx11_abi": False,
        "torchvision__version": version,
        "torchvision__requires": {"torch": "==2.6.0"},
    }
    listed = session().candidates.listed
    assert listed.has_other_abi("torchvision", golden("linux-a100-healthy", **changes)) is is_other


def test_a_triton_without_a_file_for_the_python_is_no_candidate() -> None:
    requires = {"triton": "==3.1.0"}
    candidates = session().candidates
    found = [
        candidates.triton(
            golden("linux-a100-healthy", python__version=each, torch__requires=requires)
        )
        for each in ("3.12.1", "3.13.1")
    ]
    assert [[choice.version for choice in each] for each in found] == [["3.1.0"], []]
