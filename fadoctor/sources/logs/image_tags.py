"""What the tag of an image says is in it: a server, torch, Python; and torch's label elsewhere."""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING

import msgspec

from fadoctor.model.packages import SGLANG, VLLM
from fadoctor.syntax.patterns import compiled

if TYPE_CHECKING:
    from collections.abc import Iterator

MOST = 20
"""Most images of one line that are read."""

# pytorch/pytorch:2.6.0-cuda12.4-cudnn9-devel | axolotlai/axolotl-base:main-base-py3.11-cu124-2.6.0
# vllm/vllm-openai:v0.8.5.post1 | lmsysorg/sglang:v0.5.3-cu126
_IMAGE = compiled(
    r"(?<![\w./:-])(?:[\w.-]{1,60}(?::\d{2,5})?/){1,4}(?P<name>[a-z0-9][\w.-]{0,60})"
    r":(?P<tag>[a-zA-Z0-9][\w.-]{2,100})"
)
_RELEASE = compiled(r"v(?P<found>\d{1,2}\.\d{1,3}\.\d{1,3}(?:\.post\d|rc\d)?)(?![\w.])")
_SERVERS = {"vllm-openai": VLLM, SGLANG: SGLANG}
"""Images whose tag begins with the release of a server."""

_PYTHON = compiled(r"(?<![a-z0-9])py(?:thon)?3\.?(?P<minor>[7-9]|1[0-9])(?![\d])")
_CUDA = compiled(r"(?<![a-z0-9])cu(?:da)?(?P<major>1[1-3])\.?(?P<minor>\d)(?![\d])")
_TORCH_FIRST = compiled(r"(?P<found>[12]\.\d{1,2}\.\d)(?=-)")
_TORCH = compiled(r"(?:(?<![a-z])torch|cu1\d{2}-)(?P<found>[12]\.\d{1,2}\.\d)(?![\w.])")
# torch2.2.0+cuda11.8 | torch2.9 + cu128 | pytorch 2.6.0 (cu124) | PyTorch-2.3.0-cu121, but no file
_LABELLED = compiled(
    r"(?<![\w./\\+-])(?i:py)?(?i:torch)(?:(?: version)?[ :=-]{1,3}|(?=\d))v?"
    r"(?P<release>[12]\.\d{1,2}(?:\.\d)?)(?: ?\+ ?|[ (,/-]{1,2}|(?=cu))"
    r"(?:cu(?P<digits>9[0-2]|1[0-3]\d)|(?<=\+)cuda(?P<dotted>1[0-3]\.\d))(?![\w.-]\w)(?!\w)"
)

PYTHON = "python"
"""Stands where a distribution does."""


class Tagged(msgspec.Struct, frozen=True):
    """What an image has, or a person: a distribution with its version, or Python."""

    distribution: str
    """`PYTHON` for Python itself."""
    version: str
    span: tuple[int, int]


def tagged(text: str) -> Iterator[Tagged]:
    """Yield what images have that a line names, by their tags, and torch with its label apart."""
    for apart in islice(_LABELLED.finditer(text), MOST) if "cu" in text else ():
        digits = apart["digits"] or apart["dotted"].replace(".", "")
        yield Tagged("torch", f"{apart['release']}+cu{digits}", apart.span())
    for image in islice(_IMAGE.finditer(text), MOST) if ":" in text and "/" in text else ():
        name, tag = image["name"], image["tag"]
        if (server := _SERVERS.get(name)) and (release := _RELEASE.match(tag)):
            yield Tagged(server, release["found"], image.span())
        first = _TORCH_FIRST.match(tag) if name == "pytorch" else None
        if torch := first or _TORCH.search(tag):
            cuda = _CUDA.search(tag)
            label = f"+cu{cuda['major']}{cuda['minor']}" if cuda else ""
            yield Tagged("torch", f"{torch['found']}{label}", image.span())
        if python := _PYTHON.search(tag):
            yield Tagged(PYTHON, f"3.{python['minor']}", image.span())
