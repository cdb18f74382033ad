"""What to write for a setting in each framework: the lines that a rule's page has ready to copy."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fadoctor.report.page import Item, code, joined, spans

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from fadoctor.model.rule import Knowledge

_TABLE, _FRAMEWORKS = "setting-lines", "frameworks"


def setting_items(wanted: Mapping[str, str], knowledge: Knowledge) -> Iterator[Item]:
    """Yield for each framework that has all of these settings what to write in its newest release.

    `wanted`: topic -> value, such as ``attention`` -> ``sdpa``.
    """
    if not wanted or _TABLE not in knowledge.tables:
        return
    lines = _newest_lines(knowledge)
    names = [f"{topic}-{value}" for topic, value in wanted.items()]
    for row in knowledge.tables[_FRAMEWORKS].rows:
        mine = [lines.get((str(row["framework"]), name)) for name in names]
        if None not in mine:
            yield Item(spans(f"{row['label']}: ", *joined([code(each) for each in mine if each])))


def _newest_lines(knowledge: Knowledge) -> dict[tuple[str, str], str]:
    """Return framework and setting -> line; rows of newer releases are above those of older."""
    found: dict[tuple[str, str], str] = {}
    for row in knowledge.tables[_TABLE].rows:
        for name in str(row["setting"]).split():
            found.setdefault((str(row["framework"]), name), str(row["line"]))
    return found
