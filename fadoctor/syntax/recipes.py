"""Files of recipes as scripts of the shell: Makefiles, justfiles, batch files, PowerShell.

Each line stays where it stands, so that what is found in a script is found in the file.
"""

from __future__ import annotations

import re

import msgspec

TARGET_LIMIT = 1_000
_DEPTH = 8

_MAKE = re.compile(r"(?:gnu)?makefile(?:[._-][\w.-]{1,60})?|[\w.-]{1,100}\.mk")
_JUST = re.compile(r"\.?justfile|[\w.-]{1,100}\.just")
_WINDOWS = (".bat", ".cmd", ".ps1")
_DEFINITION = (".def", ".singularity", ".apptainer")
"""Ends of names of what Apptainer makes an image of."""
# vllm.service, supervisord.conf, Procfile
_STARTED = re.compile(
    r"[\w.@-]{1,100}\.service|supervisor[\w.-]{0,60}\.(?:conf|ini)|procfile[\w.-]{0,60}"
)
# ExecStart=/opt/vllm serve, command=python -m x, web: vllm serve
_STARTS = re.compile(r"(ExecStart(?:Pre)?=[-+@:!]{0,3}|command\s{0,9}=|[\w-]{1,60}:[ \t])([^\n]*)")
_GIVES = re.compile(r"(Environment=)\"?([A-Za-z_]\w{0,80}=[^\n\"]*)\"?")
# MODEL ?= x, model := "x", export A = b
_SETS = re.compile(
    r"(?:export[ \t]{1,9})?([A-Za-z_][\w-]{0,80})[ \t]{0,9}(?::{0,3}|\?|\+)=[ \t]{0,9}([^\n]*)"
)
# install-cuda: build deps | late; install *ARGS: venv
_HEAD = re.compile(r"@?([\w./%$(){}-]{1,100})(?:[ \t][^:=\n]{0,200})?::?(?!=)([^\n=]{0,1000})")
_MAKE_NAME = re.compile(r"\$[({]([A-Za-z_][\w-]{0,80})[)}]")
_MAKE_CALL = re.compile(r"\$\((?:if|eval|info|warning|error|foreach|call|and|or)[ \t]")
_CALL_LIMIT = 4_000
_JUST_NAME = re.compile(r"\{\{[ \t]{0,9}([A-Za-z_][\w-]{0,80})[^{}\n]{0,80}\}\}")
# serve dtype="bfloat16" port='8000':
_JUST_VALUE = r"(?:\"[^\"\n]{0,200}\"|'[^'\n]{0,200}'|[^\s:\"'()]{1,200})"
_JUST_HEAD = re.compile(
    rf"@?[\w-]{{1,100}}((?:[ \t]{{1,9}}[*+$]?\w{{1,80}}(?:={_JUST_VALUE})?(?=[ \t:])){{1,12}})"
    r"[ \t]{0,9}:[^\n]{0,1000}"
)
_DEFAULT = re.compile(rf"[*+$]?(\w{{1,80}})=({_JUST_VALUE})")
_BATCH_NAME = re.compile(r"%([A-Za-z_]\w{0,80})%")
_POWER_NAME = re.compile(r"\$(?:env:)?([A-Za-z_]\w{0,80})")
_BATCH_SET = re.compile(
    r"(?i)^([ \t]{0,40})set[ \t]{1,9}\"?([A-Za-z_]\w{0,80})=([^\"\n]*)\"?[ \t]{0,9}$"
)
_POWER_SET = re.compile(
    r"^([ \t]{0,40})\$(?:env:)?([A-Za-z_]\w{0,80})[ \t]{0,9}=[ \t]{0,9}([^\n]*)$"
)
_REMARK = re.compile(r"(?i)[ \t]{0,40}(?:rem\b|::)")


class MadeTarget(msgspec.Struct, frozen=True):
    """One target, with the lines that make it: its own, and before them those it depends on."""

    name: str
    line: int
    rows: tuple[int, ...]
    """Indexes of the lines of the script, from 0."""


def is_recipes(base: str) -> bool:
    """Return whether a file is one, by its name in lower case."""
    named = any(pattern.fullmatch(base) for pattern in (_MAKE, _JUST, _STARTED))
    return named or base.endswith((*_WINDOWS, *_DEFINITION))


def recipe_script(base: str, text: str) -> str:
    """Return the commands of a file as a script, each line where it stands.

    Variables of the file become those of the shell; heads of recipes are left out.
    """
    plain = text.replace("\r", "")
    if base.endswith(_WINDOWS):
        return "\n".join(_windows(plain.split("\n"), is_power=base.endswith(".ps1")))
    if base.endswith(_DEFINITION):
        return "\n".join(_sections(plain.split("\n")))
    if _STARTED.fullmatch(base):
        return "\n".join(map(_start, plain.split("\n")))
    if not _MAKE.fullmatch(base):
        return "\n".join(_recipes(plain.split("\n"), _JUST_NAME))
    return "\n".join(_recipes(_worked_out(plain).split("\n"), _MAKE_NAME)).replace("$$", "$")


def _start(row: str) -> str:
    """Return the command of one line of a service, in its place; of another line nothing."""
    if (given := _GIVES.fullmatch(row.strip())) is not None:
        return f"export {given[2]}"
    found = _STARTS.fullmatch(row)
    return " " * len(found[1]) + found[2] if found is not None else ""


