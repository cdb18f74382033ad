"""What the page's worker is told, as JSON."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from fadoctor.interfaces.browser import shown
from fadoctor.interfaces.browser.shown import SOON, Answering, gpu_names, gpus_of, version
from fadoctor.judging import diagnose
from fadoctor.repair.resolution import resolver_worlds
from tools.page.kinds import KINDS

if TYPE_CHECKING:
    import pytest


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


UNPINNED = KINDS["kind:unpinned"]


def test_many_releases_wait_for_the_second_step(monkeypatch: pytest.MonkeyPatch) -> None:
    """A first step that judged them all took ten times what it may."""
    judged: list[int] = []
    true = diagnose.foresee

    def counted(*args: Any, **given: Any) -> Any:
        judged.append(1)
        return true(*args, **given)

    monkeypatch.setattr(resolver_worlds, "foresee", counted)
    before = first(UNPINNED["text"], UNPINNED["gpu"])
    assert len(judged) <= 2 * (SOON + 1)
    assert before["more"]
    assert before["checking"] == "Checking the other releases that the text allows."
    assert "not checked yet" in before["html"]
    assert 'class="fails"' not in before["html"]


def test_the_second_step_has_the_answer_that_one_step_gives(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(resolver_worlds, "WORLD_LIMIT", 2)
    answering = Answering()
    answering.first(UNPINNED["text"], UNPINNED["gpu"])
    after = json.loads(answering.rest())
    monkeypatch.setattr(shown, "SOON", None)
    alone = Answering()
    alone.first(UNPINNED["text"], UNPINNED["gpu"])
    assert answering.markdown() != alone.markdown()
    assert after == json.loads(alone.rest())
    assert answering.markdown() == alone.markdown()
    assert "not checked yet" not in after["html"]


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
