"""Instructions of a Dockerfile, with their here-documents and places."""

from __future__ import annotations

import pytest

from fadoctor.model.errors import InputError
from fadoctor.syntax.dockerfile import Instruction, read_instructions
from tests.unit.sources.manifests.given import given


def instructions(text: str) -> list[Instruction]:
    return list(read_instructions(given(text, "Dockerfile")))


def test_lines_that_continue_are_joined_and_places_kept() -> None:
    (run,) = instructions("RUN a \\\n# b\n\n  c\n")
    assert (run.keyword, run.text.text) == ("RUN", "RUN a   c")
    place = run.text.place(run.text.text.index("c"))
    assert (place.line, place.column) == (4, 3)


@pytest.mark.parametrize("mark", ["<<E", "<<'E'", '<<"E"', "<<-E", "<<\\E"])
def test_here_documents(mark: str) -> None:
    run, after, *_ = instructions(f"RUN cat {mark} >x\nit's\n\tE\nE\nCMD d\n")
    (document,) = run.heredocs
    assert document.text == ("it's\n" if "-" in mark else "it's\n\tE\n")
    assert after.keyword == ("E" if "-" in mark else "CMD")
    assert run.script is not None
    at = run.script.text.index("it's")
    assert run.script.place(at).line == 2


def test_a_document_without_an_end() -> None:
    with pytest.raises(InputError, match="has no end"):
        instructions("RUN a <<E\nb\n")


def test_another_escape() -> None:
    (run,) = instructions("# escape=`\nRUN a `\n b\n")
    assert run.text.text == "RUN a  b"
