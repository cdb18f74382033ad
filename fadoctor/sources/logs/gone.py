"""Graphics cards that, by a text, are in that machine no more, or are compared with its own."""

from __future__ import annotations

from fadoctor.syntax.patterns import compiled

_LEFT = compiled(
    r"(?i)\b(?:replaced|swapped(?: out)?|sold|traded(?: in)?|exchanged|gave away|used to have"
    r"|(?:switched|upgraded|changed|moved|came|coming|went) from) "
    r"(?:(?:my|our|the|an?) )?(?:old )?(?:(?:nvidia|amd|geforce|radeon) ){0,2}$"
)
"""I replaced my RTX 3070 with an RX 7900 XT: the first of both is gone."""
_MOVED = compiled(
    r"(?i)\b(?:switched|moved|put|gave) (?:(?:my|our|the) )?(?:old )?(?:nvidia |amd )?$"
)
_ELSEWHERE = compiled(
    r"(?i) (?:in)?to (?:my|our|the|an?|another) "
    r"(?!(?:main|own|current|primary|daily|present)\b)(?:\w{1,12} ){0,2}"
    r"(?:server|machine|pc|computer|rig|laptop|workstation|friend|brother)\b"
)
"""I switched my 4090 to my Linux server: it is in another machine."""
_OWN = compiled(
    r"(?i)\b(?:i have|i.ve got|i own|i use|i am using|i.m using|my (?:gpu|card|graphics card) is) "
    r"(?:an? |the )?(?:\w{1,12} ){0,3}\w{0,4}\d{3,4}"
)
"""I have an RX 6800 XT: another card that such a line compares with it is not there."""
_AGAINST = compiled(
    r"(?i)\b(?:than|unlike|compared (?:to|with)|versus|vs\.?)"
    r"(?: (?:with|on|an?|the))?(?: (?:nvidia|amd|geforce|radeon|[rg]tx|rx)){0,3} $"
)
_LIKE = compiled(
    r"(?i)\b(?:as (?:powerful|fast|good|strong|capable|slow|weak|quick) as|on par with"
    r"|(?:equivalent|comparable|similar) (?:to|of|with)|(?:level|performance) of)"
    r"(?: (?:an?|the|some))?(?: (?:nvidia|amd|geforce|radeon|[rg]tx|rx|gt)){0,3} $"
)
"""It is as powerful as an NVIDIA GT 1030: a card that nobody has here."""
_WITH = compiled(r"(?i)\b(?:with|on)(?: an?)?(?: (?:nvidia|amd|geforce|radeon|[rg]tx|rx)){0,3} $")
_TAKES = compiled(r"(?i)(?: ?(?:ti|super|xtx?))?,? (?:it )?(?:only|just|takes?|took|needs?)\b")
"""With nvidia RTX 3060 only 2 hours."""
_BEFORE, _BEHIND = 48, 48


def is_gone(text: str, start: int, end: int) -> bool:
    """Return whether the words around the name of a card say that it was taken out."""
    before = text[max(0, start - _BEFORE) : start]
    if _LEFT.search(before) or _LIKE.search(before):
        return True
    if _is_compared(before, text[:start], text[end : end + _BEHIND]):
        return True
    return bool(_MOVED.search(before) and _ELSEWHERE.match(text[end : end + _BEHIND]))


def _is_compared(before: str, line: str, behind: str) -> bool:
    """Return whether a line that tells of the writer's own card names this one beside it."""
    if not (_AGAINST.search(before) or (_WITH.search(before) and _TAKES.match(behind))):
        return False
    return bool(_OWN.search(line))
