"""Constructions that no text uses, with what a colleague would say: CONTRIBUTING.md lists them."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]

REFUSED = {
    "hangs on": r"\b(?:hangs|hanging) on\b",
    "take X for Y": r"\b(?:take|takes|taken|took)\b(?: [^\s,;:]*[^\s.,;:]){1,6}"
    r" for (?:an?|finished|granted|it|new|newer|none|older|one|the (?:new|older|wrong))\b",
    "nobody": r"\b[Nn]obody\b",
    "behind": r"(?<!left )(?<!left files )\b[Bb]ehind\b(?! a (?:firewall|proxy))",
    "of it": r"(?<!all )(?<!any )(?<!both )(?<!each )(?<!either )(?<!half )(?<!little )"
    r"(?<!many )(?<!more )(?<!most )(?<!none )(?<!one )(?<!out )(?<!part )(?<!rest )(?<!some )"
    r"(?<!three )(?<!two )\bof (?:it|them)\b",
    "stands": r"\b(?:[Ss]tands?|stood)\b(?!-in\b)",
    "brings": r"\b(?:[Bb]rings?|[Bb]rought|bringing)\b",
    "goes with": r"\bgo(?:es)? with\b",
    "in the place of": r"\b[Ii]n (?:the|its|their) place of\b",
    "speaks against": r"\bspeaks? against\b",
    "nothing is known": r"\b[Nn]othing (?:(?:is|was) (?:known|read|recogni[sz]ed|said)|of it)\b"
    r"|\bsays? nothing\b|\b[Nn]othing here is about\b|\b[Nn]othing is there\b",
    "is none of": r"\b(?:is|in|for|of) none of\b",
    "what is X is Y": r"(?:^|[.;:] )What (?:an?|is|it|they|this|was)\b[^?.:]*[.]",
    "from 2.1 on": r"\b[Ff]rom (?:compute capability |release )?(?:\d[\w.]*|\{[^}]*\}) on\b",
    "lies in one piece": r"\bl(?:ie|ies|ying) in one piece\b",
    "is concerned": r"\b(?:is|are) (?:not )?concerned\b",
    "of its time": r"\bof (?:its|the same|that) time\b",
    "wants": r"\b[Ww]ants\b(?![?|)])",
    "knows": r"\b[Kk]nows\b(?![?|)])|\btables know\b|\bno longer knows?\b"
    r"|\b(?:do|does|did|need|can)(?: not|not) know\b(?! what| which| how)",
}
"""What a text must not say, by the name that CONTRIBUTING.md gives it."""

IN_RULES = {
    "takes long": r"\btakes? long\b",
    "anew": r"\banew\b",
    "one's own": r"\bone's own\b",
    "Where, for if": r"(?:^|[.;] )Where (?!to\b|do\b|does\b|is\b|are\b)",
    "wheel by others": r"\b(?:wheels?|builds?) (?:\w+ ){0,3}(?:by|of) others\b|\bothers publish\b",
    "torch of pip": r"\b(?:torch|pytorch|triton|driver) of (?:pip|conda|PyPI|AMD|Windows)\b",
    "graphics of the processor": r"\bgraphics of (?:the )?processors?\b",
    "goes on": r"\bgoes on\b",
    "take back": r"\b(?:takes?|took) (?:it|this|that|them) back\b|\btaken back\b",
    "no table has": r"\b[Nn]o table (?:has|lists)\b|\bin no table\b",
    "does without": r"\bdoes without\b",
    "by its address": r"\bby (?:its|their|an) address\b",
    "an option belongs to": r"--[a-z-]+ belongs to\b",
    "in vain": r"\bin vain\b",
}
"""What rules, tables and messages must not say either; pages are written by the list above."""

_ROW = re.compile(r"^\| `([^`]+)` \| ([^|]+) \| ([^|]+) \|$", re.MULTILINE)


def rows() -> dict[str, tuple[str, str]]:
    """Return for each construction of CONTRIBUTING.md a sentence with it and one without."""
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    section = text.partition("## How a text is written")[2].partition("\n## ")[0]
    return {name: (bad.strip(), good.strip()) for name, bad, good in _ROW.findall(section)}


def refused(text: str, patterns: dict[str, str] = REFUSED) -> list[str]:
    """Return the names of the constructions that a text uses."""
    return [name for name, pattern in patterns.items() if re.search(pattern, text)]
