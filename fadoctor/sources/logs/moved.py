"""What people tell of versions to which they moved packages, and which they typed as steps."""

from __future__ import annotations

import re
from itertools import islice
from typing import TYPE_CHECKING

from fadoctor.sources.pasted.claims import Claim
from fadoctor.sources.pasted.names import NAME, VERSION, distribution_of
from fadoctor.syntax.likely_lines import likely_of
from fadoctor.syntax.patterns import compiled

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from fadoctor.sources.pasted.claims import PastedLine

TOOL = "a step of the log"

_MOST = 64
_MOVED = tuple(
    compiled(form, re.IGNORECASE)
    for form in (
        # I upgraded pytorch to 2.5.1 | after downgrading torch to 2.4.0
        (
            rf"(?<!\w)(?:up|down)(?:grad|dat)(?:ed|ing) (?:my |the )?(?P<name>{NAME})"
            rf"(?: from \S{{1,20}})? to v?{VERSION}(?!\w|\.\d)"
        ),
        # since I updated to torch 2.9.1 | went back to transformers 4.46.3
        (
            rf"(?<!\w)(?:(?:up|down)(?:grad|dat)ed|switched|moved|went back|rolled back|reverted)"
            rf" to (?P<name>{NAME}) v?{VERSION}(?!\w|\.\d)"
        ),
        # it no longer works since torch 2.8 | since the update to torch 2.9 it crashes
        (
            rf"(?:\b(?:no longer|not|never|stop\w{{0,4}}|fail\w{{0,3}}|crash\w{{0,3}}"
            rf"|segfaults?|broke\w?)\b[^.\n]{{0,60}}|n.t [^.\n]{{0,60}}"
            rf"|(?<!\w)(?=since (?:the|an?|my) (?:up|down)(?:grad|dat)e ))"
            rf"since (?:(?:the|an?|my) )?(?:(?:up|down)(?:grad|dat)e (?:to|of) )?"
            rf"(?P<name>torch|pytorch) v?{VERSION}(?!\w|\.\d)"
        ),
        # xformers stayed at 0.0.26.post1
        (
            rf"(?<![\w.-])(?P<name>{NAME}) (?:stay(?:ed|s)|is (?:still|stuck))"
            rf" (?:at|on) v?{VERSION}(?!\w|\.\d)"
        ),
        # torch 2.9.1+cu128 on an RTX 5090, after pip install of this folder
        (
            rf"(?:^|[.:;] )(?P<name>torch) v?{VERSION}(?<=\+cu1\d\d)"
            rf" on (?:an?|my|our|the) (?:\w{{1,12}} )?(?:RTX|GTX|[ABHLV]\d|T4|GB10)"
        ),
        # 降级到 torch 2.4.0 之后
        (
            rf"(?:升级|降级|更新|回退|切换|换)"
            rf"(?:到|至|成|为)了?\s{{0,2}}(?P<name>{NAME})"
            rf"(?:\s{{0,2}}版本)?\s{{0,2}}v?{VERSION}\s{{0,2}}(?:版本?)?"
            rf"\s{{0,2}}(?:之后|以后|后)"
        ),
        # 把 torch 降到了 2.4.0
        (
            rf"(?:把|将)\s{{0,2}}(?P<name>{NAME})[^\n\d,\uff0c]{{0,8}}"
            rf"(?:升级|降级|更新|回退|升|降|换)"
            rf"(?:到了|成了|为了|到|成|为)\s{{0,2}}v?{VERSION}"
            rf"(?=[^\n]{{0,12}}(?:后|还是|仍))"
        ),
        # nach dem Update auf torch 2.9.1 | the same in Russian | tras actualizar a torch 2.9
        (
            rf"(?:nach (?:dem |einem )?(?:update|upgrade|downgrade|wechsel) auf"
            rf"|\u043f\u043e\u0441\u043b\u0435 "
            rf"(?:\u043e\u0431\u043d\u043e\u0432\u043b\u0435\u043d\u0438\u044f"
            rf"|\u043f\u0435\u0440\u0435\u0445\u043e\u0434\u0430|\u043e\u0442\u043a\u0430\u0442\u0430)"
            rf" (?:\u043d\u0430|\u0434\u043e)|(?:tras|despu[e\u00e9]s de) actualizar (?:a|al)"
            rf"|apr[e\u00e8]s (?:la |une )?mise [a\u00e0] jour (?:vers|de|en)) "
            rf"(?P<name>{NAME}) v?{VERSION}(?!\w|\.\d)"
        ),
        # torch 2.9.1 に更新したら
        (
            rf"(?<![\w.-])(?P<name>{NAME})(?: |を)?\s{{0,2}}v?{VERSION}\s?に"
            rf"(?:アップグレード|アップデート"
            rf"|ダウングレード|更新|上げ|下げ)"
            rf"(?:した|して|た|て|後)"
        ),
    )
)
_MIGHT = compiled(
    r"(?i)\b(?:if|would|should|could|can|want|must|please|try|needs?|be)\b[^.]{0,40}$"
    r"|(?:如果|建议|请|是否|需要|可以)[^\u3002]{0,12}$"
)

