"""What the tag of an image says that no table has: torch, its CUDA, Python and flash-attn.

Who builds an image writes these words into its tag in much the same way; nobody has read what is
in it, so the rest of it stays open.
"""

from __future__ import annotations

import re

from fadoctor.model.packages import FLASH_ATTN, TORCH

# th2.6.0, torch2.6.0, pytorch_2.5.1, pt25
_TORCH = re.compile(
    r"(?:^|[-_.+])(?:py)?(?:torch|th|pt)[-_]?v?"
    r"(?:(?P<dotted>[12]\.\d{1,2}(?:\.\d{1,2})?)|2(?P<minor>[2-9])(?P<patch>\d)?)(?![\d.]*[a-z0-9])"
)
_CUDA = re.compile(r"(?:^|[-_.+])cu(?:da)?[-_]?(?P<major>1[1-3])\.?(?P<minor>\d)(?:\.\d)?(?!\d)")
_PYTHON = re.compile(r"(?:^|[-_.+])(?:py|cp|python)[-_]?3\.?(?P<minor>[7-9]|1\d)(?!\d)")
_FLASH = re.compile(
    r"(?:^|[-_.+])(?:flash[-_]?att(?:n|ention)|fa)[-_]?v?"
    r"(?P<version>2\.\d{1,2}\.\d{1,2}(?:\.post\d)?)(?![\d.]*[a-z0-9])"
)
_OTHER = re.compile(r"rocm|xpu|npu|musa|(?:^|[-_.+])cpu(?:$|[-_.+])|nightly|dev\d")
"""Words of images whose torch is of no index for CUDA, or is no release."""


def told_by_tag(tag: str) -> dict[str, str]:
    """Return what a tag says, as the table of images names it; nothing without torch and CUDA.

    A torch of which the tag names two digits alone has any patch: ``2.5.*``. A bare
    number may be the image's own release.
    """
    text = tag.lower()
    if _OTHER.search(text):
        return {}
    torch, cuda = _TORCH.search(text), _CUDA.search(text)
    if torch is None or cuda is None:
        return {}
    said = {
        TORCH: _release(torch.groupdict()),
        "torch_cuda": f"{cuda['major']}.{cuda['minor']}",
    }
    if python := _PYTHON.search(text):
        said["python"] = f"3.{python['minor']}"
    if flash := _FLASH.search(text):
        said[FLASH_ATTN] = flash["version"]
    return said


def _release(found: dict[str, str | None]) -> str:
    dotted = found["dotted"] or ".".join(filter(None, ("2", found["minor"], found["patch"])))
    return dotted if dotted.count(".") > 1 else f"{dotted}.*"
