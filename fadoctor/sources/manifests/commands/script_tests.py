"""Which tests of a script surely hold where its project was just fetched: ``[ ! -d .venv ]``."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from fadoctor.sources.manifests.commands.reachable_files import ReachableFiles
    from fadoctor.sources.manifests.commands.working_folder import WorkingFolder
    from fadoctor.sources.manifests.images.planned_stage import Stage
    from fadoctor.syntax.shell_filled_words import FilledWord

_OF_FILES = frozenset(("-d", "-e", "-f", "-s", "-r"))
# .venv, venv/bin/activate, /workspace/my_env
_ENVIRONMENT = re.compile(r"(?:^|[/._-])v?env(?:[/_-]|$)|(?:^|/)\.?venv", re.IGNORECASE)
_PATTERN = re.compile(r"[*?\[\]{}]")
_EXACTLY = 3


class ScriptTests:
    """Judges the tests of one script."""

    def __init__(self, files: ReachableFiles, folder: WorkingFolder, stage: Stage) -> None:
        """Take the files of the project, and where the commands run."""
        self._files, self._folder, self._stage = files, folder, stage

    def __call__(self, words: tuple[FilledWord, ...]) -> bool | None:
        """Return whether a test holds, None where only a run would tell."""
        names = [word.text for word in words]
        if names[:1] in (["["], ["test"]):
            end = len(names) - (names[0] == "[")
            words, names = words[1:end], names[1:end]
        elif names and names[0] not in {"!", "-n", "-z", *_OF_FILES} and len(names) != _EXACTLY:
            return None
        is_negated = names[:1] == ["!"]
        words, names = words[is_negated:], names[is_negated:]
        if any(word.is_open for word in words):
            return None
        if len(names) == 2 and names[0] in _OF_FILES:
            return self._of_file(names[1], is_negated=is_negated)
        found = _of_texts(names)
        return found if found is None else found != is_negated

    def _of_file(self, path: str, *, is_negated: bool) -> bool | None:
        """Return whether a file is there; what was just fetched has no environment yet."""
        if self._folder.is_fetched:
            return None
        is_in_image = self._stage.workdir is not None
        if not is_in_image and _ENVIRONMENT.search(path):
            return is_negated
        beside = self._folder.beside(path)
        if beside is not None and self._files.has(beside):
            return not is_negated
        return True if is_negated and not is_in_image and beside is not None else None


def _of_texts(names: list[str]) -> bool | None:
    if len(names) == 2 and names[0] in {"-n", "-z"}:
        return bool(names[1]) == (names[0] == "-n")
    if len(names) != _EXACTLY or _PATTERN.search(names[2]):
        return None
    if names[1] in {"=", "=="}:
        return names[0] == names[2]
    return names[0] != names[2] if names[1] == "!=" else None
