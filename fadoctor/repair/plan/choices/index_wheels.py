"""The files of xformers on PyTorch's index: PyPI has each release for one CUDA alone."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from fadoctor.knowledge.matrix.query import cell_words
from fadoctor.knowledge.matrix.versions import version_part
from fadoctor.model.packages import XFORMERS
from fadoctor.repair.plan.choices.choice import Choice, ChoiceKind, distribution_of
from fadoctor.repair.plan.choices.releases import python_of
from fadoctor.repair.plan.choices.wheel_facts import known, text_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from fadoctor.knowledge.matrix.query import Matrix, Row
    from fadoctor.model.environment import Environment
    from fadoctor.repair.plan.choices.indexes import Indexes

_LAST_FOR_EACH = "3.12"
"""The newest Python that has a file, where there is one for each."""


class IndexWheels:
    """Those of one knowledge base."""

    def __init__(self, matrix: Matrix, indexes: Indexes) -> None:
        """Take the matrix, and what is known of the indexes."""
        self.indexes = indexes
        self._cuda = _cuda_of_pypi(matrix)
        self._rows: dict[tuple[str, str], list[Row]] = {}
        for row in matrix.tables["xformers-index-wheels"].rows:
            for version in cell_words(row["version"]):
                self._rows.setdefault((version, str(row["platform"])), []).append(row)

    def instead(self, choice: Choice, environment: Environment) -> Iterator[Choice]:
        """Yield the file of a release for torch's CUDA, where PyPI's is for another.

        An extension needs the runtime of its own CUDA major version, of whatever minor one: the
        build of torch's own index goes before the others.
        """
        cuda = version_part(text_of(environment, "torch.cuda"), "major")
        pypis = version_part(self._cuda.get(choice.version, ""), "major")
        if not cuda or not pypis or cuda == pypis:
            return
        build = text_of(environment, "torch.build")
        rows = [
            row
            for row in self._rows.get((choice.version, text_of(environment, "host.platform")), ())
            if version_part(str(row["cuda"]), "major") == cuda
        ]
        for row in sorted(rows, key=lambda row: row["build"] != build)[:1]:
            yield from self._file(choice, row, environment)

    def _file(self, choice: Choice, row: Row, environment: Environment) -> Iterator[Choice]:
        python, index = python_of(environment), self.indexes.of(str(row["build"]))
        template = str(row["file"])
        is_for_each = "{python}" in template
        if not index or python.endswith("t") or (is_for_each and _is_newer(python)):
            return
        tag = f"cp{python.replace('.', '')}"
        file = template.replace("{version}", choice.version).replace("{python}", tag)
        url = f"{index}/{file}"
        yield msgspec.structs.replace(
            choice,
            kind=ChoiceKind.WHEEL,
            key=url,
            requirement=f"{distribution_of(XFORMERS)} @ {url}",
            url=url,
            facts={**choice.facts, f"{XFORMERS}.direct_url": known(url)},
            pythons=(),
        )


def _cuda_of_pypi(matrix: Matrix) -> dict[str, str]:
    return {
        version: str(row["cuda"])
        for row in matrix.tables["xformers-releases"].rows
        for version in cell_words(row["version"])
    }


def _is_newer(python: str) -> bool:
    return int(python.partition(".")[2] or 0) > int(_LAST_FOR_EACH.partition(".")[2])
