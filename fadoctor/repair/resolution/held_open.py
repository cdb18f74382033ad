"""What commands install by name alone, into an environment that may have it already."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fadoctor.knowledge.matrix.load import load_apart
from fadoctor.knowledge.matrix.query import Matrix, cell_words
from fadoctor.knowledge.matrix.versions import version_key
from fadoctor.model.fact import Known, Unknown
from fadoctor.model.packages import FLASH_ATTN, PACKAGES, RELEASE_TABLES
from fadoctor.repair.resolution.prebuilt import PREBUILT, Prebuilt
from fadoctor.sources.manifests.installed.environment import HELD

if TYPE_CHECKING:
    from collections.abc import Iterator

    from fadoctor.model.environment import Environment
    from fadoctor.model.rule import Knowledge

_VERSION = f"{FLASH_ATTN}.version"


def held_notes(environment: Environment, knowledge: Knowledge) -> Iterator[str]:
    """Yield which release has a ready-made wheel, where the newest flash-attn is compiled.

    A command without a release installs the newest one where none is there.
    """
    version, places = environment.fact(_VERSION), environment.places.get(_VERSION, ())
    if not (isinstance(version, Unknown) and version.reason == HELD and places):
        return
    matrix = Matrix(load_apart(knowledge.tables))
    rows = matrix.tables[RELEASE_TABLES[FLASH_ATTN]].rows
    newest = max((word for row in rows for word in cell_words(row["version"])), key=version_key)
    there = environment.facts | {_VERSION: Known(newest, HELD)}
    prebuilt = Prebuilt(matrix)
    found = prebuilt.facts(environment, there, newest).get(PREBUILT)
    fitting = prebuilt.newest_for(environment)
    if isinstance(found, Known) and found.value is False and fitting:
        name = PACKAGES[FLASH_ATTN][0]
        yield (
            f"{places[0]}: without a release the newest {name} comes where none is there: "
            f"{newest} has no prebuilt wheel for this torch, so it is compiled; "
            f"{name}=={fitting} has one"
        )
