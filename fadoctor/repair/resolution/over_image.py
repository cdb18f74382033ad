"""What an image already has and a plan replaces: another tag, or a line that installs over it."""

from __future__ import annotations

import re
import shlex
from typing import TYPE_CHECKING

from fadoctor.knowledge.matrix.load import load_knowledge
from fadoctor.model.packages import BESIDE_TORCH, COMPILED_BESIDE, SETUPS, TORCH, TRITON
from fadoctor.sources.manifests.images.container_image import with_release
from fadoctor.sources.manifests.images.dockerfile import KIND

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from fadoctor.model.environment import Environment
    from fadoctor.model.place import Place

# FROM pytorch/pytorch:2.5.1-cuda12.4-cudnn9-devel AS base
BELOW_MINIMUM = "gpu-below-minimum"
"""The rule of a GPU for which every known release of a server is too new."""
_FROM = re.compile(r"\s{0,9}FROM\s.{0,300}[^\\\s]\s{0,9}", re.IGNORECASE)
# vllm==0.19.1
_EXACT = re.compile(r"(?P<name>[a-z0-9-]{1,40})==(?P<version>[0-9][0-9a-z.]{0,30})")
# vllm/vllm-openai:${VLLM_VERSION}, and its ARG VLLM_VERSION=v0.27.1
_VARIABLE = re.compile(r"\$(?:\{(?P<braced>\w{1,60})\}|(?P<plain>\w{1,60}))", re.ASCII)
# In compose, Kubernetes and their like: image: "vllm/vllm-openai:${TAG:-v0.27.1}"
_IMAGE = re.compile(
    r"(?P<key>\s{0,60}(?:-\s{1,9})?[\"']?image[\"']?\s{0,9}[:=]\s{0,9}[\"']?)"
    r"(?P<image>[a-z0-9$][\w./:${}-]{1,250})(?P<rest>[\"']?,?\s{0,20}(?:#.{0,300})?)"
)
_DEFAULT = re.compile(r"\$\{\w{1,60}:?-(?P<value>[\w./:-]{1,200})\}", re.ASCII)
# RUN pip install, uv pip install
_INSTALL = re.compile(r"\bpip[\d.]{0,4}\s{1,9}install(?=\s)")
_ARGUMENT = r"(\s{{0,9}}ARG\s{{1,9}}{}=[\"']?)([\w./:-]{{1,200}})([\"']?\s{{0,9}})"


class OverImage:
    """Collects what is installed over the images of some files, or in a command with a file."""

    def __init__(self) -> None:
        """Begin with nothing."""
        self._found: dict[Place, list[tuple[str, str]]] = {}
        self._tagged: dict[Place, str] = {}
        self._file: Place | None = None
        """The command that installs a file which was built for one torch, and which none names."""
        self._torch = ""

    def take(self, line: str, kind: str, place: Place, wanted: tuple[str, str]) -> bool:
        """Return whether a line names an image, which can have what is wanted.

        `wanted`: the requirement, "" to remove it, and its index. Over the image of a Dockerfile
        it is installed; elsewhere another tag has it, or none.
        """
        if kind != KIND and (tagged := _with_tag(line.rstrip("\r"), wanted[0])):
            self._tagged[place] = tagged
            return True
        name, _, url = wanted[0].partition(" @ ")
        if name in SETUPS and url.endswith(".whl") and _INSTALL.search(line, 0, place.column):
            self._file = self._file or place
        is_image = kind == KIND and bool(wanted[0]) and _FROM.fullmatch(line) is not None
        if is_image:
            self._found.setdefault(place, []).append(wanted)
        return is_image

    def along(self, wanted: tuple[str, str]) -> bool:
        """Return whether what no line names is installed along with the first of the others.

        Else a torch from PyPI in the command of the file that was built for it, with its triton.
        """
        first = next(iter(self._found.values()), None)
        if first is not None:
            first.append(wanted)
            return True
        name, _, release = wanted[0].partition("==")
        if name == TORCH and self._file is not None and release and "+" not in release:
            self._torch = wanted[0]
        return bool(self._torch) and name in (TORCH, TRITON)

    def put(self, texts: dict[str, list[str]]) -> None:
        """Put the lines into the texts, each into that of its image: other lines keep theirs.

        Where only the server moves that the image is made for, its tag names the release.
        """
        if self._file is not None and self._torch:
            lines, at = texts[self._file.file], self._file.line - 1
            found = next(_INSTALL.finditer(lines[at]), None)
            cut = found.end() if found else 0
            lines[at] = f"{lines[at][:cut]} {self._torch}{lines[at][cut:]}" if found else lines[at]
        for place, line in self._tagged.items():
            end = "\r" if texts[place.file][place.line - 1].endswith("\r") else ""
            texts[place.file][place.line - 1] = line + end
        for place, wanted in self._found.items():
            lines, at = texts[place.file], place.line - 1
            server = _server_among(wanted)
            if server and _retag(lines, place, server):
                self._tagged[place] = lines[at]
                continue
            end = "\r" if lines[at].endswith("\r") else ""
            indexes = dict.fromkeys(index for _, index in wanted if index)
            options = [word for index in indexes for word in ("--extra-index-url", index)]
            words = shlex.join((*options, *(each for each, _ in wanted)))
            lines[at] += f"\nRUN pip install {words}{end}"

    def held(
        self,
        environment: Environment,
        texts: Mapping[str, list[str]],
        moved: Collection[str],
        errors: Collection[str],
    ) -> str:
        """Return what to do instead of moving torch over the image of a server; "" elsewhere.

        The server in it is compiled for the torch in it. Another tag has both, unless the `errors`
        that a plan leaves say that no release of the server supports the GPU.
        """
        if TORCH not in moved:
            return ""
        named = environment.places.get(f"{TORCH}.version", ())
        for package in COMPILED_BESIDE:
            for place in environment.places.get(f"{package}.version", ()):
                lines = texts.get(place.file, [])
                line = lines[place.line - 1].partition("\n")[0].rstrip("\r") if lines else ""
                is_image = _FROM.fullmatch(line) or _IMAGE.fullmatch(line)
                is_elsewhere = any(each != place for each in named)
                if is_image and not is_elsewhere and place not in self._tagged:
                    if BELOW_MINIMUM in errors:
                        return f"{place}: choose another server: no {package} supports this GPU"
                    return (
                        f"{place}: keep the torch of the image, because its {package} is compiled "
                        "for it: choose a tag of the image with another torch instead"
                    )
        return ""