def _sections(rows: list[str]) -> list[str]:
    """Return what an image's definition runs as a script, without its files and its labels."""
    found, is_script = [], False
    for row in rows:
        if row[:1] == "%":
            is_script = row.split()[0] in _RUN_SECTIONS
        found.append(row if is_script and row[:1] != "%" else "")
    return found


_RUN_SECTIONS = ("%post", "%environment", "%runscript", "%startscript")


def image_of(base: str, text: str) -> tuple[str, int]:
    """Return the image that a definition of Apptainer builds on, and its line; "" of another."""
    if base.endswith(_DEFINITION):
        for number, row in enumerate(text.split("\n"), 1):
            key, _, value = row.partition(":")
            if key.strip().lower() == "from":
                return value.strip(), number
    return "", 0


def _worked_out(text: str) -> str:
    """Return a Makefile without what make itself works out: ``$(if ...)``, ``$(eval ...)``."""
    parts, at = [], 0
    while found := _MAKE_CALL.search(text, at):
        end = _closing(text, found.end())
        parts += [text[at : found.start()], re.sub(r"[^\n]", " ", text[found.start() : end])]
        at = end
    return "".join((*parts, text[at:]))


def _closing(text: str, start: int) -> int:
    """Return where a bracket ends that is open; the start where it does not."""
    depth = 1
    for index in range(start, min(len(text), start + _CALL_LIMIT)):
        depth += {"(": 1, ")": -1}.get(text[index], 0)
        if not depth:
            return index + 1
    return start


def recipes_of(base: str, text: str) -> tuple[MadeTarget, ...]:
    """Return the targets of a Makefile or a justfile; none of another file."""
    if not (_MAKE.fullmatch(base) or _JUST.fullmatch(base)):
        return ()
    own: dict[str, tuple[int, list[int]]] = {}
    needs: dict[str, list[str]] = {}
    shared: list[int] = []
    rows: list[int] = shared
    is_continued = False
    for index, row in enumerate(text.replace("\r", "").split("\n")):
        if is_continued or row[:1] in ("\t", " ") or not row.strip():
            rows.append(index)
        elif _SETS.fullmatch(row):
            shared.append(index)
        elif (head := _HEAD.fullmatch(row)) and len(own) < TARGET_LIMIT:
            rows = own.setdefault(head[1], (index + 1, []))[1]
            needs.setdefault(head[1], []).extend(head[2].replace("|", " ").split()[:50])
        is_continued = row.endswith("\\")
    return tuple(
        MadeTarget(name, line, (*shared, *_with_needs(name, own, needs, _DEPTH)))
        for name, (line, _) in own.items()
    )


def _with_needs(
    name: str, own: dict[str, tuple[int, list[int]]], needs: dict[str, list[str]], depth: int
) -> list[int]:
    """Return the lines of a target after those of what it needs, each once."""
    found: dict[int, None] = {}
    for other in needs.get(name, ()) if depth else ():
        if other != name and other in own:
            found |= dict.fromkeys(_with_needs(other, own, needs, depth - 1))
    return [*(found | dict.fromkeys(own[name][1]))]


def _recipes(rows: list[str], name: re.Pattern[str]) -> list[str]:
    found = []
    is_continued = False
    for row in rows:
        text = name.sub(r"${\1}", row)
        if is_continued or row[:1] in ("\t", " "):
            bare = text.lstrip()
            marks = len(bare) - len(bare.lstrip("@-+")) if not is_continued else 0
            text = " " * (len(text) - len(bare) + marks) + bare[marks:]
        elif pair := _SETS.fullmatch(text):
            value = pair[2].strip().strip("\"'").replace('"', "'")
            if value.count("'") % 2:  # one quote within another: tr -d '"'
                value = value.replace("'", "")
            text = f'{pair[1].replace("-", "_")}="{value}"'
        else:
            text = _defaults(row) if name is _JUST_NAME else ""
        is_continued = text.endswith("\\")
        found.append(text)
    return found


def _defaults(row: str) -> str:
    """Return the head of a recipe of just as the values that its parameters have by default."""
    head = _JUST_HEAD.fullmatch(row) if len(row) < _CALL_LIMIT else None
    found = _DEFAULT.findall(head[1]) if head else []
    return "; ".join(f"{key}={value}" for key, value in found)


def _windows(rows: list[str], *, is_power: bool) -> list[str]:
    """Return the lines of a batch file or of PowerShell as those of the shell."""
    sets, mark = (_POWER_SET, "`") if is_power else (_BATCH_SET, "^")
    name = _POWER_NAME if is_power else _BATCH_NAME
    found = []
    for row in rows:
        if pair := sets.match(row):
            value = name.sub(r"${\1}", pair[3].strip().strip("\"'")).replace("\\", "/")
            text = f'export {pair[2]}="{value}"'
        elif not is_power and _REMARK.match(row):
            text = ""
        else:
            text = name.sub(r"${\1}", row)
            is_more = text.rstrip().endswith(mark)
            text = text.rstrip().removesuffix(mark).replace("\\", "/")
            text = re.sub(
                r"(?i)^([ \t]{0,40})@?(?:call|start(?:[ \t]{1,9}/\w{1,9})?)[ \t]{1,9}", r"\1", text
            )
            text += " \\" if is_more else ""
        found.append(text)
    return found
