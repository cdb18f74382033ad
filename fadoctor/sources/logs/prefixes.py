"""Strip what loggers, launchers and terminals put before a line, and keep who wrote it.

Each form is an anchored expression without nested repetitions, so that none can backtrack far.
"""

from __future__ import annotations

from string import ascii_letters, ascii_lowercase, ascii_uppercase, digits
from typing import TYPE_CHECKING

from fadoctor.syntax.patterns import compiled

if TYPE_CHECKING:
    import re

ROUNDS = 6
"""Most prefixes on top of each other that are stripped."""

_TIME = r"\d{4}[-/]\d\d[-/]\d\d[T ]\d\d:\d\d:\d\d(?:[.,]\d{1,9})?(?:Z|[+-]\d\d:?\d\d)?"
_LEVELS = "DIWECF"
"""What the names of levels begin with."""
_WORD = ascii_letters + digits + "_./:-"
_LEVEL = r"(?:DEBUG|INFO|WARNING|WARN|ERROR|CRITICAL|FATAL)"

_FORMS = (
    # (WorkerDict pid=3780641) text | (EngineCore_DP0 pid=73) text | (RayWorker pid=1, ip=10.0.0.2)
    (
        "(",
        r"\(?(?P<channel>\((?:[\w.:<>/\[\]-]{1,80},? )?pid=\d{1,9}(?:, ip=[\w.:]{1,45})?\))\)?:? ?",
    ),
    # [rank0]: text | [rank0]:[W1031 ...] | [default6]: text | [1,0]<stderr>: text | [Rank 3] text
    (
        "[",
        (
            r"\[(?P<channel>(?:rank|default|[Rr]ank ?|RANK |node|worker|GPU ?)\d{1,5}"
            r"|\d{1,4},\d{1,5})\](?:<std(?:err|out)>)?:? ?"
        ),
    ),
    # job/0 [default6]:[rank6]: text
    (_WORD, r"[\w./:-]{1,80} (?=\[(?:rank|default)\d{1,5}\]:)"),
    # [address=0.0.0.0:37093, pid=1304] text
    ("[", r"\[address=[\w.:\[\]-]{1,60}, pid=\d{1,9}\] ?"),
    # ERROR 07-31 15:13:06 async_llm_engine.py:61] text | ERROR 01-28 17:37:45 [core.py:866] text
    (_LEVELS, _LEVEL + r" \d\d-\d\d \d\d:\d\d:\d\d(?:\.\d{1,6})? \[?[\w./-]{1,80}:\d{1,6}\] ?"),
    # W1031 12:00:00.000000 1304 torch/distributed/run.py:792] text
    (
        "[" + _LEVELS,
        r"\[?[DIWEF]\d{4} \d\d:\d\d:\d\d\.\d{1,9} {1,4}\d{1,9} [\w./<>-]{1,120}:\d{1,6}\] ?",
    ),
    # Oct 04 13:19:39 host unit[394]: text
    (
        ascii_uppercase,
        r"[A-Z][a-z]{2} [ \d]\d \d\d:\d\d:\d\d [\w.-]{1,64} [\w.@/-]{1,80}(?:\[\d{1,9}\])?: ",
    ),
    # [WARNING|logging.py:328] 2024-08-21 23:47:41,888 >> text
    ("[", r"\[" + _LEVEL + r"\|[\w./-]{1,80}:\d{1,6}\] " + _TIME + r" >> "),
    # 2025-10-30 21:54:45,628 - package.module - ERROR - text
    ("[" + digits, r"\[?" + _TIME + r"\]? - [\w.-]{1,80} - " + _LEVEL + r" - "),
    # 2025-10-30 21:54:45.628 | ERROR    | package.module:function:12 - text
    (digits, _TIME + r" \| " + _LEVEL + r" {0,4} \| [\w.<>:-]{1,120} - "),
    # [2025-10-30 21:54:45,628] [ERROR] [launch.py:325:sigkill_handler] text
    ("[", r"\[" + _TIME + r"\] \[" + _LEVEL + r"\] (?:\[[\w.-]{1,80}:\d{1,6}:[\w<>]{1,80}\] ?)?"),
    # 2025-10-30T21:54:45.622419515Z text | [2025-10-30 21:54:45 TP0] text
    ("[" + digits, r"\[?" + _TIME + r"(?P<channel>(?: [A-Z]{2}\d{1,4}){0,3})\]?:? "),
    # [ERROR] text | ERROR: text | ERROR:package.module:text | [ERROR|2025...]
    ("[", r"\[" + _LEVEL + r"\] "),
    (_LEVELS, _LEVEL + r":[\w.]{1,80}:"),
    # #12 34.56 text (docker build) | web-1  | text (docker compose) | ##[error]text
    ("#", r"#\d{1,3} \d{1,6}\.\d{1,3}(?: |$)"),
    (ascii_lowercase, r"(?P<channel>[a-z][\w.-]{0,60}-\d{1,3}) {1,30}\| "),
    ("#", r"##\[(?:error|warning|debug)\]"),
    # 2.510 text | 34.56 text | 515.6 text (docker build), but no 22.04 LTS and no 23.65 GiB
    (
        digits,
        (
            r"(?:\d\.\d{3}|\d\d\.(?!04|10)\d\d|\d{3,5}\.\d)"
            r"(?:$| (?! ?(?:[KMGT]i?B\b|%|s\b|sec|ms\b|it/s|min|tok|FPS|fps)))"
        ),
    ),
    # > text (markdown)
    (">", r"> "),
    # │ ❱ 42 │   text   │ (rich) and │ text (uv)
    (" \u2502\u2503", r" {0,8}[\u2502\u2503] {0,3}(?:\u2771 )? {0,4}(?:\d{1,6} \u2502)? ?"),
    # ╰─▶ text, ├─▶ text, and the cross of pip and uv
    (" \u2570\u251c\u00d7", r" {0,8}(?:[\u2570\u251c]\u2500\u25b6|\u00d7|\u2570\u2500>) "),
    # ---> 30 code (Jupyter)
    ("-", r"-{2,6}> {1,4}\d{1,6} "),
    # E       RuntimeError: text (pytest)
    ("E", r"E {3,8}(?=\S)"),
)
"""What a line can begin with: the characters that a form begins with, and the form."""

FORMS = tuple(compiled(form) for _, form in _FORMS)

_FIRST = "([DIWEFCJMASON#>- \u2502\u2503\u2570\u251c\u00d7" + ascii_lowercase + digits
BY_FIRST = {
    first: tuple(form for form, (firsts, _) in zip(FORMS, _FORMS, strict=True) if first in firsts)
    for first in _FIRST
}
"""First character of a line -> the forms that it can be of; most lines are of none."""

_FRAME_END = compiled(r" {1,200}[\u2502\u2503]$")


def strip_prefixes(line: str) -> tuple[str, str]:
    """Return a line without its prefixes, and the process that they name."""
    channels: list[str] = []
    at = 0
    for _ in range(ROUNDS):
        found = _match(line, at)
        if found is None:
            break
        at = found.end()
        channel = found.groupdict().get("channel")
        if channel and channel.strip():
            channels.append(channel.strip(" ()"))
    text = line[at:]
    if text.endswith(("\u2502", "\u2503")):
        text = _FRAME_END.sub("", text)
    return text, " ".join(channels)


def _match(line: str, at: int) -> re.Match[str] | None:
    for form in BY_FIRST.get(line[at], ()) if at < len(line) else ():
        found = form.match(line, at)
        if found is not None and found.end() > at:
            return found
    return None
