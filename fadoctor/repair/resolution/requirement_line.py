"""One line of a manifest with another requirement in it: the rest of the line stays as it is."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from fadoctor.sources.manifests.installed.contradicted import is_impossible
from fadoctor.sources.manifests.installed.package_indexes import serves_others

if TYPE_CHECKING:
    from collections.abc import Sequence

# torch[x] >= 2.4, <3 | torch (>=2.4,<3) | torch @ https://...
# up to a marker, a comment, a quote or the end
_REST = (
    r"(?P<extras>\s?\[[^\]\n]{0,200}\])?"
    r"(?P<what>\s?@\s?[^\s'\";]{1,2000}"
    r"|\s?\([<>=!~][^()'\"\n]{0,200}\)"
    r"|(?:\s?(?:[<>=!~]=?=?)\s?[\w.*+!-]{1,100}(?:\s?,)?){0,9})"
)
_QUOTE = "'\""
_IN_QUOTES = (".toml", "setup.py")
"""Kinds of files whose requirements are texts in quotes; what is read of Python is a literal."""
GONE = "\0"
"""A line that is deleted; no text holds a NUL."""

_INDEX = re.compile(
    r"(\s{0,9}(?:--extra-index-url|--index-url|-i)[ =]\s{0,9})(?P<url>\S{1,400}"
    r"/(?:cu\d{3}|cpu|rocm\d[\d.]{0,7})/?)(?=\s|$)"
)
_INDEX_ALONE = re.compile(
    r"\s{1,9}(?:--index-url|-i)[ =]\s{0,9}\S{1,400}/(?:cu\d{3}|cpu)/?(?=\s|$)"
)
# RUN uv pip install --system
_COMMAND = re.compile(r"(?P<uv>\buv\s{1,3})?\bpip3?\s{1,3}install\b")
_OF_SHELLS = ("Dockerfile", "install script")
_LISTS = ("requirements.txt", *_OF_SHELLS)
YAML = ("environment.yml",)
"""Kinds of files by how they list requirements; of others no line is changed."""

# up to white space, a quote, or the semicolon before a marker
_ADDRESS = re.compile(
    r"(?:[A-Za-z][\w+]{1,20}://|\.{0,2}/)(?:[^\s'\";]|;(?=[^\s'\"])){1,2000}", re.ASCII
)
# between two texts of a list
_COMMA = re.compile(r"\s{0,8},\s{0,8}")
# - torch==2.2.1
_ENTRY = re.compile(r"\s{0,20}-\s{1,9}")
# - pip:
_OF_PIP = re.compile(r"\s{0,20}-\s{1,9}pip\s{0,9}:")


def option_for_pip(lines: Sequence[str], at: int, index: str) -> str:
    """Return an entry that names an index for pip, as the one on a line; "" for one of conda's."""
    entry = _ENTRY.match(lines[at])
    if entry is None or not is_of_pip(lines, at):
        return ""
    return f"{entry[0]}--extra-index-url {index}" + "\r" * lines[at].endswith("\r")


def is_of_pip(lines: Sequence[str], at: int) -> bool:
    """Return whether a line is an entry of the list that conda leaves to pip."""
    entry = _ENTRY.match(lines[at])
    deep = len(entry[0]) if entry is not None else 0
    before = (_ENTRY.match(line) for line in reversed(lines[:at]))
    head = next((found for found in before if found and len(found[0]) < deep), None)
    return head is not None and _OF_PIP.match(head.string) is not None


def changed_line(line: str, column: int, name: str, wanted: str, kind: str) -> str | None:
    """Return a line that asks for something else; None where it has not the form for that.

    ``column``: where the requirement begins, from 1. Without anything wanted the line is deleted,
    where nothing else stands on it.
    """
    pattern = re.compile("[-_.]+".join(map(re.escape, name.split("-"))) + _REST, re.IGNORECASE)
    start = column - 1
    if line[start : start + 1] and line[start] in _QUOTE:
        start += 1
    if not _has_form(line, start, wanted, kind):
        return None
    found = _wheel(line, start) or pattern.match(line, start) or _address(line, start)
    if found is None:
        return None
    if not wanted:
        return _deleted(line, found, kind)
    text = wanted
    if found.re.groups and found["extras"] and " @ " not in wanted:
        text = wanted.replace(name, name + found["extras"].strip(), 1)
    after = line[found.end() :]
    if " @ " in text:
        if kind in _OF_SHELLS:
            text = text.partition(" @ ")[2]
        if after.lstrip().startswith(";"):
            after = " " + after.lstrip()  # an address ends at white space only
    text = _spelt(found[0], name, text)
    if kind in _OF_SHELLS and "@" not in text and {"<", ">"} & {*text} and start == column - 1:
        text = f'"{_with_lost_bound(found, text)}"'  # else a shell takes it for a file
    return line[: found.start()] + text + after


