"""What a log shows to be done already: a fix that repeats it comes last."""

from __future__ import annotations

import re
from functools import lru_cache
from itertools import chain, zip_longest
from typing import TYPE_CHECKING, NamedTuple

from fadoctor.knowledge.matrix.versions import is_in
from fadoctor.model.fix import StepKind
from fadoctor.syntax.patterns import compiled

if TYPE_CHECKING:
    from collections.abc import Sequence

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
    if template.tried and holds_one(template, "tried", _own(lines)):
        return True
    does = [step for step in fix.steps if step.kind is not StepKind.ADVICE] if fix else []
    if fix is not None and not does:
        return _is_typed(fix, lines)
    return bool(does) and all(_is_done(step, lines) for step in does)


# Each fix of a finding asks for the same lines.
@lru_cache(maxsize=4)
def _own(log: tuple[str, ...]) -> tuple[str, ...]:
    """Return the sentences of a log that neither advise something nor ask whether to do it."""
    sentences = chain.from_iterable(map(_SENTENCE.split, log))
    return tuple(each for each in sentences if not _ADVISED.search(each) and not _ASKS.search(each))


@lru_cache(maxsize=4)
def _said(log: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(plainly(line) for line in _own(log) if not _COMMENTED.match(line))


class _Typed(NamedTuple):
    """A line that may have been typed."""

    begins: str
    """Its first word; empty where somebody says that it was run, which may stand anywhere."""
    words: frozenset[str]


@lru_cache(maxsize=4)
def _typed(log: tuple[str, ...]) -> tuple[_Typed, ...]:
    typed = []
    for line in _own(log):
        if _WORKED.search(line):
            continue
        words = _listed(_PROMPT.sub("", line))
        if words:
            begins = "" if _DONE.search(line) else words[0]
            typed.append(_Typed(begins, frozenset(words)))
    return tuple(typed)


def _is_typed(fix: Fix, log: tuple[str, ...]) -> bool:
    """Return whether a log holds, as typed, all commands that the words of a fix quote."""
    quoted = [found for step in fix.steps for found in _QUOTED.findall(step.text)]
    commands = [each for each in quoted if _CHANGES.match(each)]
    return bool(commands) and all(_is_run(command, _typed(log)) for command in commands)


def _is_run(text: str, typed: Sequence[_Typed]) -> bool:
    """Return whether each command of a line was run, with whatever else its user gave it."""
    commands = [words for part in _CHAIN.split(text) if (words := _listed(part))]
    return all(
        len(words) > 1
        and any(line.begins in ("", words[0]) and line.words.issuperset(words) for line in typed)
        for words in commands
    )


def _listed(command: str) -> list[str]:
    """Return the words of a command, whatever starts pip, names the user, or makes it root's."""
    words = []
    for word in _PIP.sub("pip", _FOREIGN.sub(" ", plainly(command))).split():
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
        (not needed or any(word in said for word in needed))
        and any(map(compiled(pattern).search, log))  # in C: a log has thousands of lines
        for pattern, needed in zip_longest(patterns, template.words.get(key, ()), fillvalue=())
    )


@lru_cache(maxsize=4)
def _words_of(log: tuple[str, ...]) -> str:
    """Return each word of a log once, in small letters: logs repeat most of them."""
    return " ".join({word for line in log for word in line.lower().split()})


def plainly(text: str) -> str:
    """Return a line with the signs taken out by which shells, Python and YAML differ."""
    return _OPTION.sub(r"\1=", _PAIRED.sub("=", _BRACKETS.sub(" ", _QUOTES.sub("", text))))


def _is_done(step: Step, log: tuple[str, ...]) -> bool:
    if step.kind is StepKind.SYSTEM:
        return _is_run(step.text, _typed(log))
    said = _said(log)
    if step.kind is StepKind.SET:
        return all(_stands(item, said) for item in step.items)
    if step.kind is StepKind.SETTING:
        lines = _BESIDE.split(_unlabelled(step.text))
        return all(not _PROSE.search(line) and _stands(line, said) for line in lines)
    if step.kind is StepKind.INSTALL:
        if any(option in _AGAIN for option in step.options):
            return False
        typed = [line for line in said if _INSTALLS.search(line)]
        return all(_stands(item, typed) for item in step.items)
    return False


def _unlabelled(text: str) -> str:
    """Return a setting without the name of its framework, where that stands before it."""
    rest = text.partition(_LABEL)[2]
    return rest if rest.startswith("--") or re.search(r"[=:]", rest) else text


def _stands(text: str, said: Sequence[str]) -> bool:
    """Return whether a setting or requirement stands in one of some lines, as a whole."""
    wanted = plainly(text)
    pattern = re.compile(rf"(?a)(?:(?<![\w.-])|(?<=torch_)){re.escape(wanted)}(?![\w+-]|\.\w)")
    return any(wanted in line and pattern.search(line) is not None for line in said)
