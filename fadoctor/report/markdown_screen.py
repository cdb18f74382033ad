"""Keep Markdown within a screen: what is read first stays open, the rest folds under a line."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from fadoctor.report.page_markdown import escape

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

SCREEN, WIDTH = 45, 100
"""Lines and characters of what one sees of a comment or a summary at once."""


class Part(NamedTuple):
    """A block of Markdown; one with a summary folds where the screen is full."""

    text: str
    summary: str = ""
    rank: int = 0
    """Parts of a lower rank fold first."""


def folded(summary: str, lines: Iterable[str]) -> str:
    """Return lines that are shown when one asks for them."""
    body = "\n".join(lines)
    return f"<details><summary>{escape(summary)}</summary>\n\n{body}\n\n</details>"


def height(text: str) -> int:
    """Return how many lines a reader sees of a block, with the empty one after it."""
    lines, fence, is_open = 1, "", True
    for line in text.splitlines():
        if fence:
            lines += is_open
            fence = "" if line == fence else fence
        elif line.startswith("```"):
            fence = "`" * (len(line) - len(line.lstrip("`")))
        elif line.startswith("<details>"):
            lines, is_open = lines + 1, False
        elif line == "</details>":
            is_open = True
        elif is_open:
            lines += max(1, -(-len(line) // WIDTH))
    return lines


def fitted(parts: Sequence[Part], lines: int) -> list[Part]:
    """Fold parts, the last of the lowest rank first, until the open ones have so many lines."""
    kept = list(parts)
    total = sum(height(part.text) for part in kept)
    order = sorted(range(len(kept)), key=lambda place: (kept[place].rank, -place))
    for place in order:
        part = kept[place]
        if total <= lines:
            break
        if part.summary:
            kept[place] = Part(folded(part.summary, [part.text]))
            total += height(kept[place].text) - height(part.text)
    return kept
