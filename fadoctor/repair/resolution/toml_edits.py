"""Changes of single texts in a file of TOML, whose other lines stay as they are."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from fadoctor.syntax.tree import Node


class Edits:
    """Changes of single texts in the lines of one file, which keep their numbers."""

    def __init__(self) -> None:
        """Begin with none."""
        self.texts: dict[tuple[int, int], tuple[str, str]] = {}
        """Line and column -> the text that is there, and the one to come."""
        self.below: dict[int, list[str]] = {}
        """Line -> what comes below it, 0 at the top."""

    def put(self, lines: list[str]) -> bool:
        """Change the lines; say whether all of them were as they were read."""
        new = list(lines)
        for (number, column), (old, text) in sorted(self.texts.items(), reverse=True):
            line = new[number - 1]
            if not line.startswith(old, column - 1):
                return False
            new[number - 1] = line[: column - 1] + text + line[column - 1 + len(old) :]
        for number, more in self.below.items():
            line = new[number - 1]
            end = "\r" if line.endswith("\r") else ""
            new[number - 1] = "\n".join((line, *(each + end for each in more)))
        lines[:] = new
        return True

    def text(self, node: Node, text: str) -> None:
        """Put another text into a node that is a text in quotes."""
        self.texts[node.line, node.column + 1] = (str(node.value), text)
