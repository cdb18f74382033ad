"""Pins that contradict what another pinned package declares to require."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from fadoctor.model.finding import Severity
from fadoctor.repair.plan.planner import PlannerRequest, make_plan
from fadoctor.repair.resolution import resolver_worlds
from fadoctor.repair.resolution.declared import Declared
from fadoctor.repair.resolution.judge import plan_base
from fadoctor.repair.resolution.lines import lines_of
from tests.unit.repair.plan.problems import session
from tests.unit.repair.resolution.test_judge import findings, judged, on

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture(autouse=True)
def all_worlds(monkeypatch: pytest.MonkeyPatch) -> None:
    """Try all versions however many there are."""
    monkeypatch.setattr(resolver_worlds, "WORLD_LIMIT", 10_000)


def told(folder: Path, *pins: str) -> dict[str, str]:
    """Return rule -> message, for a list beside torch 2.8."""
    text = "".join(f"{pin}\n" for pin in ("torch==2.8.0", *pins))
    return {r: f.message for r, f in findings(judged(folder, text, "H100", "580.65")).items()}


def test_what_a_release_declares() -> None:
    declared = Declared(session().matrix)
    assert declared.of("transformers", "4.57.1")["tokenizers"] == "<=0.23.0,>=0.22.0"
    assert declared.of("transformers", "99.0") == {}
    assert declared.of("ours", "1.0") == {}


def test_a_pin_that_transformers_refuses_is_an_error_at_both_lines(tmp_path: Path) -> None:
    text = "torch==2.8.0\ntransformers==4.57.1\ntokenizers==0.21.4\n"
    found = findings(judged(tmp_path, text, "H100", "580.65"))["transformers-tokenizers-mismatch"]
    assert found.severity is Severity.ERROR
    assert {at.line for at in found.locations} == {2, 3}


@pytest.mark.parametrize(
    "pins",
    [
        ("transformers==4.57.1", "huggingface-hub==1.3.0"),
        ("transformers==5.20.0", "safetensors==0.4.5"),
        ("transformers==5.2.0", "sentence-transformers==3.0.1"),
        ("datasets==2.19.0", "fsspec==2024.6.1"),
        ("trl==1.10.0", "datasets==3.6.0"),
        ("tokenizers==0.21.0", "huggingface-hub==1.3.0"),
        ("peft==0.17.0", "huggingface-hub==0.20.0"),
        ("llamafactory==0.9.3", "transformers==4.57.1"),
        ("openrlhf==0.8.5", "flash-attn==2.8.3"),
        ("ms-swift==3.9.0", "trl==0.24.0"),
    ],
)
def test_pins_that_contradict_each_other_are_told(tmp_path: Path, pins: tuple[str, str]) -> None:
    found = told(tmp_path, *pins)
    mine = [text for text in found.values() if pins[0].partition("==")[0] in text]
    assert any(pins[1].partition("==")[2] in t or pins[0].partition("==")[2] in t for t in mine)


@pytest.mark.parametrize(
    "pins",
    [
        ("transformers==4.57.1", "tokenizers==0.22.1", "huggingface-hub==0.36.0"),
        ("transformers==5.20.0", "tokenizers==0.23.2", "safetensors==0.8.1"),
        ("transformers==4.44.2", "sentence-transformers==3.0.1", "datasets==2.19.0"),
        ("transformers==4.57.1", "tokenizers>=0.19"),  # an installer decides
        ("transformers==4.57.1", "fsspec==2024.6.1"),
        ("llamafactory==0.9.3", "transformers==4.52.4", "peft==0.15.2"),
        ("axolotl==0.13.0", "transformers==4.57.1"),  # nobody has read its metadata
        ("transformers==9.0.0", "tokenizers==0.1.0"),  # in no table
    ],
)
def test_pins_that_go_together_are_not(tmp_path: Path, pins: tuple[str, ...]) -> None:
    assert (
        not {"requirement-unmet", "transformers-tokenizers-mismatch"} & told(tmp_path, *pins).keys()
    )


def test_a_range_is_tried_only_where_the_pins_take_it(tmp_path: Path) -> None:
    assert told(tmp_path, "transformers>=4.50", "tokenizers==0.21.4") == {}
    assert "transformers-tokenizers-mismatch" in told(
        tmp_path, "transformers>=4.56", "tokenizers==0.21.4"
    )


def test_a_resolver_takes_the_newest_that_goes_with_a_pin(tmp_path: Path) -> None:
    found = judged(tmp_path, "vllm\ntorch==2.8.0\n", "H100", "580.65")
    [note] = [n for n in found.shown.environment.target.notes if "picked by a resolver" in n]
    assert "vllm 0.11.0," in note


def test_a_companion_whose_metadata_name_no_torch_leaves_nothing_open(tmp_path: Path) -> None:
    found = judged(tmp_path, "vllm\ntokenizers==0.22.2\n", "H100", "580.65")
    [note] = [n for n in found.shown.environment.target.notes if "picked by a resolver" in n]
    assert "vllm 0.31.0, torch 2.13.0, torchvision 0.28.0, torchaudio 2.11.0," in note


def test_it_comes_beside_a_torch_that_is_too_old_for_it(tmp_path: Path) -> None:
    found = findings(judged(tmp_path, "torch==2.6.0\ntorchaudio\n", "H100", "580.65"))
    assert "it supports >=2.11, but 2.6.0" in found["pair-unfit"].message


def test_who_requires_it_is_named_with_its_line(tmp_path: Path) -> None:
    text = "torch==2.8.0\nfsspec==2024.6.1\ndatasets==2.19.0\n"
    found = findings(judged(tmp_path, text, "H100", "580.65"))["requirements-contradict"]
    assert "datasets==2.19.0 requires fsspec" in found.message
    assert {at.line for at in found.locations} == {2, 3}
    assert "requirement-unmet" in found.consequences


def test_the_repair_is_the_line_of_the_pin(tmp_path: Path) -> None:
    text = "torch==2.8.0\ntransformers==4.57.1\ntokenizers==0.21.4  # why\n"
    environment = plan_base(on(tmp_path, text, "H100", "580.65"), session().knowledge)
    plan = make_plan(environment, session(), PlannerRequest())
    name = str(tmp_path / "0" / "requirements.txt")
    [rewrite] = lines_of(plan, environment, (name,)).rewrites
    assert "tokenizers==0.22.2  # why\n" in rewrite.text


def test_a_pin_that_another_one_refuses_moves_to_what_all_take(tmp_path: Path) -> None:
    text = "torch==2.6.0\ntransformers==4.51.3\npeft==0.15.2\naccelerate==0.20.3\n"
    environment = plan_base(on(tmp_path, text, "T4", "550.54.15"), session().knowledge)
    plan = make_plan(environment, session(), PlannerRequest())
    assert [each.distribution for each in plan.changes] == ["accelerate"]
    assert plan.proof.clean


def test_of_thousands_of_pins_those_count_that_the_table_names() -> None:
    declared = Declared(session().matrix)
    pins = {f"ours-{n}": "1.0" for n in range(10_000)} | {"tokenizers": "0.21.4", "fsspec": "1"}
    assert declared.told_of(pins) == {"tokenizers": "0.21.4", "fsspec": "1"}
