"""The lines that tell what somebody tried in vain: what they name was there for a while."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fadoctor.syntax.likely_lines import likely_numbers
from fadoctor.syntax.patterns import compiled

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from fadoctor.sources.pasted.claims import PastedLine

_ITEM = compiled(r"^\s{0,8}(?:\(?\d{1,2}[.)\uff0e\u3001]|[-*\u2022+])\s?(?=\S)")
# ### What I tried | I have already tried the following: | 已经尝试过的方法
_OPENS = compiled(
    r"(?i)^(?=[^\n]{0,160}$)[^\n]{0,120}?(?:\b(?:tried|attempted|attempts)\b|\u5c1d\u8bd5|\u8bd5\u8fc7|\u8a66\u3057"
    r"|\b\u043f\u0440\u043e\u0431\u043e\u0432\u0430\u043b|\bversucht\b|\bessay\u00e9|\bprob(?:ado|\u00e9)\b)"
)
_ENDS = compiled(r"[:\uff1a]\s{0,4}$|^\s{0,4}#{1,6} ")
# torch 2.4 (still error) | with 2.5.1 the same error | 2.6: did not help
_IN_VAIN = compiled(
    r"(?i)\bstill (?:the |an? )?(?:same )?(?:error|fail|crash|not work|broken)\w{0,3}\b"
    r"|\b(?:same|no) (?:error|result|luck|effect|change)\b"
    r"|(?:n.t|not|nothing) (?:help|work|solve|fix|change)(?:e?d)?\b"
    r"|\u4ecd\u7136?(?:\u62a5\u9519|\u4e0d\u884c|\u5931\u8d25)"
    r"|\u8fd8\u662f(?:\u62a5\u9519|\u4e0d\u884c|\u4e00\u6837)"
    r"|\u4e0d\u884c|\u65e0\u6548|\u30c0\u30e1|\bohne erfolg\b"
    r"|\b\u043d\u0435 \u043f\u043e\u043c\u043e\u0433"
)


def attempts(lines: Sequence[PastedLine]) -> frozenset[int]:
    """Return the numbers of lines that name what was tried in vain."""
    return frozenset(_attempts(lines))


def _attempts(lines: Sequence[PastedLine]) -> Iterator[int]:
    is_open = False
    texts = tuple(line.text for line in lines)
    opens, vain = (frozenset(likely_numbers(texts, each)) for each in (_OPENS, _IN_VAIN))
    if not opens and not vain:
        return
    for number, line in enumerate(lines):
        is_item = _ITEM.match(line.text) is not None
        if (is_item and is_open) or (is_item and number in vain and _IN_VAIN.search(line.text)):
            yield line.number
        elif number in opens and _OPENS.search(line.text):
            is_open = _ENDS.search(line.text) is not None
            if _IN_VAIN.search(line.text):
                yield line.number
        elif not is_item:
            is_open = False
