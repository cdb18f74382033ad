"""The recorded machines, each probed and judged once."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import TYPE_CHECKING

import pytest

from fadoctor.judging.diagnose import diagnose
from fadoctor.knowledge.matrix.load import load_knowledge
from tests.hosts import recording

if TYPE_CHECKING:
    from fadoctor.model.report import Report

Diagnosed = Callable[[str], "Report"]


@pytest.fixture(scope="session")
def diagnosed(tmp_path_factory: pytest.TempPathFactory) -> Diagnosed:
    """Return a function that gives the report on a recorded machine."""
    knowledge = load_knowledge()

    @functools.cache
    def report(name: str) -> Report:
        return diagnose(recording.read(name, tmp_path_factory.mktemp(name)), knowledge)

    return report
