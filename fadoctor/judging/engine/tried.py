"""What a log shows to be done already: a fix that repeats it comes last."""

from __future__ import annotations

import re
from array import array
from bisect import bisect_right
from functools import lru_cache
from itertools import accumulate, zip_longest
from typing import TYPE_CHECKING, NamedTuple

from fadoctor.knowledge.matrix.versions import is_in
from fadoctor.model.fix import StepKind
from fadoctor.syntax.patterns import compiled

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from fadoctor.model.fix import Fix, Step
    from fadoctor.model.rule import FixTemplate

# os.environ["NAME"] = "value", name: 'value', --name value
_QUOTES, _BRACKETS = compiled(r"[\"'`]"), compiled(r"[\[\]]")
_PAIRED = compiled(r"\s{0,3}[=:]\s{0,3}")
_OPTION = compiled(r"(--[a-z][a-z0-9-]{1,40}) (?=[\w.])")
_WORKED = compiled(r"(?i)(?<!nothing )(?<!none )(?<!never )\b(?:works|worked|is fine|are fine)\b")
"""What works is no remedy that failed."""
_COMMENTED = compiled(r"^\s{0,20}(?:#|//)")
_INSTALLS = compiled(r"\b(?:pip3?|uv pip|uv) (?:install|add)\b")
_AGAIN = ("--force-reinstall", "--no-cache-dir", "--upgrade")
_ADVISED = compiled(
    r"(?i)\b(?:re-?run|run again|try again|retry|provide|"
    r"(?:consider|try|please|can|should|must|need to|may|also) "
    r"(?:\w{2,12}ing|set|pass|use|export|add|enable)) "
    r"[^\n]{0,60}?[`'\"]?(?:--[a-z]|[a-z][a-z\d]{1,20}_\w{1,40}=)"
)
"""What a program advises: re-run with `--no-build-isolation`, consider passing A_B=1."""
# `pip install -U x`, and what stands before it where somebody types it
_QUOTED = compiled(r"`([^`\n]{4,200})`")
_CHANGES = compiled(
    r"(?:sudo |uv |python3? -m )?(?:pip3? (?:un)?install|conda install|add|sync|apt|dnf"
    r"|docker (?:run|pull)|git (?:pull|clone|checkout)|wsl --update|export|set)(?: |$)"
)
_PROMPT = compiled(
    r"^\s{0,8}(?:\([^()\n]{1,60}\) ?)?(?:PS )?"
    r"(?:[\w.@~-]{0,40}:?[\w/~.-]{0,60}[$#] ?|[A-Za-z]:\\[^>\n]{0,200}> ?|[!%>`] ?|RUN )?"
)
_SENTENCE = compiled(r"(?<=[.!?]) (?=[A-Z\"'`(])|(?<=[.!?])  |(?<=[\u3002\uff01\uff1f])")
# Should I use --x? | can one run it with something like --x | is there a --x
_ASKS = compiled(
    r"(?i)\b(?:(?:can|could|should|may|must|do|would) (?:i|one|we|you|it|this)|is there"
    r"|something like|how (?:can|do|to)|what (?:about|if))\b|\?\W{0,3}$"
    r"|\u53ef\u4ee5\u7528|\u662f\u5426|\uff1f"
)
# I ran | already set | after installing | (tried) | [x] | 试过 | попробовал
_DONE = compiled(
    r"(?i)\b(?:i|we|have|had|already|also|just|then|after|tried|ran|did|done|with|even|using)\b"
    r"|n'?t (?:help|work|change|fix|solve)|\[x\]|no (?:effect|difference|help|change)|^\s{0,8}\d\. "
    r"|\u8bd5|\u8a66|\u5df2|\u8fc7|\u904e|\u7528\u4e86|\b\u043f\u0440\u043e\u0431|\b\u043f\u043e\u043f\u0440\u043e\u0431|\b\u0432\u044b\u043f\u043e\u043b\u043d|\b\u0443\u0436\u0435\b"
    r"|\u8a66\u3057|\u5b9f\u884c|\bversucht|\bschon\b|\bd\u00e9j\u00e0\b|\bya\b|\bj\u00e1\b"
)
_CHAIN = compiled(r" ?(?:&&|;|\|\|?) ?")
_PIP = compiled(r"\S*(?:python\S* (?:-s )?-m )?(?:uv )?\bpip3?(?= (?:un)?install)")
_ANY_PIP = "pip"
"""What stands for pip, whatever starts it."""
_RUN = compiled(r"[A-Za-z0-9_]{3,}")
_FOREIGN = compiled(r"[^\x00-\x7f]{1,400}")
_JOINED = compiled(r"-[a-zA-Z]{2,4}")
_FORCE = "--force-reinstall"
MISFITS = "torch-abi"
"""The area of the rules about files that are there, and do not fit."""
_OF_PIP = {StepKind.INSTALL, StepKind.UNINSTALL}
_REQUIREMENT = compiled(
    r"(?P<name>[A-Za-z][\w.-]{0,60})(?P<range>[=<>~!]=?[\d][\w.,<>=!~* +-]{0,60})"
)
_LABEL = ": "
_BESIDE = compiled(r", (?=[\w-]{2,40}[:=]|--)")
_PROSE = compiled(r"[ ,](?:and|in|when|where|or|after) ")


