"""Changes of a log that leave its cause as it is."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import random
    from collections.abc import Callable

    Change = Callable[[str, int, random.Random], str]
    """From a log, the place of the line that shows the cause, and a source of chance."""

BAR = "Loading checkpoint shards:  50%|#####     | 2/4 [00:03<00:03,  1.61s/it]"
OTHER_REPORT = """

Somebody else writes in the same thread:
Docker version 27.3.1, build ce12230
docker compose version v2.29.7
Filesystem      Size  Used Avail Use% Mounted on
/dev/sda1       457G  201G  233G  47% /
"""
INNOCENT = "Thank you for this project, it has been very useful for my work."
PROSE = re.compile(r"(?<!\S)[a-z]{2,20}(?!\S)")
"""A plain word of a sentence: no name, no path, no number, nothing in quotes."""

SENSE = frozenset({"not", "no", "cannot", "without", "never"})
"""Words without which a line says the opposite: these are not dropped."""

_WINDOWS = re.compile(r"(?<![A-Za-z])[A-Za-z]:[\\/][^\s\"']{1,200}")
WIDTH = 120
NARROW = 80

EXCEPTION = re.compile(r"^\s*(?:[\w.]*(?:Error|Exception)): (?=\S+ \S+ \S)")
"""The name of an exception in front of a message of three words and more."""


def _with_line(log: str, place: int, change: Callable[[str], str]) -> str:
    lines = log.split("\n")
    lines[place] = change(lines[place])
    return "\n".join(lines)


def bar_glued_on(log: str, place: int, _chance: random.Random) -> str:
    """A progress bar and its line have no end of line between them."""
    return _with_line(log, place, lambda line: BAR + line)


def word_dropped(log: str, place: int, chance: random.Random) -> str:
    """One plain word of the line that shows the cause is lost."""

    def without(line: str) -> str:
        words = [word for word in PROSE.finditer(line) if word[0] not in SENSE]
        if not words:
            return line
        word = chance.choice(words)
        return (line[: word.start()] + line[word.end() :]).replace("  ", " ")

    return _with_line(log, place, without)


def word_doubled(log: str, place: int, chance: random.Random) -> str:
    """One plain word of that line is duplicated."""

    def twice(line: str) -> str:
        words = list(PROSE.finditer(line))
        if not words:
            return line
        word = chance.choice(words)
        return f"{line[: word.end()]} {word[0]}{line[word.end() :]}"

    return _with_line(log, place, twice)


def innocent_sentence_added(log: str, _place: int, _chance: random.Random) -> str:
    """Somebody is polite."""
    return f"{INNOCENT}\n\n{log}"


def other_report_below(log: str, _place: int, _chance: random.Random) -> str:
    """Another tool's report is pasted below."""
    return log + OTHER_REPORT


def prefixed(log: str, _place: int, _chance: random.Random) -> str:
    """A container's log service writes before each line."""
    return "\n".join(f"trainer-1  | {line}" for line in log.split("\n"))


def quoted(log: str, _place: int, _chance: random.Random) -> str:
    """It is quoted in a mail."""
    return "\n".join(f"> {line}" for line in log.split("\n"))


def wrapped(log: str, _place: int, _chance: random.Random) -> str:
    """A terminal wraps long lines between words."""
    return "\n".join(part for line in log.split("\n") for part in _parts(line))


def _parts(line: str) -> list[str]:
    parts = []
    while len(line) > WIDTH and (at := line.rfind(" ", 1, WIDTH)) > 0:
        parts.append(line[:at])
        line = line[at + 1 :]
    return [*parts, line]


def windows_paths_in_other_case(log: str, _place: int, _chance: random.Random) -> str:
    """Windows does not tell capitals from small letters in folders."""

    def other(path: re.Match[str]) -> str:
        drive, _, rest = path[0].partition(":")
        head, slash, name = rest.rpartition("\\")
        return f"{drive.swapcase()}:{head.lower()}{slash}{name}"

    return _WINDOWS.sub(other, log)


def with_carriage_returns(log: str, _place: int, _chance: random.Random) -> str:
    """It was written on Windows."""
    return log.replace("\n", "\r\n")


def cut_at_the_start(log: str, _place: int, _chance: random.Random) -> str:
    """Other lines stood before it, of which half a line is left."""
    return f"ding weights of the model, this can take a while\n{log}"


def cut_at_the_end(log: str, _place: int, _chance: random.Random) -> str:
    """More lines followed, of which half a line is left."""
    return f"{log}\nsaving the state of the optim"


def cut_inside_words(log: str, _place: int, _chance: random.Random) -> str:
    """A terminal of 80 columns cuts long lines wherever they are."""
    return "\n".join(
        line[at : at + NARROW]
        for line in log.split("\n")
        for at in range(0, max(1, len(line)), NARROW)
    )


def without_its_exception(log: str, place: int, _chance: random.Random) -> str:
    """A title tells the message alone."""
    return _with_line(log, place, lambda line: EXCEPTION.sub("", line))


CHANGES: dict[str, tuple[Change, float]] = {
    "bar glued on": (bar_glued_on, 0.98),
    "word dropped": (word_dropped, 0.90),
    "word doubled": (word_doubled, 0.98),
    "innocent sentence added": (innocent_sentence_added, 0.98),
    "other report below": (other_report_below, 0.98),
    "prefixes": (prefixed, 0.98),
    "quoted": (quoted, 0.98),
    "wrapped": (wrapped, 0.98),
    "cut inside words": (cut_inside_words, 0.90),
    "without its exception": (without_its_exception, 0.95),
    "case of Windows paths": (windows_paths_in_other_case, 0.98),
    "carriage returns": (with_carriage_returns, 1.0),
    "cut at the start": (cut_at_the_start, 0.98),
    "cut at the end": (cut_at_the_end, 0.98),
}
"""Each change, and the least share of causes that it leaves."""
