"""The pages of rules that are nearest to some words, in the order of the program's own index."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from fadoctor.judging.explain.recognise.nearest import PageIndex
from fadoctor.judging.explain.recognise.pages import load_pages
from fadoctor.knowledge.matrix.load import load_knowledge

if TYPE_CHECKING:
    from fadoctor.judging.explain.recognise.nearest import Near

NOTHING = "No page of a rule has any of these words.\n"


def near(text: str, count: int) -> tuple[Near, ...]:
    """Return the nearest pages; none where no page has any of the words."""
    return PageIndex(load_pages(load_knowledge()).index).near(text, count)


def render(found: tuple[Near, ...]) -> str:
    """Return the pages as text, one a line."""
    if not found:
        return NOTHING
    width = max(len(each.rule) for each in found)
    lines = [f"{each.rule:<{width}}  {each.title}\n" for each in found]
    return "".join([*lines, "\n`fadoctor rules show ID` prints a page.\n"])


def render_json(found: tuple[Near, ...]) -> str:
    """Return the pages as JSON."""
    pages = [{"rule_id": each.rule, "title": each.title, "score": each.score} for each in found]
    encoded = msgspec.json.encode({"schema_version": 1, "pages": pages})
    return msgspec.json.format(encoded, indent=2).decode() + "\n"
