"""What a text states, for tests of the readers: nothing that follows from it."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

from fadoctor.explain.pasted_text import read_statements
from fadoctor.matrix.load import load_knowledge
from fadoctor.matrix.query import Matrix

if TYPE_CHECKING:
    from fadoctor.pasted.combine import Combined


@cache
def matrix() -> Matrix:
    return Matrix(load_knowledge().tables)


def read_report(data: bytes, name: str) -> Combined:
    return read_statements(data, name, matrix())[1]
