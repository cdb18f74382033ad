"""What plans print, put to uv over the real index: it ends in what was said."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.states.sequences import sequences
from tools.compare_resolutions import Patients, compared, is_wrong, outcome
from tools.refresh.index import Index
from tools.refresh.settings import read_settings
from tools.refresh.transport import Transport

if TYPE_CHECKING:
    from pathlib import Path

COUNT = 12
SEQUENCE = {
    "requirements": ["torch==2.8.0+cu126", "datasets<=4.0.0,>=2.16.0"],
    "changes": [["torch", "2.6.0", "2.8.0+cu126"], ["datasets", "", "<=4.0.0,>=2.16.0"]],
}
TOLD = " - torch==2.6.0\n + torch==2.8.0\n + datasets==3.6.0\n"


@pytest.mark.network
@pytest.mark.slow
@pytest.mark.usefixtures("uv_on_path")
def test_commands_end_in_what_was_said(tmp_path: Path) -> None:
    """`python -m tools.compare_resolutions` asks about hundreds."""
    settings = read_settings()
    urls = tuple(url for url in settings.indexes if url.startswith("http"))
    patients = Patients(Index(Transport(settings, tmp_path / "index"), urls), tmp_path)
    found = {str(each["from"]): outcome(each, patients) for each in sequences(COUNT, seed=5)}
    assert len(found) > COUNT // 2
    assert {case: answer for case, answer in found.items() if is_wrong(answer)} == {}


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
