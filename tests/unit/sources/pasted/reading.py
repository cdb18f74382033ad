"""What a text states, for tests of the readers: nothing that follows from it."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

from fadoctor.judging.explain.pasted_complaints import complaints_in
from fadoctor.knowledge.matrix.load import load_knowledge
from fadoctor.knowledge.matrix.query import Matrix
from fadoctor.sources.logs.pasted_text import read_statements, read_text

if TYPE_CHECKING:
    from fadoctor.model.environment import Environment
    from fadoctor.model.rule import Knowledge
    from fadoctor.sources.pasted.combine import CombinedClaims


@cache
def matrix() -> Matrix:
    return Matrix(shipped().tables)


@cache
def shipped() -> Knowledge:
    return load_knowledge()


def read_environment(data: bytes, name: str = "paste") -> Environment:
    """Return what `check --facts` reads."""
    return read_text(data, name, shipped(), complaints_in(data, name, shipped()))


def read_report(data: bytes, name: str) -> CombinedClaims:
    """Return what a text states: nothing that follows from it."""
    return read_statements(data, name, matrix())[1]
