"""What comes today where torch and a package that pins it are both open: who is decided first."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from fadoctor.judging.diagnose import Prognosis, foresee
from fadoctor.knowledge.matrix.load import load_knowledge
from fadoctor.knowledge.matrix.versions import version_key
from fadoctor.model.fact import Known
from fadoctor.repair.resolution import resolver_worlds
from fadoctor.repair.resolution.resolver_worlds import come_today, picks
from tests.unit.repair.plan.problems import session
from tests.unit.sources.manifests.installed.test_environment import planned

if TYPE_CHECKING:
    from pathlib import Path

    from fadoctor.model.environment import Environment


def came(folder: Path, text: str) -> dict[str, str]:
    found = come_today(planned(folder, text), session().matrix)
    names = ("torch", "vllm")
    facts = {name: found.fact(f"{name}.version") for name in names}
    return {name: str(fact.value) for name, fact in facts.items() if isinstance(fact, Known)}


def test_what_stands_before_torch_is_decided_before_it(tmp_path: Path) -> None:
    first, last = came(tmp_path, "vllm\ntorch\n"), came(tmp_path, "torch\nvllm\n")

    assert first["vllm"] == came(tmp_path, "vllm\n")["vllm"]
    assert version_key(first["torch"]) < version_key(last["torch"])
    assert last.get("vllm") != first["vllm"]


@pytest.mark.parametrize("text", ["vllm\ntorch\n", "torch\nvllm\n"])
def test_nothing_is_picked_where_the_order_decides(text: str, tmp_path: Path) -> None:
    assert picks(planned(tmp_path, text), session().matrix) == {}


def test_what_is_tried_is_counted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    judged: list[Environment] = []

    def counted(environment: Environment, *how: Any, **more: Any) -> Prognosis:
        judged.append(environment)
        return foresee(environment, *how, **more)

    monkeypatch.setattr(resolver_worlds, "foresee", counted)
    monkeypatch.setattr(resolver_worlds, "WORLD_LIMIT", 3)
    monkeypatch.setattr(resolver_worlds, "LOOSE_LIMIT", 2)
    environment = planned(tmp_path, "torch>=2.4\ntransformers>=4.40\nvllm\nflash-attn\nnumpy<2\n")
    trial = resolver_worlds.try_out(environment, load_knowledge(), session().matrix, ())

    assert len(trial.others) == 3
    assert trial.untried > 10
    assert len(judged) <= 1 + 3 + 2 + len(trial.loose)
    assert len(trial.loose) <= 2


@pytest.mark.parametrize(
    ("pin", "fits", "excludes"),
    [("transformers==5.22.2", "3.12", "3.10"), ("torch==2.4.1", "3.12", "3.13")],
)
def test_nothing_is_picked_beside_a_pin_that_the_python_cannot_install(
    pin: str, fits: str, excludes: str, tmp_path: Path
) -> None:
    """A resolver finds no solution then, so no release comes."""
    found = {}
    for python in (fits, excludes):
        here: dict[str, Any] = {
            "python__version": f"{python}.1",
            "python__abi_tag": f"cp{python.replace('.', '')}",
        }
        environment = planned(tmp_path, f"{pin}\nbitsandbytes\n", **here)
        found[python] = picks(environment, session().matrix)
    assert found[fits]
    assert not found[excludes]
