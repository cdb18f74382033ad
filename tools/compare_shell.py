"""Compare fadoctor's reader of shell scripts with tree-sitter's, over all scripts of some folders.

Both must give the same words for each simple command. What stands in ``$(...)`` is left out: there
fadoctor only looks for the end. Needs the packages of the extra ``test``.

    python -m tools.compare_shell FOLDER... [--limit N] [--show N]
"""

from __future__ import annotations

import argparse
import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import tree_sitter_bash
from tree_sitter import Language, Node, Parser

from fadoctor.syntax.shell_events import Simple
from fadoctor.syntax.shell_grammar import Grammar

if TYPE_CHECKING:
    from collections.abc import Iterator

SIZE_LIMIT = 200_000
_SHELL = re.compile(rb"#![^\n]{0,80}\b(?:bash|dash|sh)\b")
_INNER = frozenset((
    "command_substitution", "process_substitution", "test_command", "arithmetic_expansion",
    "expansion",
))  # fmt: skip
_COMMANDS = frozenset(("command", "declaration_command", "unset_command"))
_REDIRECTIONS = ("file_redirect", "herestring_redirect", "heredoc_redirect")

Commands = dict[int, tuple[str, ...]]
"""Where a command begins, and its words as they are written."""


class Compared(NamedTuple):
    """What became of one script."""

    same: int
    differing: list[tuple[tuple[str, ...] | None, tuple[str, ...] | None]]
    """Words of tree-sitter and of fadoctor, None where one of them sees no command."""
    is_sound: bool
    """Whether tree-sitter reads it without an error."""


def compare(text: str) -> Compared:
    """Read a script twice."""
    root = Parser(Language(tree_sitter_bash.language())).parse(text.encode()).root_node
    theirs = dict(_commands(root))
    ours = read(text)
    same = sum(ours.get(at) == words for at, words in theirs.items())
    differing = [
        (theirs.get(at), ours.get(at))
        for at in sorted({*theirs, *ours})
        if theirs.get(at) != ours.get(at)
    ]
    return Compared(same, differing, not root.has_error)


def read(text: str) -> Commands:
    """Return the commands by fadoctor's reader, at offsets in bytes."""
    offsets = _Offsets(text)
    return {
        offsets.of(each.words[0].at): tuple(text[word.at : word.end] for word in each.words)
        for each in Grammar(text).read()
        if isinstance(each, Simple) and each.words and each.words[0].plain != "["
    }


class _Offsets:
    """Tells offsets in bytes."""

    def __init__(self, text: str) -> None:
        self.text, self.is_ascii = text, text.isascii()

    def of(self, at: int) -> int:
        return at if self.is_ascii else len(self.text[:at].encode())


def _commands(root: Node) -> Iterator[tuple[int, tuple[str, ...]]]:
    waiting = [root]
    while waiting:
        node = waiting.pop()
        if node.type in _INNER:
            continue
        if node.type in _COMMANDS:
            words = [each for each in node.children if each.type not in _REDIRECTIONS]
            words = sorted([*words, *_after_redirections(node)], key=lambda each: each.start_byte)
            yield words[0].start_byte, tuple(map(_text, words))
            continue
        if node.type in {"variable_assignment", "variable_assignments"}:
            several = node.type == "variable_assignments"
            words = list(node.named_children) if several else [node]
            yield words[0].start_byte, tuple(map(_text, words))
            continue
        waiting += _inner(node)


def _inner(node: Node) -> list[Node]:
    """Return what may hold commands: not the words of a loop, a case or a redirection."""
    if node.type == "c_style_for_statement":
        return [node.children[-1]]
    if node.type in {"for_statement", "case_item"}:
        left_out = {"word", "string", "simple_expansion", "concatenation", "raw_string", "number"}
        return [each for each in node.children if each.type not in left_out]
    left_out = {"file_redirect", "herestring_redirect", "heredoc_body"}
    return [each for each in node.children if each.type not in left_out]


def _after_redirections(command: Node) -> list[Node]:
    """Return words that follow a redirection: tree-sitter hangs them below that."""
    parent = command.parent
    around = parent.children if parent is not None and parent.type == "redirected_statement" else []
    found = []
    for each in (*command.children, *around):
        if each.type == "file_redirect":
            named = [one for one in each.named_children if one.type != "file_descriptor"]
            found += named[1:]
        elif each.type == "heredoc_redirect":
            found += each.children_by_field_name("argument")
    return found


def _text(node: Node) -> str:
    return (node.text or b"").decode(errors="replace")


def scripts(folders: list[Path], limit: int) -> Iterator[tuple[Path, str]]:
    """Yield scripts of the shell, each text once."""
    seen: set[str] = set()
    for folder in folders:
        for path in sorted(folder.rglob("*")):
            text = _script(path)
            if text is not None and text not in seen:
                seen.add(text)
                yield path, text
                if len(seen) >= limit:
                    return


def _script(path: Path) -> str | None:
    try:
        if path.is_symlink() or not path.is_file() or path.stat().st_size > SIZE_LIMIT:
            return None
        with path.open("rb") as file:
            head = file.read(100)
            if not (path.suffix in {".sh", ".bash"} or _SHELL.match(head)):
                return None
            return (head + file.read()).decode()
    except (OSError, UnicodeDecodeError):
        return None


def main() -> None:
    """Print how many commands are the same, and those that are not."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folders", nargs="+", type=Path)
    parser.add_argument("--limit", type=int, default=2_000)
    parser.add_argument("--show", type=int, default=20)
    options = parser.parse_args()
    files = whole = unsound = same = different = shown = 0
    for path, text in scripts(options.folders, options.limit):
        found = compare(text)
        if not found.is_sound:
            unsound += 1
            continue
        files += 1
        whole += not found.differing
        same += found.same
        different += len(found.differing)
        for pair in found.differing[: max(0, min(4, options.show - shown))]:
            shown += 1
            sys.stdout.write(f"{path}\n  tree-sitter {pair[0]}\n  fadoctor    {pair[1]}\n")
    sys.stdout.write(
        f"{files} scripts, {whole} of them with the same words throughout; {same} commands the "
        f"same, {different} not; {unsound} more that tree-sitter cannot read\n"
    )


if __name__ == "__main__":
    main()
