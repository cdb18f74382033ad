"""What a person, or a tool's text that was copied by hand, says of one requirement.

unsloth wants transformers<=4.55.4, I have 4.57. The name, the range and what is there are read in
any language and order of words; only the verb between them comes from a list.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from fadoctor.model.packages import COMPANIONS, STACK
from fadoctor.sources.pasted.requirement_rows import RANGE, VERSION, ToldRequirement, specifier_of
from fadoctor.sources.probes.metadata import normalise_name
from fadoctor.syntax.patterns import compiled

if TYPE_CHECKING:
    from collections.abc import Iterator

ASKER_LIMIT = 70
"""Characters before a range in which the one who asks is named."""

FOUND_LIMIT = 70
"""Characters behind a range in which it is told what is there."""

_ASKERS = STACK | COMPANIONS

_NEEDED = compiled(
    rf"(?<![\w./=-])(?P<needs>[A-Za-z][A-Za-z0-9_-]{{1,40}})(?: versions?)?[`'\"]? ?\(?"
    rf"(?P<range>{RANGE})"
)
_NAME = compiled(r"(?<![\w./-])[A-Za-z][A-Za-z0-9_-]{1,40}(?![\w/])")
_OWN_RELEASE = compiled(rf"(?: |==| \()v?(?P<release>{VERSION})(?![\w.])")
_ASKS = compiled(
    r"(?i)\b(?:requir(?:es?|ed|ing)|has requirement|needs?|wants?|pins?|asks? for|accepts?"
    r"|expects?|insists?|depends? on"
    r"|supports?|pide|exige|requiere|necesita|verlangt|braucht|benötigt|akzeptiert|erwartet"
    r"|demande|nécessite|réclame|attend|requer|precisa|richiede|vuole)\b"
    r"|要求|需要|依赖|限定|只支持|必要|求め|必須|요구|필요|требу|нужен|нужно|нужна|хочет|просит"
)
_BY_OTHERS = compiled(r"(?i)\b(?:you|i|we|my|your|our|project|user)\b|我|私|\b[Ии]\b")
_BREAK = compiled(r"[.;!?](?=\s|$)|[\u3002\uff01\uff1f\uff1b\n]|[<>=]=?\d")
_FOUND = compiled(
    r"(?i)(?:\b(?:have|has|got|am on|are on|is on|on|is|installed|there is|found|using|running"
    r"|tengo|tenho|habe|hab|ist|steht|j.ai|est|ho|hay)\b|装|我|现在|当前|实际|版本是|但是|入って|入れ|手元|環境|今の"
    r"|インストール|깔|설치|\u0443 меня|стоит|установлен)[^.;!?\n\u3002]{0,24}?(?<![\w.<>=])"
    rf"v?(?P<found>{VERSION})"
    rf"|(?<![\w.<>=])v?(?P<there>{VERSION})[`'\"]? (?:is|was|installed|ist|está|est|стоит"
    r"|установлен|が入って|がインストール|이|가|을)"
)


def told_by_people(text: str) -> Iterator[ToldRequirement]:
    """Yield the requirements that a line tells of in words, where it names a package that asks."""
    for needed in _NEEDED.finditer(text):
        needs = normalise_name(needed["needs"])
        asker = _asker(text[max(0, needed.start() - ASKER_LIMIT) : needed.start()], needs)
        if asker is None or not _ASKS.search(asker[2] + text[needed.end() : needed.end() + 8]):
            continue
        behind = text[needed.end() : needed.end() + FOUND_LIMIT]
        found = _FOUND.search(behind)
        if found and _is_other(behind[: found.start(found.lastgroup or 0)], needs):
            continue
        there = found[found.lastgroup or 0] if found else ""
        yield ToldRequirement(
            asker[0], asker[1], needs, specifier_of(needed["range"]), there.rstrip(".")
        )


def _asker(before: str, needs: str) -> tuple[str, str, str] | None:
    """Return who asks, its release, and the words behind it; None where no package is nearest."""
    names = [name for name in _NAME.finditer(before) if _is_package(name[0])]
    if not names:
        return None
    name, asker = names[-1], normalise_name(names[-1][0])
    release = _OWN_RELEASE.match(before, name.end())
    between = before[release.end() if release else name.end() :]
    if asker == needs or _BREAK.search(between) or _BY_OTHERS.search(between):
        return None
    return asker, release["release"].rstrip(".") if release else "", between


def _is_other(before: str, needs: str) -> bool:
    """Return whether a version is that of another package, which is named right before it."""
    names = _NAME.findall(before)
    return bool(names) and _is_package(names[-1]) and normalise_name(names[-1]) != needs


def _is_package(name: str) -> bool:
    return normalise_name(name) in _ASKERS
