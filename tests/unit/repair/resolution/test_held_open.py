"""flash-attn by its name alone, in commands whose environment nobody knows."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from fadoctor.interfaces.commands.fix import FixRequest, make_plan
from fadoctor.interfaces.commands.plan import PlanRequest
from fadoctor.interfaces.commands.request import ProgramRequest, request_of
from fadoctor.model.environment import Environment, Target
from fadoctor.repair.resolution.held_open import held_notes
from fadoctor.repair.resolution.prebuilt import PREBUILT, Prebuilt
from fadoctor.sources.manifests.installed.environment import planned_environment
from fadoctor.sources.manifests.read import read_manifest
from tests.unit.judging.engine.builders import environment, fact_of
from tests.unit.repair.plan.problems import session
from tests.unit.sources.manifests.installed.test_environment import HOST

if TYPE_CHECKING:
    from pathlib import Path

    from fadoctor.model.plan import Plan

HEAD = (
    "jobs:\n  t:\n    steps:\n"
    "      - run: pip install torch=={torch}\n      - run: pip install {}\n"
)


@pytest.mark.parametrize(
    ("torch", "asked", "said"),
    [
        ("2.3.1", "flash-attn --no-build-isolation", "flash-attn==2.7.4.post1 has one"),
        ("2.8.0", "flash-attn --no-build-isolation", ""),
        ("2.3.1", "flash-attn==2.8.3 --no-build-isolation", ""),
        ("2.3.1", "einops", ""),
    ],
)
def test_a_release_with_a_ready_made_wheel_is_named(
    tmp_path: Path, torch: str, asked: str, said: str
) -> None:
    """Before, nothing was said at all: it may be there already."""
    file = tmp_path / "gpu.yml"
    file.write_text(HEAD.replace("{torch}", torch).replace("{}", asked), "utf-8")
    facts = {name: fact_of(value) for name, value in HOST.items()}
    machine = Environment("0", Target("environment", "here", "test"), facts)
    there = planned_environment(machine, [read_manifest(str(file))], session().matrix)
    notes = list(held_notes(there, session().knowledge))
    assert (said in notes[0] and f"{file}:5" in notes[0]) if said else not notes


@pytest.mark.parametrize(
    ("torch", "version", "prebuilt"),
    [
        # 2.8.3 and others before it have no file for torch 2.3 any more
        ("2.3.1", "2.8.3.post2", False),
        # whose files were not read, and the one before has some for this torch
        ("2.8.0", "2.8.3.post2", None),
    ],
)
def test_a_torch_that_releases_have_given_up_is_not_taken_up_again(
    torch: str,
    version: str,
    prebuilt: bool | None,  # noqa: FBT001
) -> None:
    there = environment({
        "torch.version": torch, "torch.cuda": "12.1", "torch.cxx11_abi": torch > "2.7",
        "torch.build": "cu121", "python.abi_tag": "cp311", "host.platform": "linux_x86_64",
        "flash_attn.version": version,
    })  # fmt: skip
    found = Prebuilt(session().matrix).facts(there, there.facts, version).get(PREBUILT)
    assert getattr(found, "value", None) is prebuilt


def planned_for(folder: Path, text: str, gpu: str = "A100") -> Plan:
    file = folder / "build.sh"
    file.write_text(f"#!/bin/bash\n{text}", "utf-8")
    what = ProgramRequest(
        requirements=file, gpu=gpu, driver="550.90", python_version="3.10", platform="linux_x86_64"
    )
    return make_plan(FixRequest(request_of(what, cache=True), PlanRequest())).plan


CONDA = (
    "conda install pytorch==2.4.0 torchvision==0.19.0 pytorch-cuda=11.8 -c pytorch -c nvidia -y\n"
    "pip install xformers=={} --index-url https://download.pytorch.org/whl/cu118\n"
    "pip install flash-attn\n"
    "pip install kaolin -f https://example.org/torch-2.4.0_cu118.html\n"
)


def test_beside_other_steps_the_file_for_its_torch_is_written(tmp_path: Path) -> None:
    """Regression: pages that another command names hid it, and no problem was said to remain."""
    plan = planned_for(tmp_path, CONDA.format("0.0.28.post1"))
    [diff] = [edit.diff for edit in plan.edits if edit.diff]
    assert "-pip install flash-attn\n" in diff
    assert "cu11torch2.4cxx11abiFALSE-cp310-cp310-linux_x86_64.whl" in diff
    assert not any("installer replaces torch" in note for note in plan.notes)  # it is repaired


def test_where_nothing_else_is_wrong_it_is_a_note(tmp_path: Path) -> None:
    text = CONDA.format("0.0.27.post2").replace("flash-attn", "flash-attn --no-build-isolation")
    plan = planned_for(tmp_path, text)
    assert not [edit.diff for edit in plan.edits if edit.diff]
    assert any("so it is compiled; 2.7.3 has one" in each for each in plan.notes)


def test_what_is_compiled_beside_the_torch_that_comes_is_told(tmp_path: Path) -> None:
    """Regression: nothing was said of a pin where the plan moves torch."""
    text = (
        "uv pip install torch==2.4.0 --index-url https://download.pytorch.org/whl/cu118\n"
        "uv pip install vllm==0.6.3\n"
        "uv pip install flash-attn=={} --no-build-isolation\n"
    )
    plan = planned_for(tmp_path, text.format("2.5.8"), "H100")
    assert any("flash-attn 2.5.8 has no prebuilt wheel for it" in each for each in plan.notes)
    assert "vllm" not in {change.distribution for change in plan.changes}
    plan = planned_for(tmp_path, text.format("2.7.3"), "H100")
    assert not any("so it is compiled" in each for each in plan.notes)
