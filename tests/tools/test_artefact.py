"""What binaries and metadata say."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from packaging.utils import parse_wheel_filename
from packaging.version import Version

from tests.tools.tiny_index import NEW_STRING, OLD_STRING, metadata, packed, strings
from tools.refresh import artefact
from tools.refresh.artefact import (
    arch_flags,
    build_capability,
    capability,
    cxx11_abi,
    environment,
    glibc,
    json_member,
    per_machine,
    pythons,
    requirement,
    scan,
    tag_glibc,
    torch_cuda,
)
from tools.refresh.errors import WheelError
from tools.refresh.index import File, Release
from tools.refresh.wheel import Wheel

if TYPE_CHECKING:
    from tests.tools.tiny_index import TinyIndex

STRINGS = artefact._STRINGS


def file(tags: str, version: str = "1.0") -> File:
    name = f"torch-{version}-{tags}.whl"
    return File(name, f"https://x.test/{name}", Version(version), parse_wheel_filename(name)[3])


def opened(index: TinyIndex, members: dict[str, bytes]) -> Wheel:
    path = f"/{len(index.files)}.whl"
    index.files[path] = packed(members)
    return Wheel(index.transport(), f"{index.origin}{path}")


def test_strings_are_found_wherever_the_stream_is_cut() -> None:
    body = strings("GLIBC_2.17", "sm_75 sm_80 compute_90", "GLIBC_2.2.5", "sm_90", "GLIBC_PRIVATE")
    expected = {"GLIBC_2.17", "sm_75 sm_80 compute_90", "GLIBC_2.2.5"}
    assert scan([body], STRINGS) == expected
    for cut in range(4995, len(body)):
        assert scan([body[:cut], body[cut:]], STRINGS) == expected


def test_a_list_behind_the_bytes_of_another_constant_is_found() -> None:
    """As in torch 2.9.1: no zero stands before it."""
    body = (
        b"std::string ipc_hsm_70 sm_75 sm_120\0 and compute_90 sm_90\0x_sm_75 sm_80\0hGLIBC_2.9\0"
    )
    assert scan([body], STRINGS) == {"sm_70 sm_75 sm_120"}


def test_the_end_of_a_list_is_no_list_where_a_stream_is_cut() -> None:
    text = b"\0" + b" ".join(b"sm_%d" % number for number in range(10, 40)) + b"\0"
    for cut in range(4096 - len(text), 4096 + 1):
        body = text + b"\0" * cut
        assert len(scan([body, b"\0" * 10], STRINGS)) == 1


def test_more_strings_than_a_library_has() -> None:
    body = strings(*(f"GLIBC_2.{number}" for number in range(999)), "GLIBC_3.1", "GLIBC_3.2")
    with pytest.raises(WheelError, match="more strings"):
        scan([body], STRINGS)


def test_the_string_of_the_constructor(index: TinyIndex) -> None:
    name = "torch/lib/libc10.so"
    assert cxx11_abi(opened(index, {name: strings(OLD_STRING)})) == "false"
    assert cxx11_abi(opened(index, {name: strings(NEW_STRING)})) == "true"
    with pytest.raises(WheelError, match="one form"):
        cxx11_abi(opened(index, {name: strings(OLD_STRING, NEW_STRING)}))


@pytest.mark.parametrize(
    ("text", "cuda"),
    [
        ("__version__ = '1'\ncuda: Optional[str] = '13.0'\nhip = None", "13.0"),
        ("cuda = '11.7'\n", "11.7"),
        ("cuda: Optional[str] = None\n", None),
    ],
)
def test_the_cuda_of_a_build(index: TinyIndex, text: str, cuda: str | None) -> None:
    assert torch_cuda(opened(index, {"torch/version.py": text.encode()})) == cuda


def test_a_version_file_that_says_nothing(index: TinyIndex) -> None:
    with pytest.raises(WheelError, match="CUDA"):
        torch_cuda(opened(index, {"torch/version.py": b"cuda = __import__('os')"}))


def test_platform_tags() -> None:
    assert tag_glibc(file("cp311-cp311-manylinux_2_28_x86_64"), "x86_64") == "2.28"
    assert tag_glibc(file("cp311-cp311-manylinux2014_x86_64"), "x86_64") == "2.17"
    both = "cp311-cp311-manylinux_2_27_x86_64.manylinux_2_9_x86_64"
    assert tag_glibc(file(both), "x86_64") == "2.9"
    assert tag_glibc(file("cp311-cp311-linux_x86_64"), "x86_64") is None


def test_the_greater_of_tag_and_symbols_counts() -> None:
    old = file("cp311-cp311-manylinux1_x86_64")
    found = glibc(old, "x86_64", {"GLIBC_2.17", "GLIBC_2.2.5", "sm_70 sm_80"})
    assert (found.text, "symbol" in found.source) == ("2.17", True)
    found = glibc(file("cp311-cp311-manylinux_2_28_x86_64"), "x86_64", {"GLIBC_2.17"})
    assert (found.text, found.source.startswith("tag of")) == ("2.28", True)


def test_pythons_and_the_wheel_that_is_read() -> None:
    tags = ["cp39-cp39", "cp310-cp310", "cp313-cp313t", "cp313-cp313", "cp314-cp314t"]
    files = [file(f"{tag}-manylinux_2_28_x86_64") for tag in tags]
    files += [file("cp39-cp39-win_amd64"), file("xx-none-manylinux_2_28_aarch64")]
    release = Release("torch", Version("1.0"), files)
    assert pythons(release, "x86_64") == ["3.9", "3.10", "3.13", "3.13t", "3.14t"]
    assert [(machine, chosen.name) for machine, chosen in per_machine(release)] == [
        ("x86_64", "torch-1.0-cp313-cp313-manylinux_2_28_x86_64.whl")
    ]
    assert environment(release, "x86_64")["python_version"] == "3.9"


def test_architectures() -> None:
    assert [capability(flag) for flag in ("sm_75", "sm_100", "sm_90a")] == ["7.5", "10.0", "9.0"]
    assert [build_capability(flag) for flag in ("9.0a", "8.0+PTX", "12.0")] == [
        "9.0",
        "8.0",
        "12.0",
    ]
    with pytest.raises(WheelError):
        build_capability("Volta")
    with pytest.raises(WheelError, match="2 lists"):
        arch_flags({"sm_70 sm_75", "sm_80 sm_90", "GLIBC_2.17"}, file("py3-none-any"))


def test_a_requirement_counts_where_its_marker_holds(index: TinyIndex) -> None:
    lines = (
        'triton==1.0; extra == "opt"',
        'triton==2.0; platform_machine == "x86_64"',
        'triton==3.0; platform_machine == "aarch64"',
        "not a requirement!",
    )
    index.files["/x.whl"] = packed({"a-1.dist-info/METADATA": metadata("a", "1", *lines)})
    wheel = File("x.whl", f"{index.origin}/x.whl", Version("1"))
    for machine, pin in (("x86_64", "==2.0"), ("aarch64", "==3.0"), ("riscv64", None)):
        found = requirement(
            index.open(), wheel, "triton", {"platform_machine": machine, "extra": ""}
        )
        assert found[0] == pin


@pytest.mark.parametrize("text", ["[]", '{"a": 1}', "{", "[" * 100_000])
def test_a_record_of_another_form(index: TinyIndex, text: str) -> None:
    with pytest.raises(WheelError):
        json_member(opened(index, {"x.json": text.encode()}), "x.json")
