"""Take out of a text the programs that work, as it says: the one that fails is another."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fadoctor.syntax.patterns import compiled

if TYPE_CHECKING:
    import re

_MARK = compiled(
    r"(?i)\b(?:works?|working|runs?|running|no (?:problem|issue)s?)(?: \w{2,10}){0,2}? "
    r"(?:fine|well|perfectly|great|ok(?:ay)?|normally|flawlessly|properly|correctly|as expected"
    r"|with(?:out| no))\b"
)
# ..., and ComfyUI works fine. | A1111 and Forge are running without problems (same GPU).
_WORKS = compiled(
    r"(?im)(?:(?<=[.!?;,()])|^) {0,3}(?:and |while |but |though |although |whereas )?"
    r"(?P<named>[^\n.!?;,()]{2,120}?) (?:works?|runs?|(?:is|are) (?:all )?(?:working|running))"
    r"(?: (?:just|perfectly|all|totally|completely|absolutely|both|there|too|also|still))? "
    r"(?:fine|well|perfectly|great|ok(?:ay)?|normally|flawlessly|properly|correctly|as expected"
    r"|with(?:out| no)(?: any| a)? (?:problem|issue|error|hitch|trouble)(?:e?s)?)"
    r"(?: (?:too|also|there|though|here|on (?:it|this (?:pc|machine|card|gpu))))?"
    r"(?: \([^()\n]{1,60}\))? {0,3}(?:[.!;)]|$)"
    r"(?!\s{0,3}(?:but|however|only|until|except|though|unless|yet)\b)"
)
_DOUBTS = compiled(
    r"(?i)\b(?:not|never|if|should|does|do|did|was|were|used|supposed|would|could|nothing|none|"
    r"when|once|until|unless|before|after|without|it|this|that|everything|only|inference)\b|n't\b"
)


def without_working(text: str) -> str:
    """Return a text without the clauses that say of something that it works."""
    return _WORKS.sub(_left, text) if _MARK.search(text) else text


def _left(found: re.Match[str]) -> str:
    return found[0] if _DOUBTS.search(found["named"]) else " "