def _with_lost_bound(found: re.Match[str], text: str) -> str:
    """Return a range with the bound that a shell took for a file, where both can be met.

    Nobody who wrote ``transformers>=4.55`` without quotes meant any release.
    """
    lost = (found["what"] or "").strip() if found.re.groups else ""
    at = min((at for sign in "<>=!~" if (at := text.find(sign)) > 0), default=len(text))
    asks = text[at:]
    is_kept = lost.startswith(">") and not {">", "=", "~"} & {*asks.replace("<=", "")}
    return f"{text[:at]}{lost},{asks}" if is_kept and not is_impossible((lost, asks)) else text


def _has_form(line: str, start: int, wanted: str, kind: str) -> bool:
    """Return whether a requirement of PEP 508 stands there, which another one can replace."""
    is_continued = line.rstrip("\r").endswith("\\") and kind not in _OF_SHELLS
    if "--hash" in line or is_continued:
        return False
    if kind in _LISTS:
        return True
    if kind.endswith(_IN_QUOTES):  # else it is a key of a table
        return start > 0 and line[start - 1] in _QUOTE
    # conda's own lists have other names, and no addresses
    return kind in YAML and "==" in line[start:] and " @ " not in wanted


def _spelt(old: str, name: str, text: str) -> str:
    """Return a requirement with the name as it was spelt."""
    found = re.match(r"[A-Za-z0-9._-]+", old)
    same = found is not None and len(found[0]) == len(name) and "://" not in old[: len(name) + 3]
    return found[0] + text[len(name) :] if same and found and text.startswith(name) else text


def _wheel(line: str, start: int) -> re.Match[str] | None:
    """Return the wheel in a folder that stands there: its name begins as a requirement does."""
    return re.compile(r"[\w.+%/-]{1,400}\.whl(?![\w.])").match(line, start)


def _address(line: str, start: int) -> re.Match[str] | None:
    """Return the address or path that a line consists of."""
    return _ADDRESS.match(line, start)


def _deleted(line: str, found: re.Match[str], kind: str) -> str | None:
    rest = line[: found.start()] + line[found.end() :]
    bare = rest.partition("#")[0].partition(";")[0]
    if not bare.strip(" \t\r'\",-"):
        return GONE
    return _without_element(line, found.start() - 1) if kind.endswith(".toml") else None


def _without_element(line: str, start: int) -> str | None:
    """Return a line of TOML without the text in quotes that begins there, in a list of several."""
    end = line.find(line[start], start + 1) + 1
    behind, before = _COMMA.match(line, end), line[:start].rstrip()
    if not end or (behind is None and before[-1:] not in {",", "["}):
        return None
    if behind is not None:
        return line[:start] + line[behind.end() :]
    return before.removesuffix(",").rstrip() + line[end:]


def is_index(line: str) -> bool:
    """Return whether a line names an index that serves one build of torch."""
    found = _INDEX.match(line)
    return found is not None and not serves_others(found["url"])


def index_line(line: str, index: str) -> str:
    """Return such a line for another build."""
    return _INDEX.sub(lambda found: found[1] + index, line.rstrip("\r"), count=1)


def command_with_index(line: str, column: int, index: str) -> str | None:
    """Return a line whose command for what stands in a column names an index of torch, too.

    None where no command of pip is before it on that line.
    """
    commands = [each for each in _COMMAND.finditer(line) if each.end() < column]
    if not commands:
        return None
    command = commands[-1]
    head, rest = line[: command.end()], line[command.end() :]
    if index in rest.split():
        return line
    for found in _INDEX.finditer(rest):
        if not serves_others(found["url"]):
            return head + rest[: found.start("url")] + index + rest[found.end("url") :]
    # uv asks the first index that has a package, and no other, unless it is told to ask all
    best = " --index-strategy unsafe-best-match" if command["uv"] else ""
    return f"{head} --extra-index-url {index}{best}{rest}"


def command_without_index(line: str, column: int) -> str:
    """Return a line whose command for what stands in a column names no index of a build of torch.

    Only `--index-url`: beside an index that is only added, PyPI is asked as well.
    """
    commands = [each for each in _COMMAND.finditer(line) if each.end() < column]
    if not commands:
        return line
    start = commands[-1].end()
    rest, joint, others = line[start:].partition("&&")
    return line[:start] + _INDEX_ALONE.sub("", rest, count=1) + joint + others


def still_asked(lines: list[str], before: list[str]) -> None:
    """Put an index back that is gone, where another line asks for a build with its label."""
    for at, (line, old) in enumerate(zip(lines, before, strict=False)):
        if line != GONE or not is_index(old):
            continue
        label = old.split("#")[0].rstrip().rstrip("/").rpartition("/")[2]
        asked = re.compile(rf"^[^#]*==[^#]*\+{re.escape(label)}(?!\w)")
        if any(asked.match(each) for each in lines):
            lines[at] = old
