"""Which wheels there are for a torch, a Python and a machine."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from fadoctor.knowledge.matrix.versions import parse_version
from fadoctor.knowledge.matrix.wheels import WheelRequest
from fadoctor.model.fact import Absent, Known, Unknown

if TYPE_CHECKING:
    from fadoctor.knowledge.matrix.wheels import WheelFile, Wheels

PYPI_26 = WheelRequest("2.6", "12.4", "cp312", "linux_x86_64", cxx11_abi=False)
PYPI_28 = WheelRequest("2.8", "12.8", "cp312", "linux_x86_64", cxx11_abi=True)
CU130_29 = WheelRequest("2.9", "13.0", "cp312", "linux_x86_64", cxx11_abi=True)


def official(files: tuple[WheelFile, ...]) -> list[str]:
    return [file.name for file in files if file.source == "official"]


def test_an_official_file(wheels: Wheels) -> None:
    [file] = [f for f in wheels.official() if f.name == _28("2.8.3", "TRUE")]
    base = "https://github.com/Dao-AILab/flash-attention/releases/download/v2.8.3/"
    assert file.url == base + file.name.replace("+", "%2B")
    assert (file.version, file.release, file.torch, file.cuda) == ("2.8.3", "2.8.3", "2.8", "cu12")
    assert (file.label_abi, file.python, file.platform) == (True, "cp312", "linux_x86_64")
    assert isinstance(file.sm, Known)
    assert file.sm.value == ("8.0", "9.0", "10.0", "12.0")
    assert (file.evidence, file.verified, file.cuda_major) == ("listed", True, "12")


def _28(version: str, abi: str) -> str:
    return f"flash_attn-{version}+cu12torch2.8cxx11abi{abi}-cp312-cp312-linux_x86_64.whl"


def test_a_file_that_is_named_after_another_version_than_its_page(wheels: Wheels) -> None:
    [file] = [f for f in wheels.official() if f.release == "2.8.3.post1" and f.cuda == "cu13"]
    assert file.version == "2.8.3"
    assert "/v2.8.3.post1/flash_attn-2.8.3%2Bcu13torch2.9cxx11abiTRUE-cp312-" in file.url


def test_files_of_python_3_7_carry_its_abi_tag(wheels: Wheels) -> None:
    files = [f for f in wheels.official() if f.python == "cp37m"]
    assert files
    assert all("-cp37-cp37m-" in file.name for file in files)


def test_newest_first_and_official_before_community(wheels: Wheels) -> None:
    files = wheels.fitting(PYPI_28)
    versions = [parse_version(file.version) for file in files]
    assert versions == sorted(versions, reverse=True)  # type: ignore[type-var]  # all are versions
    assert official(files)[:3] == [
        _28("2.8.3.post1", "TRUE"),
        _28("2.8.3.post1", "FALSE"),  # the same code: its label lies
        _28("2.8.3", "TRUE"),
    ]
    first = next(file for file in files if file.source == "community")
    assert (first.version, first.cuda) == ("2.8.3", "cu128")
    assert {file.cuda_major for file in files} == {"12"}


def test_the_mislabelled_files_are_not_offered_to_the_old_abi(wheels: Wheels) -> None:
    files = wheels.fitting(PYPI_26)
    assert official(files)[0].startswith("flash_attn-2.7.4.post1+cu12torch2.6cxx11abiFALSE-")
    assert {f.cuda for f in files if f.source == "community"} == {"cu124"}
    new = wheels.fitting(WheelRequest("2.6", "12.6", "cp312", "linux_x86_64", cxx11_abi=True))
    assert official(new)[0].startswith("flash_attn-2.8.3.post1+cu12torch2.6cxx11abiTRUE-")
    assert {f.cuda for f in new if f.source == "community"} == {"cu126", "cu128", "cu129"}


def test_files_that_may_be_missing_are_not_offered(wheels: Wheels) -> None:
    asked = WheelRequest("2.5", "12.4", "cp311", "linux_x86_64", cxx11_abi=False)
    assert {"2.7.4.post1", "2.7.3"} <= {file.version for file in wheels.fitting(asked)}
    assert "2.7.4" not in [f.version for f in wheels.fitting(asked) if f.source == "official"]
    assert "2.7.1" not in [f.version for f in wheels.fitting(asked)]


@pytest.mark.parametrize("torch", ["2.11", "2.13"])
def test_newer_torch_has_community_files_only(wheels: Wheels, torch: str) -> None:
    files = wheels.fitting(WheelRequest(torch, "13.0", "cp312", "linux_x86_64", cxx11_abi=True))
    assert official(files) == []
    assert files[0].version == "2.8.3"


@pytest.mark.parametrize(
    "asked",
    [
        WheelRequest("2.14", "13.0", "cp312", "linux_x86_64", cxx11_abi=True),
        WheelRequest("2.8", "13.0", "cp312", "linux_x86_64", cxx11_abi=True),
        WheelRequest("2.8", "12.8", "cp315", "linux_x86_64", cxx11_abi=True),
        WheelRequest("2.8", "12.8", "cp312", "macosx_14_0_arm64", cxx11_abi=True),
        WheelRequest(
            "2.8", "12.8", "cp312", "linux_x86_64", cxx11_abi=True, package="flash-attn-4"
        ),
    ],
)
def test_nothing_fits(wheels: Wheels, asked: WheelRequest) -> None:
    assert wheels.fitting(asked) == ()


def test_a_file_that_stands_on_several_pages_comes_from_the_newest(wheels: Wheels) -> None:
    files = wheels.fitting(PYPI_28)
    assert len({file.name for file in files}) == len(files)
    pages = [f.release for f in wheels.community() if f.name == files[-1].name]
    newest = max(pages, key=parse_version)  # type: ignore[arg-type]  # all are versions
    assert files[-1].release == newest
    assert len(pages) > 1


def test_free_threaded_python_and_the_limited_api(wheels: Wheels) -> None:
    threaded = WheelRequest("2.9", "12.8", "cp314t", "linux_x86_64", cxx11_abi=True)
    assert {file.python for file in wheels.fitting(threaded)} == {"cp314t"}
    fa3 = WheelRequest(
        "2.9", "12.8", "cp314", "linux_x86_64", cxx11_abi=True, package="flash-attn-3"
    )
    assert {file.python for file in wheels.fitting(fa3)} == {"cp39-abi3"}
    threaded_fa3 = WheelRequest(
        "2.9", "12.8", "cp314t", "linux_x86_64", True, package="flash-attn-3"
    )
    assert wheels.fitting(threaded_fa3) == ()


def test_community_files_say_what_is_known_of_them(wheels: Wheels) -> None:
    files = [f for f in wheels.fitting(PYPI_28) if f.source == "community"]
    code = {f.cuda: f.sm.value for f in files if f.version == "2.8.3" and isinstance(f.sm, Known)}
    assert code["cu124"] == ("8.0", "9.0")  # nvcc 12.4 makes no code for Blackwell
    assert code["cu128"] == ("8.0", "9.0", "10.0", "12.0")
    many = {
        f.name.partition("manylinux_")[2][:4]: f.glibc_enough for f in files if "many" in f.name
    }
    assert isinstance(many["2_24"], Known)
    assert many["2_24"].value == "2.24"
    assert all(isinstance(f.glibc_enough, Unknown) for f in files if "many" not in f.name)


def test_windows_has_one_abi(wheels: Wheels) -> None:
    files = wheels.fitting(WheelRequest("2.8", "12.8", "cp312", "win_amd64", cxx11_abi=True))
    assert files
    assert all(isinstance(file.real_abi, Absent) for file in files)


@pytest.mark.parametrize(
    ("version", "asked", "name", "answer"),
    [
        # setup.py up to 2.8.3 asks for the CUDA 12 file under a CUDA 13 torch, and here gets it
        ("2.8.3", CU130_29, "cu12torch2.9cxx11abiTRUE-cp312-cp312-linux_x86_64.whl", "there"),
        ("2.8.3.post1", CU130_29,
         "cu13torch2.9cxx11abiTRUE-cp312-cp312-linux_x86_64.whl", "missing"),
        ("2.7.4.post1", PYPI_26, "cu12torch2.6cxx11abiFALSE-cp312-cp312-linux_x86_64.whl", "there"),
        ("2.8.3", PYPI_26, "cu12torch2.6cxx11abiFALSE-cp312-cp312-linux_x86_64.whl", "there"),
        ("2.0.6", WheelRequest("2.0", "11.8", "cp310", "linux_x86_64", cxx11_abi=False),
         "cu118torch2.0cxx11abiFALSE-cp310-cp310-linux_x86_64.whl", "there"),
        ("2.0.6", WheelRequest("2.0", "11.8", "cp312", "linux_x86_64", cxx11_abi=False),
         "cu118torch2.0cxx11abiFALSE-cp312-cp312-linux_x86_64.whl", "missing"),
        ("2.0.6", WheelRequest("1.13", "11.7", "cp37m", "linux_x86_64", cxx11_abi=False),
         "cu117torch1.13cxx11abiFALSE-cp37-cp37-linux_x86_64.whl", "missing"),
        ("2.8.3", WheelRequest("2.8", "12.8", "cp313t", "linux_x86_64", cxx11_abi=True),
         "cu12torch2.8cxx11abiTRUE-cp313-cp313-linux_x86_64.whl", "there"),
    ],
)  # fmt: skip
def test_what_setup_py_downloads(
    wheels: Wheels, version: str, asked: WheelRequest, name: str, answer: str
) -> None:
    found = wheels.asked_for(version, asked)
    assert found.name == f"flash_attn-{version}+{name}"
    assert ("missing" if found.file is None else "there") == answer
    if found.file is not None:
        assert (found.file.name, found.file.release) == (found.name, version)


def test_old_versions_ask_for_nothing(wheels: Wheels) -> None:
    asked = WheelRequest("2.0", "11.7", "cp310", "linux_x86_64", cxx11_abi=False)
    assert (wheels.asked_for("2.0.5", asked).name, wheels.asked_for("2.0.5", asked).file) == (
        "",
        None,
    )


def test_every_published_file_can_be_asked_for_but_those_uploaded_later(wheels: Wheels) -> None:
    """setup.py finds each file, given a torch of that minor, ABI and some CUDA of that label."""
    lost = set()
    for file in {(f.release, f.torch, f.cuda): f for f in wheels.official() if f.verified}.values():
        cudas = ("11.6", "11.7", "11.8", "12.1", "12.2", "12.3", "12.8", "13.0")
        abi, python = file.label_abi is True, file.python
        asked = [WheelRequest(file.torch, cuda, python, file.platform, abi) for cuda in cudas]
        answers = (wheels.asked_for(file.release, each).file for each in asked)
        if not any(answer is not None and answer.url == file.url for answer in answers):
            lost.add((file.release, file.torch, file.cuda))
    assert lost == {
        ("2.8.1", "2.9", "cu13"),
        ("2.8.3", "2.9", "cu13"),
        ("2.8.3", "2.10", "cu13"),
        ("2.8.3.post1", "2.9", "cu13"),
    }
