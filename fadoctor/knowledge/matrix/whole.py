"""The matrix of all tables of a knowledge base: whoever asks for it shares what was looked up."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fadoctor.knowledge.matrix.load import load_apart
from fadoctor.knowledge.matrix.query import Matrix
from fadoctor.model.rule import kept_with

if TYPE_CHECKING:
    from fadoctor.model.rule import Knowledge


def whole_matrix(knowledge: Knowledge) -> Matrix:
    """Return the matrix of all tables, those that are compiled apart included."""
    return kept_with(knowledge, "whole matrix", new_matrix)


def new_matrix(knowledge: Knowledge) -> Matrix:
    """Return what `whole_matrix` keeps."""
    return Matrix(load_apart(knowledge.tables))
