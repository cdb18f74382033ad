"""What a text's facts show is told where it complains, and of nothing that is known."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING

import pytest

from fadoctor.judging.explain.explain import explain, read_log

if TYPE_CHECKING:
    from fadoctor.model.explanation import Explanation
    from fadoctor.model.rule import Knowledge

FACTS = (
    "PyTorch version: 2.9.1+cpu\nPython version: 3.11.14\n"
    "GPU models and configuration: GPU 0: NVIDIA GB10\n"
)


def explained(text: str, knowledge: Knowledge) -> Explanation:
    return explain(read_log(io.BytesIO(text.encode()), "a.txt", knowledge), knowledge)


def test_a_vague_complaint_beside_one_error_of_the_facts_is_a_warning(knowledge: Knowledge) -> None:
    (found,) = explained(
        f"The lamp says that my card is too weak.\n\n{FACTS}",
        knowledge,
    ).findings
    assert (found.rule_id, found.severity.value) == ("torch-cpu-only", "warning")
    assert "2.9.1+cpu" in found.message


@pytest.mark.parametrize("says", ["For your list of machines that I have seen.", "The disk fails."])
def test_a_text_without_a_complaint_has_a_note_alone(says: str, knowledge: Knowledge) -> None:
    report = explained(f"{says}\n\n{FACTS}", knowledge)
    assert not report.findings
    assert any("`fadoctor check --facts` shows 1 error" in note for note in report.notes)
