"""For which platforms releases are published, and what they require on some platforms alone."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fadoctor.knowledge.matrix.versions import is_in
from fadoctor.repair.plan.released import words

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from fadoctor.knowledge.matrix.query import Matrix


class Published:
    """What one knowledge base says of it; nothing it says is against what it does not name."""

    def __init__(self, matrix: Matrix) -> None:
        """Take the matrix, whose tables tell the platforms."""
        self._files: dict[str, list[tuple[str, frozenset[str]]]] = {}
        for row in matrix.tables["release-platforms"].rows:
            for name in words(row["package"]):
                platforms = frozenset(words(row["platforms"]))
                self._files.setdefault(name, []).append((str(row["version"]), platforms))
        self._conditions: dict[str, list[tuple[str, frozenset[str], frozenset[str]]]] = {}
        for row in matrix.tables["requirement-platforms"].rows:
            needs, platforms = (frozenset(words(row[name])) for name in ("needs", "platforms"))
            for name in words(row["package"]):
                told = (str(row["version"]), needs, platforms)
                self._conditions.setdefault(name, []).append(told)

    def has_file(self, name: str, version: str, platform: str) -> bool:
        """Return whether the index has a file of a release for a platform, or nobody has looked."""
        return not platform or all(
            platform in platforms
            for versions, platforms in self._files.get(name, ())
            if is_in(version, versions) is True
        )

    def required(
        self, name: str, version: str, needs: Mapping[str, str], platform: str
    ) -> dict[str, str]:
        """Return what a release requires on a platform."""
        left_out = set(self._left_out(name, version, platform)) if platform else set()
        return {other: specifier for other, specifier in needs.items() if other not in left_out}

    def can_be_had(self, name: str, version: str, needs: Mapping[str, str], platform: str) -> bool:
        """Return whether a release has a file for a platform, and so has each that it pins."""
        pins = {other: s[2:] for other, s in needs.items() if s.startswith("==") and "," not in s}
        return self.has_file(name, version, platform) and all(
            self.has_file(other, pin, platform) for other, pin in pins.items()
        )

    def _left_out(self, name: str, version: str, platform: str) -> Iterator[str]:
        for versions, needs, platforms in self._conditions.get(name, ()):
            if platform not in platforms and is_in(version, versions) is True:
                yield from needs
