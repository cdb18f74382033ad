"""What pip takes after conda: it takes no notice of the torch that conda brought."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from fadoctor.repair.resolution.judge import plan_base
from fadoctor.sources.manifests.installed.environment import planned_environment
from fadoctor.sources.manifests.read import read_manifest
from tests.unit.repair.plan.problems import plan, session
from tests.unit.repair.plan.test_planner import changed
from tests.unit.repair.resolution.test_judge import on

if TYPE_CHECKING:
    from pathlib import Path

CONDA = "channels: [pytorch, nvidia]\ndependencies:\n- python=3.10\n- pytorch={}\n{}\n"


@pytest.mark.parametrize(
    ("torch", "beside", "changes"),
    [
        # pip takes the newest, and replaces torch for it
        ("2.3.1", "- pip:\n  - xformers", {"xformers": "0.0.27"}),
        ("2.3", "- pip:\n  - xformers", {"xformers": "0.0.27"}),
        ("2.3.1", "- pip:\n  - xformers==0.0.27", {}),
        # conda's own packages name the torch that they are for
        ("2.3", "- torchaudio\n- torchvision", {}),
    ],
)
def test_an_open_package_is_pinned_for_the_torch_of_conda(
    tmp_path: Path, torch: str, beside: str, changes: dict[str, str]
) -> None:
    file = tmp_path / "environment.yml"
    file.write_text(CONDA.format(torch, beside))
    machine = on(tmp_path, "", "A100", "550.54.15")
    environment = planned_environment(machine, (read_manifest(str(file)),), session().matrix)
    assert changed(plan(plan_base(environment, session().knowledge))) == changes