# I downgraded to torch 2.4.0 and it works: that is not what failed
_HELPED = compiled(
    r"(?i)[^.\n]{0,24}\b(?:it (?:now )?work(?:s|ed)|works (?:again|now|fine)|fixed|solve[sd]"
    r"|help(?:s|ed))\b"
    r"|[^\u3002\n]{0,12}(?:解决|可以了|正常|好了)"
)

# 2. pip install torch==2.3.0 | $ uv pip install flash-attn==2.5.8 --no-build-isolation
_STEP = compiled(
    r"(?i)\s{0,8}(?:\d{1,2}[.)]\s{1,3}|[-*$#>!%]\s{0,2}){0,1}(?:sudo )?(?:python3? -m )?"
    r"(?P<tool>(?:uv )?pip3?) install (?P<rest>\S[^\n]{0,400})"
)
_PINNED = compiled(rf"(?i)[\"'`]?(?P<name>{NAME})(?:\[[\w,-]{{1,40}}\])?=={VERSION}[\"'`]?")
_OTHER = compiled(
    r"(?i)[\"'`]?(?:-{1,2}[\w-]{1,40}(?:=\S{1,200})?|[a-z][\w.,\[\]=<>~!-]{0,80}"
    r"|https?://\S{1,200})[\"'`]?"
)
# What an installer says when it has not done what it was told: then a step says nothing.
_REFUSED = compiled(
    r"No matching distribution|Could not find a version|Failed building wheel|Failed to build"
    r"|did not run successfully|ResolutionImpossible|No solution found"
    r"|Getting requirements to build"
    r"|which is incompatible|(?i:cannot install|can.?t install|unable to install)"
    r"|(?i:install\w{0,6} fail|fail\w{0,3} to install)|装不|安装失败"
)
_FEWEST = 2
"""So many commands of an installer are steps that somebody has taken."""


def moved(text: str) -> Iterator[tuple[str, str]]:
    """Yield packages that somebody has moved to a version, or that stayed at one."""
    for found in (each for form in _MOVED for each in islice(form.finditer(text), _MOST)):
        might = _MIGHT.search(text[max(0, found.start() - 60) : found.start()])
        if not might and not _HELPED.match(text, found.end()):
            yield found["name"], found["version"]


def typed_steps(lines: Sequence[PastedLine], mentioned: frozenset[str]) -> Iterator[Claim]:
    """Yield what the last of several typed installations of a package has pinned.

    Nothing where an installer refuses one, and nothing of what the text mentions otherwise.
    """
    if any(_REFUSED.search(line.text) for line in likely_of(lines, _REFUSED)):
        return
    typed = likely_of(lines, _STEP)
    steps = [(line, found) for line in typed if (found := _STEP.fullmatch(line.text.rstrip()))]
    if len(steps) < _FEWEST:
        return
    pinned: dict[str, tuple[str, int]] = {}
    for line, step in steps:
        words = step["rest"].split()
        if not all(_OTHER.fullmatch(word) for word in words):
            continue
        for found in filter(None, map(_PINNED.fullmatch, words)):
            pinned[distribution_of(found["name"])] = (found["version"], line.number)
    for distribution, (version, number) in pinned.items():
        if f"package:{distribution}" not in mentioned:
            yield Claim(f"package:{distribution}", version, number, TOOL)
