"""Graphics cards that a text tells are in that machine no more."""

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
    r"(?i) (?:in)?to (?:my|our|the|an?|another) (?:\w{1,12} ){0,2}"
    r"(?:server|machine|pc|computer|rig|laptop|workstation|friend|brother)\b"
)
"""I switched my 4090 to my Linux server: it is in another machine."""
_BEFORE, _BEHIND = 48, 48


def is_gone(text: str, start: int, end: int) -> bool:
    """Return whether the words around the name of a card say that it was taken out."""
    before = text[max(0, start - _BEFORE) : start]
    if _LEFT.search(before):
        return True
    return bool(_MOVED.search(before) and _ELSEWHERE.match(text[end : end + _BEHIND]))
