"""Plans of one program share what was looked up in the tables, and forget it now and then."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from fadoctor.knowledge.matrix.load import load_knowledge
from fadoctor.knowledge.matrix.published_files import PublishedFiles
from fadoctor.knowledge.matrix.query import Matrix
from fadoctor.knowledge.matrix.ready_made_files import ReadyMadeFiles
from fadoctor.knowledge.matrix.whole import whole_matrix
from fadoctor.repair.plan import sessions
from fadoctor.repair.plan.choices.helpers import Helpers
from fadoctor.repair.plan.sessions import shared_session
from fadoctor.repair.resolution.helper_releases import HelperReleases
from fadoctor.repair.resolution.prebuilt import Prebuilt
from tests.unit.repair.plan.problems import golden, session

if TYPE_CHECKING:
    import pytest


def test_a_session_is_shared_for_a_while() -> None:
    knowledge = msgspec.structs.replace(load_knowledge())
    first = shared_session(knowledge)
    handed_out = [shared_session(knowledge) for _ in range(sessions._SHARED_BY)]
    assert handed_out[0] is first
    assert handed_out[-1] is not first
    assert handed_out[-1].matrix is first.matrix is whole_matrix(knowledge)


def test_readers_of_a_matrix_share_what_they_read() -> None:
    matrix = session().matrix
    assert ReadyMadeFiles.of(matrix) is ReadyMadeFiles.of(matrix)
    assert Prebuilt.of(matrix) is Prebuilt.of(matrix)
    assert HelperReleases.of_matrix(matrix, "3.12") is HelperReleases.of_matrix(matrix, "3.12")
    assert HelperReleases.of_matrix(matrix, "3.12") is not HelperReleases.of_matrix(matrix, "3.9")
    candidates = session().candidates
    assert candidates.helpers.published is candidates.listed.published


def test_ranges_ask_once_which_releases_can_be_had(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each of thirty torches asked for the files of all releases, and of what these require."""
    asked: list[str] = []
    has_one_in = PublishedFiles.has_one_in

    def counted(self: PublishedFiles, name: str, specifier: str) -> bool:
        asked.append(name)
        return has_one_in(self, name, specifier)

    monkeypatch.setattr(PublishedFiles, "has_one_in", counted)
    helpers = Helpers(Matrix(session().matrix.tables))
    environment = golden("linux-a100-healthy")
    helpers.fitting("transformers", environment, (), {})
    once = len(asked)
    assert once
    helpers.fitting("transformers", environment, (">=4.50",), {"torch": "2.9.0"})
    helpers.fitting("transformers", environment, (">=4.40", "<5"), {"torch": "2.8.0"})
    assert len(asked) == once