def is_tried(template: FixTemplate, fix: Fix | None, log: Sequence[str]) -> bool:
    """Return whether a log shows that somebody has done this already.

    By the patterns of the fix, or since each of its steps stands there as it would be typed.
    """
    lines = tuple(log)
    if template.tried and _holds_tried(template, lines):
        return True
    does = [step for step in fix.steps if step.kind is not StepKind.ADVICE] if fix else []
    if fix is not None and not does:
        return _is_typed(fix, lines)
    return bool(does) and all(_is_done(step, lines) for step in does)


def _own(line: str) -> list[str]:
    """Return the sentences of a line that neither advise something nor ask whether to do it."""
    return [
        each for each in _SENTENCE.split(line)
        if not _ADVISED.search(each) and not _ASKS.search(each)
    ]  # fmt: skip


def _holds_tried(template: FixTemplate, log: tuple[str, ...]) -> bool:
    """Return whether an own sentence of a log holds one of the patterns of what was tried."""
    choices = zip_longest(template.tried, template.words.get("tried", ()), fillvalue=())
    return any(
        any(map(compiled(pattern).search, _own(line)))
        for pattern, needed in choices
        for line in _lines_with(needed, log)
    )


def _own_with(words: Iterable[str], log: tuple[str, ...]) -> Iterator[str]:
    """Yield the own sentences of the lines that may hold some words, as `plainly` writes them.

    What makes a line plain takes quotes out of words and cuts them: of two words of letters, a line
    holds both.
    """
    keys = {run for word in words for run in _RUN.findall(word)} - {_ANY_PIP}
    longest = sorted(keys, key=len, reverse=True)
    for line in log:
        bare = _QUOTES.sub("", line) if "'" in line or '"' in line or "`" in line else line
        if all(key in bare for key in longest):
            yield from _own(line)


class _Typed(NamedTuple):
    """A line that may have been typed."""

    begins: str
    """Its first word; empty where somebody says that it was run, which may stand anywhere."""
    words: frozenset[str]


def _typed(words: Iterable[str], log: tuple[str, ...]) -> Iterator[_Typed]:
    """Yield the lines of a log that may hold some words, and may have been typed."""
    for line in _own_with(words, log):
        if _WORKED.search(line):
            continue
        listed = _listed(_PROMPT.sub("", line))
        if listed:
            begins = "" if _DONE.search(line) else listed[0]
            yield _Typed(begins, frozenset(listed))


def _is_typed(fix: Fix, log: tuple[str, ...]) -> bool:
    """Return whether a log holds, as typed, all commands that the words of a fix quote."""
    quoted = [found for step in fix.steps for found in _QUOTED.findall(step.text)]
    commands = [each for each in quoted if _CHANGES.match(each)]
    return bool(commands) and all(_is_run(command, log) for command in commands)


def _is_run(text: str, log: tuple[str, ...]) -> bool:
    """Return whether each command of a line was run, with whatever else its user gave it."""
    commands = [words for part in _CHAIN.split(text) if (words := _listed(part))]
    return all(
        len(words) > 1
        and any(
            line.begins in ("", words[0]) and line.words.issuperset(words)
            for line in _typed(words, log)
        )
        for words in commands
    )


def _listed(command: str) -> list[str]:
    """Return the words of a command, whatever starts pip, names the user, or makes it root's."""
    words = []
    for word in _PIP.sub(_ANY_PIP, _FOREIGN.sub(" ", plainly(command))).split():
        plain = word.strip("`\"'.,;:()")
        if _JOINED.fullmatch(plain):
            words += [f"-{letter}" for letter in plain[1:]]
        elif plain and plain != "sudo" and plain[0] != "$":
            words.append(plain)
    return words


def is_there(fix: Fix, log: Sequence[str], *, forced: bool) -> bool:
    """Return whether lists in a log show that all is installed already that a fix installs.

    `forced`: whether a release that is removed first is installed again for good reason.
    """
    does = [step for step in fix.steps if step.kind is not StepKind.ADVICE]
    installs = [step for step in does if step.kind is StepKind.INSTALL]
    is_again = any(
        step.index or _FORCE in step.options or any(item.startswith("http") for item in step.items)
        for step in installs
    )
    if not installs or is_again or {step.kind for step in does} - _OF_PIP:
        return False
    if forced and len(installs) < len(does):
        return False
    return all(_is_listed(item, log) for step in installs for item in step.items)


