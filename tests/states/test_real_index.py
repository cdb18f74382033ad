"""What plans print, put to uv over the real index: it ends in what was said."""

from __future__ import annotations

import zipfile
from typing import TYPE_CHECKING

import pytest

from tests.states.sequences import PLATFORMS, PYTHONS, sequences
from tools.compare_resolutions import (
    Outcome,
    Patients,
    compared,
    is_wrong,
    judged,
    outcome,
    pins,
)
from tools.refresh.errors import FetchError
from tools.refresh.index import Index
from tools.refresh.settings import read_settings
from tools.refresh.transport import Transport

if TYPE_CHECKING:
    from pathlib import Path

    from packaging.version import Version

    from tools.refresh.index import Release

SEQUENCE = {
    "python": "3.12",
    "platform": "linux_x86_64",
    "machine": ["A100", "550.54.15"],
    "installed": {"torch": "2.6.0"},
    "uninstalled": [],
    "indexes": ["https://example.org/cu126"],
    "errors": [],
    "requirements": ["torch==2.8.0+cu126", "datasets<=4.0.0,>=2.16.0"],
    "changes": [["torch", "2.6.0", "2.8.0+cu126"], ["datasets", "", "<=4.0.0,>=2.16.0"]],
}
TOLD = " - torch==2.6.0\n + torch==2.8.0\n + datasets==3.6.0\n"


@pytest.mark.network
@pytest.mark.slow
@pytest.mark.usefixtures("uv_on_path")
@pytest.mark.parametrize(
    ("count", "seed"), [(12, 5), pytest.param(500, 28, marks=pytest.mark.weekly)]
)
def test_commands_end_in_what_was_said(tmp_path: Path, count: int, seed: int) -> None:
    """`python -m tools.compare_resolutions` asks about others."""
    settings = read_settings()
    urls = tuple(url for url in settings.indexes if url.startswith("http"))
    patients = Patients(Index(Transport(settings, tmp_path / "index"), urls), tmp_path)
    found = [(each, judged(each, outcome(each, patients))) for each in sequences(count, seed)]
    assert len(found) == count
    assert [(answer, each) for each, answer in found if is_wrong(answer)] == []


def test_sequences_are_of_every_kind() -> None:
    found = list(sequences(24, seed=1))
    assert {each["python"] for each in found} == set(PYTHONS)
    assert {each["platform"] for each in found} == set(PLATFORMS)
    assert all(each["requirements"] for each in found)
    assert sum(not each["installed"] for each in found) == len(found) // 2


def test_what_uv_would_do_is_what_was_said() -> None:
    assert compared(SEQUENCE, {"torch": "2.6.0"}, TOLD).kind == "agrees"


@pytest.mark.parametrize(
    ("told", "kind"),
    [
        (TOLD.replace("2.8.0", "2.9.0"), "other version"),
        (TOLD.replace("3.6.0", "4.8.0"), "other version"),
        (TOLD + " - peft==0.18.0\n + peft==0.4.0\n", "moved"),
        (TOLD + " - nvidia-nccl-cu12==2.27.3\n + nvidia-nccl-cu12==2.26\n", "agrees"),
    ],
)
def test_what_uv_would_do_beside_is_told(told: str, kind: str) -> None:
    installed = {"torch": "2.6.0", "peft": "0.18.0", "nvidia-nccl-cu12": "2.27.3"}
    assert compared(SEQUENCE, installed, told).kind == kind


@pytest.mark.parametrize(
    ("more", "kind"),
    [
        ({"transformers": "4.57.1"}, "agrees"),
        ({"transformers": "5.5.0", "vllm": "0.10.2"}, "errors"),  # brought, and not named
    ],
)
def test_an_end_is_judged_with_what_nobody_named(more: dict[str, str], kind: str) -> None:
    after = {"torch": "2.8.0", **more}
    assert judged(SEQUENCE, Outcome("agrees", after=after)).kind == kind


def test_what_was_wrong_before_or_is_told_is_no_other_end() -> None:
    wrong = {"torch": "2.8.0", "transformers": "5.5.0", "vllm": "0.10.2"}
    before = {**SEQUENCE, "installed": wrong}
    assert judged(before, Outcome("agrees", after=wrong)).kind == "agrees"
    told = {**SEQUENCE, "errors": ["vllm-transformers-too-new"]}
    assert judged(told, Outcome("agrees", after=wrong)).kind == "agrees"


class _NoFiles:
    """An index that has nothing."""

    def releases(self, name: str) -> dict[Version, Release]:
        raise FetchError(name)


def test_a_file_by_its_address_is_one_of_its_name_with_what_it_requires(tmp_path: Path) -> None:
    url = "https://example.org/flash_attn-2.8.3%2Bcu12torch2.8-cp312-cp312-linux_x86_64.whl"
    found = Patients(_NoFiles(), tmp_path).file(url, "3.12")  # type: ignore[arg-type]
    assert found.name == "flash_attn-2.8.3+cu12torch2.8-cp312-cp312-linux_x86_64.whl"
    with zipfile.ZipFile(found) as wheel:
        text = wheel.read("flash_attn-2.8.3+cu12torch2.8.dist-info/METADATA").decode()
    assert "Version: 2.8.3+cu12torch2.8" in text
    assert "Requires-Dist: einops" in text
    told = f" + flash-attn @ file://{found}\n"
    change = {"requirements": [f"flash-attn @ {url}"], "changes": [["flash-attn", "", "2.8.3"]]}
    assert compared({**SEQUENCE, **change}, {}, told).kind == "agrees"
    change["changes"] = [["flash-attn", "", "2.8.2"]]
    assert compared({**SEQUENCE, **change}, {}, told).kind == "other version"


def test_a_torch_that_nobody_names_is_judged_too() -> None:
    asked = {"requirements": ["peft==0.18.0"], "changes": [], "installed": {}, "indexes": []}
    found = Outcome("agrees", after={"torch": "2.15.0", "peft": "0.18.0"})
    assert judged({**SEQUENCE, **asked}, found).kind == "errors"  # the driver is too old for it


def test_an_end_has_the_builds_that_were_said() -> None:
    by_address = {**SEQUENCE, "requirements": ["flash-attn @ https://example.org/f.whl"]}
    after = {"torch": "2.8.0", "datasets": "3.6.0", "nvidia-nccl-cu12": "2.27.3"}
    assert pins(by_address, after) == [
        "--extra-index-url https://example.org/cu126",
        "torch==2.8.0+cu126",
        "datasets==3.6.0",
        "flash-attn @ https://example.org/f.whl",
    ]
