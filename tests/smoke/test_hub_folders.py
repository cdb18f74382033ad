"""A snapshot in the Hub's cache that kernels does not find by its version is named to it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from fadoctor.knowledge.matrix.kernels import Kernels
from fadoctor.knowledge.matrix.query import Matrix
from fadoctor.model.verdict import Backend, Measured
from fadoctor.proof.smoke.hub import ask_for
from tests.smoke.smoke_recordings import shipped
from tests.smoke.test_hub import HEALTHY, HUB, REPOSITORY, with_kernels
from tests.unit.judging.engine.builders import environment
from tests.unit.sources.hub.caches import lay

if TYPE_CHECKING:
    from pathlib import Path


def test_a_snapshot_that_is_not_found_by_its_version_is_named(tmp_path: Path) -> None:
    """kernels 0.13 and newer do not find without the network what they fetched by its version."""
    folder = lay(tmp_path, REPOSITORY, "v3", {"torch-cuda": []}, named=False).parent
    facts = {**HUB, "hub.cache": str(tmp_path), "hub.kernels": {f"{REPOSITORY}@v3": "torch-cuda"},
             "hub.fa2.repository": REPOSITORY, "hub.fa2.branch": "v3",
             "hub.fa2.build": "torch-cuda"}  # fmt: skip

    def told(online: bool = False, **more: Any) -> str:  # noqa: FBT001, FBT002 -- of a test
        changed = {name.replace("__", "."): value for name, value in more.items()}
        kernels = Kernels(environment({**facts, **changed}), Matrix(shipped().tables))
        asked = ask_for(kernels, [Backend.HUB_FA2], online=online)
        return asked["hub-fa2"].get("folder", "")

    assert told() == str(folder)
    assert told(online=True) == ""
    assert told(kernels__version="0.12.3") == ""
    assert told(env__LOCAL_KERNELS="a/b=/k") == ""
    assert told(env__HF_HUB_OFFLINE="1") == ""
    assert told(hub__cache=str(tmp_path / "gone")) == ""


@pytest.mark.long
@pytest.mark.torch
@pytest.mark.slow
def test_a_worker_names_the_snapshot_to_kernels(tmp_path: Path) -> None:
    body = f"    assert os.environ['LOCAL_KERNELS'] == '{REPOSITORY}=/snapshot'\n" + HEALTHY
    found = with_kernels(tmp_path, body, asked={"folder": "/snapshot"})
    assert [cell.measured for cell in found.cells] == [Measured.PASSED]
