"""What an image already has and a plan replaces: a line that installs over it, after its own."""

from __future__ import annotations

import re
import shlex
from typing import TYPE_CHECKING

from fadoctor.sources.manifests.dockerfile import KIND

if TYPE_CHECKING:
    from fadoctor.model.place import Place

# FROM pytorch/pytorch:2.5.1-cuda12.4-cudnn9-devel AS base
_FROM = re.compile(r"\s{0,9}FROM\s.{0,300}[^\\\s]\s{0,9}", re.IGNORECASE)


class OverImage:
    """Collects what is installed over the images of some files."""

    def __init__(self) -> None:
        """Begin with nothing."""
        self._found: dict[tuple[str, int], list[tuple[str, str]]] = {}

    def take(self, line: str, kind: str, place: Place, wanted: tuple[str, str]) -> bool:
        """Return whether a line names an image, over which what is wanted can be installed.

        `wanted`: the requirement, "" to remove it, and its index.
        """
        is_image = kind == KIND and bool(wanted[0]) and _FROM.fullmatch(line) is not None
        if is_image:
            self._found.setdefault((place.file, place.line), []).append(wanted)
        return is_image

    def along(self, wanted: tuple[str, str]) -> bool:
        """Return whether what no line names is installed along with the first of the others."""
        first = next(iter(self._found.values()), None)
        if first is not None:
            first.append(wanted)
        return first is not None

    def put(self, texts: dict[str, list[str]]) -> None:
        """Put the lines into the texts, each into that of its image: other lines keep theirs."""
        for (name, number), wanted in self._found.items():
            end = "\r" if texts[name][number - 1].endswith("\r") else ""
            indexes = dict.fromkeys(index for _, index in wanted if index)
            options = [word for index in indexes for word in ("--extra-index-url", index)]
            words = shlex.join((*options, *(each for each, _ in wanted)))
            texts[name][number - 1] += f"\nRUN pip install {words}{end}"
