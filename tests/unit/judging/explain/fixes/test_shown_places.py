"""What a log shows to be on the machine: toolkits, libcuda, Pythons and images."""

from __future__ import annotations

import pytest

from fadoctor.judging.explain.fixes.shown_places import names_arm, shown_abi, shown_places
from fadoctor.model.fact import Absent, Known

LIBCUDA = "\tlibcuda.so.1 (libc6,x86-64) => /lib64/libcuda.so.1"


def shown(name: str, *lines: str, cuda: str = "") -> str:
    found = shown_places(lines, cuda)[name]
    assert isinstance(found, (Known, Absent))
    return str(found.value) if isinstance(found, Known) else ""


@pytest.mark.parametrize(
    ("lines", "cuda", "folder"),
    [
        (("/usr/local/cuda  /usr/local/cuda-12.4  /usr/local/cuda-13.0",), "12.4", "-12.4"),
        (("/usr/local/cuda-12.6 and /usr/local/cuda-11.8",), "12.4", "-12.6"),
        (("$ ls /usr/local: bin cuda-12.1 lib",), "", "-12.1"),
        (("/usr/local/cuda-12.6", "/usr/local/cuda-11.8"), "", ""),
        (("/usr/local/cuda-12.6", "/usr/local/cuda-12.8"), "12.4", ""),
        (("/usr/local/cuda-11.8",), "12.4", ""),
        (("No such file or directory: '/usr/local/cuda-12.4/bin/nvcc'",), "12.4", ""),
        (("/usr/local/cuda-12.4/compat on LD_LIBRARY_PATH",), "", "-12.4"),
    ],
)
def test_the_toolkit_of_torch_is_chosen(lines: tuple[str, ...], cuda: str, folder: str) -> None:
    assert shown("log.toolkit", *lines, cuda=cuda) == (folder and f"/usr/local/cuda{folder}")


@pytest.mark.parametrize(
    ("name", "lines", "found"),
    [
        ("log.toolkit", ("$ which nvcc", "/opt/cuda/bin/nvcc"), "/opt/cuda"),
        ("log.toolkit", ("$ which nvcc", "/usr/bin/nvcc"), ""),
        ("log.toolkit", (r"dir C:\NVIDIA\CUDA\v12.8",), r"C:\NVIDIA\CUDA\v12.8"),
        ("log.libcuda", (LIBCUDA,), "/lib64/libcuda.so.1"),
        ("log.libcuda", ("/usr/local/cuda-12.9/compat/libcuda.so.1",), ""),
        ("log.python", ("$ which python", "/srv/e/bin/python"), "/srv/e/bin/python"),
        ("log.python", ("/srv/e/bin/python", "/srv/f/bin/python"), ""),
        ("log.python", (r"Python executable: D:\a b\python.exe",), r'"D:\a b\python.exe"'),
        (
            "log.devel_image",
            ("FROM nvidia/cuda:12.1.1-cudnn8-runtime-ubuntu22.04",),
            "nvidia/cuda:12.1.1-cudnn8-devel-ubuntu22.04",
        ),
        (
            "log.devel_image",
            ("docker run pytorch/pytorch:2.6.0-cuda12.4-cudnn9-runtime",),
            "pytorch/pytorch:2.6.0-cuda12.4-cudnn9-devel",
        ),
        ("log.devel_image", ("FROM nvidia/cuda:12.1.1-devel-ubuntu22.04",), ""),
    ],
)
def test_what_is_shown_is_found(name: str, lines: tuple[str, ...], found: str) -> None:
    assert shown(name, *lines) == found


@pytest.mark.parametrize(
    ("symbol", "is_new"),
    [
        ("_ZN3c105ErrorC2ENS_14SourceLocationESs", True),
        ("_ZN3c106detail14torchCheckFailEPKcS2_jRKSs", True),
        ("_ZN3c105ErrorC2ENS_14SourceLocationENSt7__cxx1112basic_stringIcSt11char_traits", False),
        ("_ZN3c104cuda9SetDeviceEi", None),
        ("PyUnicode_AsUTF8", None),
    ],
)
def test_the_symbol_that_torch_lacks_shows_its_abi(symbol: str, *, is_new: bool | None) -> None:
    assert shown_abi([f"ImportError: a.so: undefined symbol: {symbol}"]) is is_new


def test_a_file_for_arm_does_not_make_the_machine_one() -> None:
    assert names_arm(["uname -m: aarch64"])
    assert names_arm(["on our GH200"])
    assert not names_arm(["flash_attn-2.8.3+cu128torch2.9-cp312-cp312-linux_aarch64.whl"])
