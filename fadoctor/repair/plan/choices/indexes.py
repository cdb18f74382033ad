"""Which builds of torch there are, and where: PyPI's own, and those of other indexes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fadoctor.knowledge.matrix.query import cell_words
from fadoctor.model.fact import Absent, Known

if TYPE_CHECKING:
    from fadoctor.knowledge.matrix.query import Matrix

CPU, PYPI = "cpu", "pypi"


class Indexes:
    """The builds of one knowledge base."""

    def __init__(self, matrix: Matrix) -> None:
        """Take the matrix of all tables."""
        self.matrix = matrix
        self._builds: dict[tuple[str, str, str], str] = {}
        """Version, build, platform -> CUDA."""
        self._plain: set[tuple[str, str, str]] = set()
        for row in matrix.tables["torch-builds"].rows:
            for version in cell_words(row["version"]):
                for build in cell_words(row["build"]):
                    for platform in cell_words(row["platform"]):
                        self._builds[version, build, platform] = str(row["cuda"])
                        if row.get("beside") == "plain":
                            self._plain.add((version, build, platform))

    def knows(self, platform: str) -> bool:
        """Return whether builds with CUDA are known for a platform, or which one it is is not."""
        return not platform or any(known == platform for _, _, known in self._builds)

    def of(self, build: str) -> str:
        """Return the index that serves a build of torch, "" for PyPI's and unknown ones."""
        fact = self.matrix.find("torch-indexes", {"build": Known(build, "asked")}).cell("index")
        return str(fact.value) if isinstance(fact, Known) else ""

    def has(self, build: str, torch: str, platform: str) -> bool:
        """Return whether a release of torch was surely published in a build."""
        return bool(torch) and (build == CPU or (torch, build, platform) in self._builds)

    def is_plain(self, build: str, torch: str, platform: str) -> bool:
        """Return whether the index has no label on what is published beside a build of torch."""
        return (torch, build, platform) in self._plain

    def cuda_of(self, build: str, torch: str, platform: str) -> str | None:
        """Return the CUDA of a build of a release, "" for a CPU build, None where not known."""
        if build == CPU:
            return ""
        if build != PYPI:
            return self._builds.get((torch, build, platform))
        keys = {"version": Known(torch, "asked"), "platform": Known(platform, "asked")}
        cell = self.matrix.find("torch-releases", keys).cell("pypi_cuda") if torch else None
        match cell:
            case Known():
                return str(cell.value)
            case Absent():
                return ""
            case _:
                return None
