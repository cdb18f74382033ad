"""flash-attn by its name alone, in commands whose environment nobody knows."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

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
