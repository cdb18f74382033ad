"""Versions as PEP 440 orders them, for a process that has the standard library only."""

from __future__ import annotations

import re
from typing import Any, Optional, Tuple

_FORM = re.compile(
    r"v?(?:(\d{1,9})!)?(\d{1,9}(?:\.\d{1,9}){0,9})"
    r"(?:[-_.]?(a|alpha|b|beta|c|rc|pre|preview)[-_.]?(\d{0,9}))?"
    r"(?:-(\d{1,9})|[-_.]?(?:post|rev|r)[-_.]?(\d{0,9}))?"
    r"(?:[-_.]?dev[-_.]?(\d{0,9}))?(?:\+([a-z0-9]{1,40}(?:[-_.][a-z0-9]{1,40}){0,9}))?",
    re.IGNORECASE,
)
_STAGES = {"alpha": "a", "beta": "b", "c": "rc", "pre": "rc", "preview": "rc"}
_LOW, _HIGH = -1, 1 << 40


class VersionText(str):
    """A text that compares as versions do: ``torch.__version__``."""

    __slots__ = ()


class Version:
    """A version and the key that orders it."""

    __slots__ = ("key", "release", "text")

    def __init__(self, text: str, release: "Tuple[int, ...]", key: "Tuple[Any, ...]") -> None:
        self.text = text
        self.release = release
        self.key = key

    @property
    def base(self) -> str:
        """The release alone: ``2.13.0``."""
        return ".".join(map(str, self.release))


def parse(text: str) -> Optional[Version]:
    """Return a version, or None where the text is none."""
    match = _FORM.fullmatch(text.strip()) if len(text) < 100 else None
    if match is None:
        return None
    epoch, release_text, stage, number, dash, post, dev, local = match.groups()
    release = tuple(map(int, release_text.split(".")))
    short = release
    while len(short) > 1 and short[-1] == 0:
        short = short[:-1]
    name = (stage or "").lower()
    has_post = dash is not None or post is not None
    early = dev is not None and not stage and not has_post
    before = ("", _LOW) if early else ("z", 0)
    pre = (_STAGES.get(name, name), int(number or 0)) if stage else before
    after = int(dash or post or 0) if has_post else _LOW
    key = (int(epoch or 0), short, pre, after, int(dev or 0) if dev is not None else _HIGH,
           tuple((p.isdigit(), int(p) if p.isdigit() else 0, p.lower())
                 for p in re.split("[-_.]", local)) if local else ())  # fmt: skip
    return Version(text, release, key)