def _is_listed(item: str, log: Sequence[str]) -> bool:
    """Return whether a list of what is installed names a release that a requirement accepts.

    A line with ``==`` may be a wish, unless torch.utils.collect_env prints it.
    """
    found = _REQUIREMENT.fullmatch(item)
    if found is None:
        return False
    name = re.sub(r"[-_.]", "[-_.]", found["name"])
    listed = re.compile(
        rf"(?ai)(?:\s{{0,20}}(?:[-*+|] {{0,3}})?{name}"
        r"(?: {1,60}| {0,3}: {0,10}| {0,40}\| {0,3})"
        rf"|\[pip3?\] {name}==)(?P<version>\d[\w.+!-]{{0,40}})(?:[\s|,(].{{0,80}})?"
    )
    versions = {each["version"] for line in log if (each := listed.fullmatch(line))}
    return bool(versions) and all(is_in(version, found["range"]) is True for version in versions)


def holds_one(template: FixTemplate, key: str, log: tuple[str, ...]) -> bool:
    """Return whether a line of a log holds one of the patterns that a fix has under a key.

    A pattern whose words the log lacks is not even compiled: that costs more than all lines.
    """
    patterns: tuple[str, ...] = getattr(template, key)
    if not patterns:
        return False
    said = _words_of(log)
    return any(
        any(map(compiled(pattern).search, _lines_with(needed, log)))  # in C: a log is long
        for pattern, needed in zip_longest(patterns, template.words.get(key, ()), fillvalue=())
        if not needed or any(word in said for word in needed)
    )


def _lines_with(words: tuple[str, ...], log: tuple[str, ...]) -> Iterable[str]:
    """Return the lines of a log that hold one of some words in small letters; all for no words."""
    if not words:
        return log
    text, starts = _small(log)
    found: set[int] = set()
    for word in words:
        at = text.find(word)
        while at >= 0:
            line = bisect_right(starts, at)
            found.add(line - 1)
            at = text.find(word, starts[line]) if line < len(starts) else -1
    return [log[line] for line in sorted(found)]


# Each fix of a finding asks for the same lines.
@lru_cache(maxsize=1)
def _small(log: tuple[str, ...]) -> tuple[str, array[int]]:
    """Return the lines of a log in small letters as one text, and where each begins."""
    lines = [line.lower() for line in log]
    starts = accumulate((len(line) + 1 for line in lines[:-1]), initial=0)
    return "\n".join(lines), array("L", starts)


@lru_cache(maxsize=1)
def _words_of(log: tuple[str, ...]) -> str:
    """Return each word of a log once, in small letters: logs repeat most of them."""
    return " ".join({word for line in log for word in line.lower().split()})


def plainly(text: str) -> str:
    """Return a line with the signs taken out by which shells, Python and YAML differ."""
    return _OPTION.sub(r"\1=", _PAIRED.sub("=", _BRACKETS.sub(" ", _QUOTES.sub("", text))))


def _is_done(step: Step, log: tuple[str, ...]) -> bool:
    if step.kind is StepKind.SYSTEM:
        return _is_run(step.text, log)
    if step.kind is StepKind.SET:
        return all(_stands(item, log) for item in step.items)
    if step.kind is StepKind.SETTING:
        lines = _BESIDE.split(_unlabelled(step.text))
        return all(not _PROSE.search(line) and _stands(line, log) for line in lines)
    if step.kind is StepKind.INSTALL:
        if any(option in _AGAIN for option in step.options):
            return False
        return all(_stands(item, log, _INSTALLS) for item in step.items)
    return False


def _unlabelled(text: str) -> str:
    """Return a setting without the name of its framework, where that stands before it."""
    rest = text.partition(_LABEL)[2]
    return rest if rest.startswith("--") or re.search(r"[=:]", rest) else text


def _stands(text: str, log: tuple[str, ...], beside: re.Pattern[str] | None = None) -> bool:
    """Return whether a setting or requirement stands in a line of a log, as a whole.

    `beside`: what the line must hold as well.
    """
    wanted = plainly(text)
    said = (plainly(line) for line in _own_with((wanted,), log) if not _COMMENTED.match(line))
    lines = [line for line in said if wanted in line and (not beside or beside.search(line))]
    pattern = rf"(?a)(?:(?<![\w.-])|(?<=torch_)){re.escape(wanted)}(?![\w+-]|\.\w)"
    return any(re.search(pattern, line) is not None for line in lines)
