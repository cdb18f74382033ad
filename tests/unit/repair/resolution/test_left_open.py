"""What is said of a release that the files leave to an installer."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from fadoctor.repair.resolution.left_open import open_notes
from tests.unit.repair.plan.problems import session
from tests.unit.repair.resolution.test_judge import on

if TYPE_CHECKING:
    from pathlib import Path

UNREAD = "gradio>=4.0.0\n"


@pytest.mark.parametrize(
    ("text", "asked"),
    [
        (f"torch==2.2.0\ntransformers>=4.41.2\n{UNREAD}", "transformers>=5.0,<5.1"),
        (f"torch==2.2.0\ntransformers>=4.41.2,<5\n{UNREAD}", ""),
        (f"torch==2.9.1\ntransformers>=4.41.2\n{UNREAD}", ""),
        ("torch==2.2.0\ntransformers>=4.41.2\n", ""),  # that is decided, and planned for
    ],
)
def test_what_the_newest_release_would_break_is_said(tmp_path: Path, text: str, asked: str) -> None:
    here = on(tmp_path, text, "RTX 4090", "550.54.15")
    notes = list(open_notes(here, session().knowledge))
    assert [asked] * bool(asked) == [each.partition("Ask for ")[2].split(" ")[0] for each in notes]
    assert all(each.startswith("an installer decides which transformers") for each in notes)
