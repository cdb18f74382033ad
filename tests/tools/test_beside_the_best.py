"""The page that puts plans beside uv and an expert."""

from __future__ import annotations

import json

import pytest
import yaml
from packaging.specifiers import SpecifierSet

from tools.beside_the_best import (
    STATES,
    Row,
    agrees_with,
    cuda_of,
    of_rigsolve,
    page,
    planned,
    rigsolve_versions,
)

STATE = {
    "gpu": "A100", "driver": "550.54.15", "python": "3.12", "want": ["flash-attn"],
    "takes": {"flash-attn": ">=2.7", "torch": ">=2.4"}, "cuda": "12",
}  # fmt: skip
REFUSED = {"gpu": "none", "python": "3.12", "want": ["flash-attn"], "refuse": "there is no GPU"}


@pytest.mark.parametrize(
    ("chosen", "agrees"),
    [
        ({"torch": "2.8.0", "flash-attn": "2.8.3"}, True),
        ({"torch": "2.8.0+cu118", "flash-attn": "2.8.3"}, False),
        ({"torch": "2.3.0", "flash-attn": "2.8.3"}, False),
        ({"torch": "2.8.0"}, False),
        ({}, False),
    ],
)
def test_the_expert_accepts_releases_and_a_cuda(chosen: dict[str, str], *, agrees: bool) -> None:
    assert agrees_with(STATE, chosen) is agrees


def test_a_refusal_is_met_by_nothing_alone() -> None:
    assert agrees_with(REFUSED, {})
    assert not agrees_with(REFUSED, {"torch": "2.8.0"})


def test_a_build_of_pypi_has_the_cuda_of_its_release() -> None:
    assert [cuda_of(each) for each in ("2.10.0", "2.11.0", "2.14.1+cu126")] == ["12", "13", "12"]


def test_a_plan_is_made_for_a_state() -> None:
    assert agrees_with(STATE, planned(STATE))


def test_the_page_marks_what_differs() -> None:
    rows: list[Row] = [
        (STATE, {"torch": "2.3.0"}, False, "refused", "torch 2.3.0 (differs)"),
        (REFUSED, {}, True, "refused", "refused"),
    ]
    shown = page(rows, "uv 1.0")
    assert "torch 2.3.0 (differs)" in shown
    assert (
        "| none, Python 3.12 | flash-attn | refused | refused | refused | refuse: there is no GPU |"
        in shown
    )
    assert "in 1 of 2 states, rigsolve in 1" in shown


def test_torch_of_rigsolve_has_the_label_of_its_index() -> None:
    index = "https://download.pytorch.org/whl/cu126"
    steps = [
        {"package": "torch", "version": "2.8.0", "index_url": index},
        {"package": "flash-attn", "version": "2.8.3", "index_url": None},
    ]
    found = rigsolve_versions(json.dumps({"steps": steps}))
    assert found == {"torch": "2.8.0+cu126", "flash-attn": "2.8.3"}


def test_a_program_that_is_missing_is_said() -> None:
    assert of_rigsolve(STATE, "/nothing/rigsolve") == "not installed"


def test_each_state_has_an_answer_that_can_be_compared() -> None:
    states = yaml.safe_load(STATES.read_text(encoding="utf-8"))["states"]
    assert len(states) == 30
    for state in states:
        for bounds in state.get("takes", {}).values():
            SpecifierSet(bounds)
        assert ("refuse" in state) != ("takes" in state and "torch" in state["takes"])
