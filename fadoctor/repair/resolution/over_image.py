"""What an image already has and a plan replaces: another tag, or a line that installs over it."""

from __future__ import annotations

import re
import shlex
from typing import TYPE_CHECKING

from fadoctor.knowledge.matrix.load import load_knowledge
from fadoctor.sources.manifests.container_image import with_release
from fadoctor.sources.manifests.dockerfile import KIND

if TYPE_CHECKING:
    from fadoctor.model.place import Place

# FROM pytorch/pytorch:2.5.1-cuda12.4-cudnn9-devel AS base
_FROM = re.compile(r"\s{0,9}FROM\s.{0,300}[^\\\s]\s{0,9}", re.IGNORECASE)
# vllm==0.19.1
_EXACT = re.compile(r"(?P<name>[a-z0-9-]{1,40})==(?P<version>[0-9][0-9a-z.]{0,30})")
# vllm/vllm-openai:${VLLM_VERSION}, and its ARG VLLM_VERSION=v0.27.1
_VARIABLE = re.compile(r"\$(?:\{(?P<braced>\w{1,60})\}|(?P<plain>\w{1,60}))", re.ASCII)
_ARGUMENT = r"(\s{{0,9}}ARG\s{{1,9}}{}=[\"']?)([\w./:-]{{1,200}})([\"']?\s{{0,9}})"


class OverImage:
    """Collects what is installed over the images of some files."""

    def __init__(self) -> None:
        """Begin with nothing."""
        self._found: dict[Place, list[tuple[str, str]]] = {}

    def take(self, line: str, kind: str, place: Place, wanted: tuple[str, str]) -> bool:
        """Return whether a line names an image, over which what is wanted can be installed.

        `wanted`: the requirement, "" to remove it, and its index.
        """
        is_image = kind == KIND and bool(wanted[0]) and _FROM.fullmatch(line) is not None
        if is_image:
            self._found.setdefault(place, []).append(wanted)
        return is_image

    def along(self, wanted: tuple[str, str]) -> bool:
        """Return whether what no line names is installed along with the first of the others."""
        first = next(iter(self._found.values()), None)
        if first is not None:
            first.append(wanted)
        return first is not None

    def put(self, texts: dict[str, list[str]]) -> None:
        """Put the lines into the texts, each into that of its image: other lines keep theirs.

        Where only the server moves that the image is made for, its tag names the release.
        """
        for place, wanted in self._found.items():
            lines, at = texts[place.file], place.line - 1
            if len(wanted) == 1 and _retag(lines, place, wanted[0][0]):
                continue
            end = "\r" if lines[at].endswith("\r") else ""
            indexes = dict.fromkeys(index for _, index in wanted if index)
            options = [word for index in indexes for word in ("--extra-index-url", index)]
            words = shlex.join((*options, *(each for each, _ in wanted)))
            lines[at] += f"\nRUN pip install {words}{end}"


def _retag(lines: list[str], place: Place, wanted: str) -> bool:
    """Write another release into the tag of an image, or into the ARG that it comes from."""
    exact = _EXACT.fullmatch(wanted)
    line, start = lines[place.line - 1], place.column - 1
    words = line[start:].split()
    if exact is None or not words:
        return False
    reference, at, told = words[0], place.line - 1, words[0]
    variable = _VARIABLE.search(reference)
    if variable is not None:
        argument = re.compile(_ARGUMENT.format(variable["braced"] or variable["plain"]))
        given = [(number, match) for number, each in enumerate(lines[:at])
                 if (match := argument.fullmatch(each)) is not None]  # fmt: skip
        if len(given) != 1:
            return False
        at, match = given[0]
        told = reference[: variable.start()] + match[2] + reference[variable.end() :]
    tables = load_knowledge().tables
    new = with_release(told, exact["name"], exact["version"], tables)
    if not new:
        return False
    if variable is None:
        lines[at] = line[:start] + line[start:].replace(reference, new, 1)
        return True
    before, behind = variable.start(), reference[variable.end() :]
    if not new.startswith(reference[:before]) or not new.endswith(behind):
        return False
    lines[at] = match[1] + new[before : len(new) - len(behind)] + match[3]
    return True
