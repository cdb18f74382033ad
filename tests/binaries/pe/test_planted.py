"""Environments of Windows with one fault each, and healthy ones: told, and silent."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from fadoctor.model.fact import Absent, Known, Unknown
from fadoctor.model.verdict import Predicted
from tests.binaries.pe.machine import (
    BASE,
    EMPTY,
    LIB,
    OLD_SET_DEVICE,
    SET_DEVICE,
    SITE,
    SYSTEM,
    VENV,
    WindowsMachine,
)
from tests.unit.binary.pe_builder import ARM64, X86, Wanted, library

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    Plant = Callable[[WindowsMachine], object]

_FLASH: dict[str, list[str | int]] = {
    "c10_cuda.dll": [SET_DEVICE],
    "torch_cpu.dll": [EMPTY],
    "torch_python.dll": ["?THP@@YAXXZ"],
    "cudart64_12.dll": ["cudaMalloc"],
    "python311.dll": ["PyList_New"],
    "KERNEL32.dll": ["Sleep"],
    "MSVCP140.dll": ["x"],
}
_FILE = f"{SITE}/flash_attn_2_cuda.cp311-win_amd64.pyd"


def _want(**changes: list[str | int] | None) -> dict[str, list[str | int]]:
    """Return what a healthy extension wants, changed: ``cudart64_12=None`` leaves one out."""
    wanted = dict(_FLASH) | {f"{k}.dll": v for k, v in changes.items() if v is not None}
    return {k: v for k, v in wanted.items() if changes.get(k.removesuffix(".dll"), v) is not None}


def _louder(name: str) -> str:
    return name.upper().replace(".DLL", ".dll")


def _bitsandbytes(
    machine: WindowsMachine, wanted: dict[str, list[str | int]], init: bytes = b""
) -> None:
    machine.package("bitsandbytes", "0.48.2")
    machine.write(f"{SITE}/bitsandbytes/__init__.py", init)
    machine.dll(f"{SITE}/bitsandbytes/libbitsandbytes_cuda128.dll", wanted)


def _cut(machine: WindowsMachine) -> None:
    """Cut a library of more than the smallest size off within its section."""
    data = library({"c10_cuda.dll": [f"?f{n}@c10@@YAXXZ" for n in range(400)]})
    machine.flash(_FLASH).write(_FILE, data[: len(data) // 2])
    assert len(data) // 2 > 4096


FAULTS: dict[str, tuple[str, str, Plant]] = {
    # name: (rule, part of its message, plant)
    "built for torch 2.7": (
        "abi-undefined-symbol", OLD_SET_DEVICE, lambda m: m.flash(_want(c10_cuda=[OLD_SET_DEVICE])),
    ),
    "built for a newer torch": (
        "abi-undefined-symbol", "?gone@at@@YAXXZ",
        lambda m: m.flash(_want(torch_cpu=[EMPTY, "?gone@at@@YAXXZ"])),
    ),
    "the stable interface of a newer torch": (
        "abi-undefined-symbol", "aoti_torch_later",
        lambda m: m.flash(_want(torch_cpu=["aoti_torch_later"])),
    ),
    "another Python": (
        "extension-other-python", "python310.dll",
        lambda m: m.flash(_want(python311=None, python310=["x"]), "flash_attn_2_cuda.pyd"),
    ),
    "a free-threaded Python": (
        "extension-other-python", "python311t.dll",
        lambda m: m.flash(_want(python311=None, python311t=["x"]), "flash_attn_2_cuda.pyd"),
    ),
    "a function that this Python lacks": (
        "extension-library-missing", "PyList_Newer",
        lambda m: m.flash(_want(python311=["PyList_Newer"])),
    ),
    "32 bits": ("extension-other-machine", "x86", lambda m: m.flash(_FLASH, machine=X86)),
    "for Arm": ("extension-other-machine", "arm64", lambda m: m.flash(_FLASH, machine=ARM64)),
    "cut off": ("extension-damaged", "flash_attn_2_cuda", _cut),
    "a page of a proxy": (
        "extension-damaged", "flash_attn_2_cuda",
        lambda m: m.flash(_FLASH).write(_FILE, b"<html>".ljust(5000)),
    ),
    "no Visual C++ runtime": (
        "windows-dll-load", "MSVCP140.dll", lambda m: m.remove(f"{SYSTEM}/msvcp140.dll"),
    ),
    "an old Visual C++ runtime": (
        "windows-dll-load", "MSVCP140_ATOMIC_WAIT.dll",
        lambda m: m.dll(
            f"{LIB}/torch_python.dll", {"MSVCP140_ATOMIC_WAIT.dll": ["x"]}, ("initModule",)
        ),
    ),
    "OpenMP of Visual Studio": (
        "windows-dll-load", "libomp140.x86_64.dll",
        lambda m: m.dll(f"{LIB}/fbgemm.dll", {"libomp140.x86_64.dll": ["x"]}),
    ),
    "the runtime of another CUDA": (
        "windows-dll-load", "cudart64_13.dll",
        lambda m: m.flash(_want(cudart64_12=None, cudart64_13=["cudaMalloc"])),
    ),
    "the runtime of CUDA 11": (
        "windows-dll-load", "cudart64_110.dll",
        lambda m: m.flash(_want(cudart64_12=None, cudart64_110=["cudaMalloc"])),
    ),
    "zlibwapi": (
        "windows-dll-load", "zlibwapi.dll",
        lambda m: m.dll(f"{LIB}/cudnn_cnn_infer64_8.dll", {"zlibwapi.dll": ["x"]}),
    ),
    "cuDNN of another version": (
        "windows-dll-load", "cudnn64_8.dll", lambda m: m.flash(_want(cudnn64_8=["x"])),
    ),
    "a library of torch was deleted": (
        "windows-dll-load", "c10.dll", lambda m: m.remove(f"{LIB}/c10.dll"),
    ),
    "bitsandbytes for another CUDA": (
        "windows-dll-load", "cublas64_13.dll",
        lambda m: _bitsandbytes(m, {"cublas64_13.dll": ["x"]}),
    ),
    "found on PATH, which Python does not search": (
        "windows-dll-load", "extra.dll",
        lambda m: m.on_path("C:\\extra").dll("C:/extra/extra.dll").flash(_want(extra=["x"])),
    ),
}  # fmt: skip
_TOOLKIT = "C:/Program Files/NVIDIA GPU Computing Toolkit/CUDA/v12.8/bin"

HEALTHY: dict[str, Plant] = {
    "torch alone": lambda _: None,
    "flash-attn": lambda m: m.flash(_FLASH),
    "names in other letters": lambda m: m.flash({_louder(k): v for k, v in _FLASH.items()}),
    "by number": lambda m: m.flash(_FLASH | {"WS2_32.dll": [115, 116]}),
    "delayed": lambda m: m.flash(Wanted(_FLASH, {"nowhere.dll": ["x"]})),
    "no import of Python at all": lambda m: m.flash(_want(python311=None)),
    "the stable ABI of Python": lambda m: m.flash(
        _want(python311=None, python3=["PyList_New"]), "flash_attn_2_cuda.pyd"
    ),
    "a library beside the extension": lambda m: m.flash(_want(own=["help"])).dll(
        f"{SITE}/own.dll", {}, ("help",)
    ),
    "a library beside Python": lambda m: m.flash(_want(own=["help"])).dll(
        f"{BASE}/own.dll", {}, ("help",)
    ),
    "no driver": lambda m: m.remove(f"{SYSTEM}/nvcuda.dll").flash(_want(nvcuda=["cuInit"])),
    "torch's own libraries on PATH": lambda m: (
        m.on_path("C:\\omp")
        .dll("C:/omp/libomp140.x86_64.dll", {}, ("x",))
        .dll(f"{LIB}/fbgemm.dll", {"libomp140.x86_64.dll": ["x"]})
    ),
    "an interface of Windows": lambda m: m.flash(
        _FLASH | {"ext-ms-win-ntuser-window-l1-1-0.dll": ["x"], "api-ms-win-core-a-l1.dll": ["y"]}
    ),
    "bitsandbytes": lambda m: _bitsandbytes(m, {"cublas64_12.dll": ["cublasCreate_v2"]}),
    "a package that adds folders": lambda m: _bitsandbytes(
        m, {"cublas64_13.dll": ["x"]}, b"import os\nos.add_dll_directory('C:/cuda')\n"
    ),
    "conda's folders": lambda m: m.remove(f"{SYSTEM}/msvcp140.dll").write(
        f"{VENV}/conda-meta/history"
    ),
    "a .pth file that adds folders": lambda m: m.flash(_want(cufft64_11=["x"])).write(
        f"{SITE}/cuda.pth", b"import os; os.add_dll_directory('C:/cuda')\n"
    ),
    "System32 cannot be seen": lambda m: m.remove(f"{SYSTEM}/*"),
    "the base Python cannot be seen": lambda m: m.write(
        f"{VENV}/pyvenv.cfg", b"home = C:\\gone\nversion = 3.11.9\n"
    ),
    "a folder of CUDA that torch adds": lambda m: m.remove(f"{LIB}/c*64_12.dll").dll(
        f"{_TOOLKIT}/cudart64_12.dll", {}, ("cudaMalloc",)
    ),
    "symbols of Windows are not looked at": lambda m: m.flash(_want(KERNEL32=["NewInWindows12"])),
}
_RULES = ("windows-", "abi-", "extension-", "libcudart-", "torch-library", "wheel-python")


@pytest.mark.parametrize("name", FAULTS)
def test_a_planted_fault_is_told(tmp_path: Path, name: str) -> None:
    rule, part, plant = FAULTS[name]
    machine = WindowsMachine(tmp_path)
    plant(machine)
    found = {each.rule_id: each for each in machine.diagnosed().findings}
    assert rule in found, sorted(found)
    assert part in found[rule].message
    assert found[rule].fixes


@pytest.mark.parametrize("name", HEALTHY)
def test_a_healthy_one_is_silent(tmp_path: Path, name: str) -> None:
    machine = WindowsMachine(tmp_path)
    HEALTHY[name](machine)
    report = machine.diagnosed()
    assert [f.message for f in report.findings if f.rule_id.startswith(_RULES)] == []
    assert report.rule_errors == ()


def test_there_are_twenty_of_each() -> None:
    assert (len(FAULTS), len(HEALTHY)) == (20, 20)


def test_what_loads_is_known_to_load(tmp_path: Path) -> None:
    machine = WindowsMachine(tmp_path)
    machine.flash(_FLASH)
    facts = machine.facts()
    for name in ("torch.loads", "flash_attn.loads"):
        fact = facts.fact(name)
        assert isinstance(fact, Known)
        assert fact.value is True
    assert isinstance(facts.fact("flash_attn.binary.failure"), Absent)
    major = facts.fact("flash_attn.binary.cuda_major")
    assert isinstance(major, Known)
    assert major.value == "12"


def test_a_missing_library_is_for_windows_to_prove(tmp_path: Path) -> None:
    machine = WindowsMachine(tmp_path)
    machine.flash(_want(cudart64_12=None, cudart64_13=["cudaMalloc"]))
    report = machine.diagnosed()
    assert isinstance(report.environment["flash_attn.loads"], Unknown)
    assert isinstance(report.environment["flash_attn.binary.failure"], Unknown)
    cells = {v.predicted for v in report.verdicts if v.backend.value == "fa2"}
    assert Predicted.WORKS not in cells


def test_a_missing_symbol_is_proved(tmp_path: Path) -> None:
    machine = WindowsMachine(tmp_path)
    machine.flash(_want(c10_cuda=[OLD_SET_DEVICE]))
    loads = machine.facts().fact("flash_attn.loads")
    assert isinstance(loads, Known)
    assert loads.value is False
