"""One command that reads torch itself: what it installs for each torch and CUDA."""

from __future__ import annotations

import subprocess
import sys
from types import ModuleType, SimpleNamespace

import pytest

from fadoctor.judging.explain.reading_command import reading_command

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
