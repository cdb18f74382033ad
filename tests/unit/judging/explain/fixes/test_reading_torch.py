"""Commands that read torch: what they install for each torch."""

from __future__ import annotations

import subprocess
import sys
from importlib import metadata
from types import ModuleType, SimpleNamespace
from typing import TYPE_CHECKING

import pytest

from fadoctor.judging.explain.fixes.reading_torch import (
    flash_steps,
    reading_command,
    release_steps,
    windows_flash_command,
    xformers_steps,
)

if TYPE_CHECKING:
    from fadoctor.model.rule import Knowledge

INDEX = "https://download.pytorch.org/whl"
BASE = "https://x.org/files/v2"
ROWS = [
    {"torch": ">=2.9", "cuda": "13", "url": f"{BASE}.6/a+cu130torch2.9-cp310-abi3-win_amd64.whl"},
    {"torch": ">=2.9", "cuda": "12", "url": f"{BASE}.6/a+cu128torch2.9-cp310-abi3-win_amd64.whl"},
    {
        "torch": ">=2.7,<2.9",
        "cuda": "12",
        "url": f"{BASE}.3/a+cu128torch2.7-cp39-abi3-win_amd64.whl",
    },
]


def _called(command: str, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    called: list[list[str]] = []
    monkeypatch.setattr(subprocess, "call", called.append)
    code = command.removeprefix('python -c "').removesuffix('"')
    assert not set('"{}$!') & set(code)
    exec(code, {})  # noqa: S102
    return called[0][3:]


@pytest.mark.parametrize(
    ("version", "cuda", "abi", "release"),
    [
        ("2.6.0+cu124", "12.4", False, "2.7.4.post1"),
        ("2.8.0", "12.8", True, "2.8.3.post1"),
        ("2.4.1+cu118", "11.8", False, "2.7.3"),
        ("2.0.1+cu118", "11.8", False, "2.6.3"),
    ],
)
def test_the_file_of_flash_attn(  # noqa: PLR0917
    knowledge: Knowledge,
    monkeypatch: pytest.MonkeyPatch,
    version: str,
    cuda: str,
    abi: bool,  # noqa: FBT001
    release: str,
) -> None:
    torch = ModuleType("torch")
    parts = {"version": SimpleNamespace(cuda=cuda)}
    parts["_C"] = SimpleNamespace(_GLIBCXX_USE_CXX11_ABI=abi)
    vars(torch).update(__version__=version, **parts)
    monkeypatch.setitem(sys.modules, "torch", torch)
    command = flash_steps(knowledge.tables, "", "", "pip install --no-deps")[0].text
    url = _called(command, monkeypatch)[-1]
    python, label = f"cp3{sys.version_info[1]}", "118" if release < "2.7" else cuda[:2]
    assert url == (
        f"https://github.com/Dao-AILab/flash-attention/releases/download/v{release}/flash_attn-"
        f"{release}%2Bcu{label}torch{version[:3]}cxx11abi{str(abi).upper()}-{python}-{python}"
        "-linux_x86_64.whl"
    )


def test_a_wheel_for_windows_is_chosen_by_torch_and_python(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    label = f"cp3{sys.version_info[1]}"
    row = {
        "package": "flash-attn",
        "platform": "win_amd64 linux_x86_64",
        "python": f"{label} cp39t",
    }
    rows = [
        row | {"tag": "v0.1.0", "version": "2.6.3 2.7.4", "cuda": "cu121 cu126", "torch": "2.6"},
        row | {"tag": "v0.2.0", "version": "2.7.4", "cuda": "cu124", "torch": "2.6"},
        row
        | {"tag": "v0.3.0", "version": "2.8.3", "cuda": "cu126", "torch": "2.6"}
        | {"platform": "x"},
    ]
    torch = ModuleType("torch")
    vars(torch).update(__version__="2.6.0+cu124", version=SimpleNamespace(cuda="12.4"))
    monkeypatch.setitem(sys.modules, "torch", torch)
    command = windows_flash_command(rows, "", "", "pip install --no-deps")
    assert _called(command, monkeypatch)[-1] == (
        "https://github.com/mjun0812/flash-attention-prebuild-wheels/releases/download/v0.1.0/"
        f"flash_attn-2.7.4%2Bcu126torch2.6-{label}-{label}-win_amd64.whl"
    )
    assert windows_flash_command(rows, "2.4", "", "pip install") == ""
    vars(torch).update(__version__="2.9.0+cu130", version=SimpleNamespace(cuda="13.0"))
    with pytest.raises(SystemExit, match=r"torch 2\.9\.0"):
        _called(command, monkeypatch)


def test_another_torch_stops_with_a_word(
    knowledge: Knowledge, monkeypatch: pytest.MonkeyPatch
) -> None:
    torch = ModuleType("torch")
    vars(torch).update(__version__="2.4.0a0+f70", version=SimpleNamespace(cuda="12.5"))
    monkeypatch.setitem(sys.modules, "torch", torch)
    command = flash_steps(knowledge.tables, "", "", "pip install")[0].text
    with pytest.raises(SystemExit, match=r"torch 2\.4\.0a0"):
        _called(command, monkeypatch)


@pytest.mark.parametrize(
    ("version", "words"),
    [
        ("2.5.1+cu124", ["xformers==0.0.28.post3", "--index-url"]),
        ("2.8.0", ["xformers==0.0.32.post2"]),
        ("2.1.2+cu118", ["xformers==0.0.23.post1", "--index-url", f"{INDEX}/cu118"]),
        ("2.0.1+cu118", ["xformers==0.0.22"]),
        ("2.4.1+cu121", ["xformers==0.0.28.post1", "--index-url", f"{INDEX}/cu124"]),
    ],
)
def test_the_xformers_of_a_torch(
    knowledge: Knowledge, monkeypatch: pytest.MonkeyPatch, version: str, words: list[str]
) -> None:
    monkeypatch.setattr(metadata, "version", lambda _: version)
    steps = xformers_steps(knowledge.tables, "", "win_amd64")
    called = _called(steps[0].text, monkeypatch)
    assert called[3 : 3 + len(words)] == words
    assert ("--index-url" in called) is ("--index-url" in words)


@pytest.mark.parametrize(
    ("version", "last"),
    [("2.9.1", "mamba-ssm==2.3.1"), ("2.6.0", "mamba-ssm==2.2.6.post3")],
)
def test_the_release_for_a_torch(
    knowledge: Knowledge, monkeypatch: pytest.MonkeyPatch, version: str, last: str
) -> None:
    monkeypatch.setattr(metadata, "version", lambda _: version)
    steps = release_steps(knowledge.tables, "mamba-ssm", "")
    assert _called(steps[1].text, monkeypatch)[-1] == last


def _installed(command: str, version: str, cuda: str, monkeypatch: pytest.MonkeyPatch) -> str:
    torch = ModuleType("torch")
    vars(torch).update(__version__=version, version=SimpleNamespace(cuda=cuda))
    monkeypatch.setitem(sys.modules, "torch", torch)
    called: list[list[str]] = []
    monkeypatch.setattr(subprocess, "call", called.append)
    code = command.removeprefix('python -c "').removesuffix('"')
    assert '"' not in code
    exec(code, {})  # noqa: S102
    return called[0][-1]


@pytest.mark.parametrize(
    ("version", "cuda", "row"),
    [
        ("2.11.0+cu130", "13.0", 0),
        ("2.9.1+cu128", "12.8", 1),
        ("2.8.0+cu129", "12.9", 2),
        ("2.7.1", "12.6", 2),
    ],
)
def test_the_file_for_torch_and_its_cuda_is_installed(
    version: str, cuda: str, row: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert _installed(reading_command(ROWS), version, cuda, monkeypatch) == ROWS[row]["url"]


def test_rows_without_a_least_torch_give_no_command() -> None:
    assert not reading_command([{**ROWS[0], "torch": "<2.6"}, ROWS[1]])