def _server_among(wanted: list[tuple[str, str]]) -> str:
    """Return the server that a tag names, where nothing else moves but what its image brings."""
    found = [each for each, _ in wanted]
    if len(found) == 1:
        return found[0]
    servers = [each for each in found if each.partition("==")[0] in COMPILED_BESIDE]
    others = [each for each in found if each not in servers]
    brought = all(e.partition("==")[0] in (TORCH, *BESIDE_TORCH) and "+" not in e for e in others)
    return servers[0] if len(servers) == 1 and brought else ""


def _with_tag(line: str, wanted: str) -> str:
    """Return a line of YAML or HCL with another release in the tag of its image; "" for others."""
    found = _IMAGE.fullmatch(line)
    if found is None:
        return ""
    image, default = found["image"], _DEFAULT.search(found["image"])
    start, end = default.span("value") if default else (0, len(image))
    whole = default.span() if default else (start, end)
    value = _changed(image, whole, image[start:end], wanted)
    return f"{found['key']}{image[:start]}{value}{image[end:]}{found['rest']}" if value else ""


def _retag(lines: list[str], place: Place, wanted: str) -> bool:
    """Write another release into the tag of an image, or into the ARG that it comes from."""
    at, start = place.line - 1, place.column - 1
    reference = next(iter(lines[at][start:].split()), "")
    variable = _VARIABLE.search(reference)
    if variable is not None:
        return _retag_argument(lines, at, (reference, variable), wanted)
    new = _changed(reference, (0, len(reference)), reference, wanted)
    if new:
        lines[at] = lines[at][:start] + lines[at][start:].replace(reference, new, 1)
    return bool(new)


def _retag_argument(
    lines: list[str], below: int, tag: tuple[str, re.Match[str]], wanted: str
) -> bool:
    """Write another release into the only ARG above a line that gives a tag its variable."""
    reference, variable = tag
    argument = re.compile(_ARGUMENT.format(variable["braced"] or variable["plain"]))
    given = {
        at: found
        for at, line in enumerate(lines[:below])
        if (found := argument.fullmatch(line)) is not None
    }
    if len(given) != 1:
        return False
    [(at, match)] = given.items()
    value = _changed(reference, variable.span(), match[2], wanted)
    if value:
        lines[at] = match[1] + value + match[3]
    return bool(value)


def _changed(reference: str, part: tuple[int, int], value: str, wanted: str) -> str:
    """Return what the value that stands for a part of a reference becomes; "" where it cannot."""
    exact = _EXACT.fullmatch(wanted)
    before, behind = reference[: part[0]], reference[part[1] :]
    if exact is None:
        return ""
    tables = load_knowledge().tables
    new = with_release(f"{before}{value}{behind}", exact["name"], exact["version"], tables)
    if not new or not new.startswith(before) or not new.endswith(behind):
        return ""
    return new[len(before) : len(new) - len(behind)]
