"""What `fadoctor fix` writes into files, put to uv over the real index, ends in what was said."""

from __future__ import annotations

import subprocess
from typing import TYPE_CHECKING

import pytest

from tests.states import written
from tests.states.written import Answer, answer, cases, resolved

if TYPE_CHECKING:
    from pathlib import Path

COUNT = 6


@pytest.mark.network
@pytest.mark.slow
@pytest.mark.usefixtures("uv_on_path")
def test_files_end_in_what_was_said(tmp_path: Path) -> None:
    """`python -m tests.states.written` asks about hundreds."""
    found = {case: answer(case, tmp_path) for case in cases(COUNT, seed=3)}
    answered = {case: each for case, each in found.items() if each.kind != "unanswered"}
    if not answered:
        pytest.skip("the index has answered nothing in time")
    assert {case: each for case, each in answered.items() if each.kind != "ok"} == {}


CASE = ("torch==2.8.0", "transformers==4.57.1", "3.12", ("A100", "550.54.15"))


@pytest.mark.parametrize(
    ("chosen", "refused", "kind"),
    [
        ("torch==2.8.0\ntransformers==4.57.1\n", "", "ok"),
        ("torch==2.14.1\ntransformers==4.57.1\n", "", "errors"),  # the driver is too old for it
        ("", "No solution found", "refused"),
    ],
)
def test_an_end_that_was_not_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, chosen: str, refused: str, kind: str
) -> None:
    monkeypatch.setattr(written, "resolved", lambda *_: (chosen, refused))
    found = answer(CASE, tmp_path)
    assert found.kind == kind
    assert isinstance(found, Answer)


def test_an_index_that_does_not_answer_is_no_fault(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def waits(*_: object) -> tuple[str, str]:
        raise subprocess.TimeoutExpired("uv", 1)

    monkeypatch.setattr(written, "resolved", waits)
    assert answer(CASE, tmp_path).kind == "unanswered"


@pytest.mark.network
@pytest.mark.slow
@pytest.mark.usefixtures("uv_on_path")
def test_uv_is_not_shown_what_it_would_have_to_compile(tmp_path: Path) -> None:
    text = "einops==0.8.1+own\nflash-attn==2.8.3\n--extra-index-url https://example.org\n"
    assert resolved(text, "3.12", tmp_path) == ("einops==0.8.1", "")
