"""What the page's worker is told, as JSON."""

from __future__ import annotations

import json
from typing import Any

from fadoctor.interfaces.browser.shown import Answering, gpu_names, gpus_of, version
from tools.page.kinds import KINDS


def first(text: str, gpu: str = "") -> dict[str, Any]:
    found: dict[str, Any] = json.loads(Answering().first(text, gpu))
    return found


def test_commands_wait_for_the_plan_and_come_with_it() -> None:
    answering = Answering()
    example = KINDS["kind:requirements"]
    before = json.loads(answering.first(example["text"], example["gpu"]))
    after = json.loads(answering.rest())
    assert before["more"]
    assert not after["more"]
    assert "pip install torch==" not in before["html"]
    assert "pip install torch==" in after["html"]
    assert before["rules"] == after["rules"]


def test_an_explanation_is_whole_at_once() -> None:
    found = first(KINDS["kind:error"]["text"])
    assert not found["more"]
    assert "<h2>" in found["html"]
    assert "<h1>" not in found["html"]


def test_text_from_outside_is_escaped() -> None:
    found = first(
        "RuntimeError: <script>alert(1)</script> FlashAttention only supports Ampere GPUs"
    )
    assert "<script" not in found["html"]


def test_markdown_has_no_name_of_a_person() -> None:
    answering = Answering()
    answering.first(KINDS["kind:error"]["text"].replace("/srv/app/", "/home/ada/"), "")
    said = answering.markdown()
    assert said.startswith("#")
    assert "ada" not in said


def test_a_wrong_gpu_is_said_where_it_was_typed() -> None:
    found = first("RuntimeError: x", "V1000")
    assert found["where"] == "gpu"
    assert "V100" in found["problem"]


def test_no_text_is_a_problem_of_the_text() -> None:
    assert first(" ")["where"] == "text"
    assert json.loads(Answering().rest())["where"] == "text"
    assert Answering().markdown() == ""


def test_gpus_are_separated_by_commas() -> None:
    assert gpus_of(" V100, A100 ;") == ("V100", "A100")
    assert gpus_of("") == ()
    assert {"V100", "A100", "H100"} <= set(json.loads(gpu_names()))
    assert "rules" in version()
