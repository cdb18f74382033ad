"""Shell scripts: the simple commands, in the order in which they run; nothing is ever run.

Variables that the script sets are filled in, functions are followed where they are called, and
texts for another shell (``bash -c "..."``, here-documents) are read like the script. Each command
says whether it runs whenever the script does.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TYPE_CHECKING

import msgspec

from fadoctor.syntax.shell_commands import Assignment, Depends, Frame, ShellCommand
from fadoctor.syntax.shell_events import Mark, Simple
from fadoctor.syntax.shell_filled_words import FilledWord
from fadoctor.syntax.shell_grammar import Grammar
from fadoctor.syntax.shell_inner import Caller, inner_text, moved
from fadoctor.syntax.shell_prefixes import program_index
from fadoctor.syntax.shell_variables import Variable, Variables

if TYPE_CHECKING:
    from collections.abc import Mapping

    from fadoctor.syntax.shell_pieces import RawWord

COMMAND_LIMIT = 5_000
STEP_LIMIT = 100_000
CALL_LIMIT = 8
"""How deep functions call functions, and shells start shells."""

Judge = Callable[[tuple[FilledWord, ...]], bool | None]
_CONDITION = Depends.CONDITION
_DECLARING = frozenset(("export", "declare", "local", "readonly", "typeset"))
_READING = frozenset(("read", "getopts", "mapfile", "readarray", "let"))
_TESTS = frozenset(("[", "[[", "test", "which", "grep", "type", "hash", "pgrep", "false"))
_ASSIGNMENT = re.compile(r"([A-Za-z_]\w{0,100})(\[[^\]]{0,80}\])?(\+?)=")
_NAME = re.compile(r"[A-Za-z_]\w{0,100}")
_GLOB = re.compile(r"[*?]|\{.*[,.].*\}|\[.+\]")


class Script(msgspec.Struct, frozen=True):
    """What was read."""

    commands: tuple[ShellCommand, ...]
    is_cut: bool
    """Whether the end is not read, because there is too much."""


def read_shell(
    text: str,
    variables: Mapping[str, str | None] | None = None,
    *,
    start: int = 0,
    takes_defaults: bool = True,
    judge: Judge | None = None,
) -> Script:
    """Return the commands of a script; variables that are None or missing stay open.

    `takes_defaults`: whether ``${X:-y}`` is y where the script does not set X. `judge`: says of a
    test whether it holds, None where nobody knows; without one no branch is settled.
    """
    run = _Run(Variables(variables or {}, takes_defaults=takes_defaults), judge)
    run.unit(_Unit(text), start, None)
    run.uncalled()
    return Script(tuple(run.in_order()), run.is_cut)


class _Unit(msgspec.Struct, frozen=True, eq=False):
    """A text: the script, or one that it gives to a shell, and where that stands."""

    text: str
    word: FilledWord | None = None


class _Function(msgspec.Struct):
    unit: _Unit
    events: list[Simple | Mark]
    start: int
    end: int
    defined: int
    """How many commands come before it."""
    is_called: bool = False


class _Run:
    """Goes through a script as it would run."""

    def __init__(self, variables: Variables, judge: Judge | None) -> None:
        self.variables, self.judge = variables, judge
        self.found: list[ShellCommand] = []
        self.functions: dict[str, _Function] = {}
        self.active: list[str] = []
        self.late: list[tuple[int, list[ShellCommand]]] = []
        self.steps = 0
        self.is_cut = self.is_elsewhere = False
        self.piped: Simple | None = None

    def unit(self, unit: _Unit, start: int, end: int | None, base: Frame | None = None) -> None:
        """Read a text and go through it."""
        grammar = Grammar(unit.text[:end], start)
        events = grammar.read()
        self.is_cut = self.is_cut or grammar.is_cut
        if unit.word is not None:
            events = [moved(each, unit.word) for each in events]
        self.walk(unit, events, 0, len(events), base or Frame("", Depends.NOTHING))

    def walk(
        self, unit: _Unit, events: list[Simple | Mark], start: int, end: int, base: Frame
    ) -> None:
        """Go through commands and blocks."""
        frames = [base]
        at = start
        while at < end:
            self.steps += 1
            if self.steps > STEP_LIMIT or len(self.found) >= COMMAND_LIMIT:
                self.is_cut = True
                break
            event = events[at]
            if isinstance(event, Simple):
                self.simple(unit, event, frames[-1])
            elif event.kind == "open" and event.what == "function":
                at = self.define(unit, events, at)
            else:
                self.mark(event, frames)
            at += 1

    def define(self, unit: _Unit, events: list[Simple | Mark], at: int) -> int:
        """Remember a function; return where it ends."""
        depth, end = 0, at
        while end < len(events):
            event = events[end]
            if isinstance(event, Mark):
                depth += (event.kind == "open") - (event.kind == "close")
                if depth == 0:
                    break
            end += 1
        event = events[at]
        if isinstance(event, Mark):
            known = self.functions.get(event.name)
            if known is not None and not known.is_called:
                self.functions[f"{event.name} {at}"] = known
            found = _Function(unit, events, at + 1, end, len(self.found))
            self.functions[event.name] = found
        return end

    def mark(self, event: Mark, frames: list[Frame]) -> None:
        """Begin or end a block."""
        frame = frames[-1]
        if event.kind == "open":
            depends = frame.reach(event.before)
            is_apart = event.what == "(" or event.before in {"|", "|&"}
            saved = dict(self.variables.scope) if is_apart else None
            inner = Frame(event.what, depends, is_repeated=frame.is_repeated, saved=saved)
            inner.is_skipped = inner.is_within_skipped = frame.is_skipped
            frames.append(inner)
            if event.what in {"loop", "for"}:
                self.loop(event, inner)
        elif event.kind == "part":
            frame.is_maybe = frame.was_test = False
            if event.what != "do":
                is_settled = frame.is_settled(event.what)
                frame.depends = frame.depends if is_settled else max(_CONDITION, frame.depends)
            else:
                frame.depends, frame.is_repeated = max(frame.depends, frame.body), frame.repeats
        elif len(frames) > 1:
            frames.pop()
            if frame.saved is not None:
                self.variables.scope = frame.saved
            frames[-1].was_test, frames[-1].held = False, None

    def loop(self, event: Mark, frame: Frame) -> None:
        """Set what a loop goes over."""
        frame.body, frame.repeats = Depends.LOOP, True
        if event.what != "for":
            return
        words = [w for item in event.items or () for w in self.variables.words(item)]
        is_sure = bool(words) and not any(w.is_open or _GLOB.search(w.text) for w in words)
        is_single = is_sure and len(words) == 1
        if is_sure:
            frame.body = Depends.NOTHING
            frame.repeats = frame.is_repeated or not is_single
        self.variables.set(event.name, Variable((words[0],)) if is_single else None)

    def simple(self, unit: _Unit, event: Simple, frame: Frame) -> None:
        """Read one command."""
        depends = frame.reach(event.before)
        pairs, rest = _taken_apart(event.words)
        words = tuple(w for raw in rest for w in self.variables.words(raw))
        if frame.is_skipped:
            self.emit(ShellCommand(words, before=event.before, depends=Depends.NEVER))
            return
        frame.test(self.judged(event, words), event.before)
        frame.was_test = event.is_test or bool(words and words[0].text in _TESTS)
        frame.was_test = frame.was_test or [w.text for w in words[:2]] == ["command", "-v"]
        if not event.words:
            return
        is_sure = depends is Depends.NOTHING and not frame.is_repeated
        assigned = tuple(self.assign(raw, keeps=not words, is_sure=is_sure) for raw in pairs)
        if words and words[0].text in _DECLARING:
            self.declare(event, rest, depends, is_sure=is_sure)
            self.captured(unit, rest, depends, frame)
            return
        if not words:
            self.emit(ShellCommand((), assigned, depends=depends, before=event.before))
            self.captured(unit, pairs, depends, frame)
            return
        self.reads(unit, event, words, is_sure=is_sure)
        if self.call(words, depends, frame):
            return
        command = ShellCommand(
            words, assigned, True, event.before, depends, event.redirections,
            program_index([w.text for w in words]), is_elsewhere=self.is_elsewhere,
            is_given=unit.word is not None,
        )  # fmt: skip
        self.start(unit, event, command, frame)
        self.piped = event

    def judged(self, event: Simple, words: tuple[FilledWord, ...]) -> bool | None:
        """Return whether a command is a test that surely holds, or surely does not."""
        if self.judge is None:
            return None
        tested = tuple(w for raw in event.tested for w in self.variables.words(raw))
        is_negated = event.is_test and not tested
        found = self.judge(tested or words)
        return (not found if is_negated else found) if found is not None else None

    def emit(self, command: ShellCommand) -> None:
        """Note a command."""
        self.found.append(command)

    def assign(self, raw: RawWord, *, keeps: bool, is_sure: bool) -> Assignment:
        """Set a variable; under a condition only what it held before and still holds is known."""
        found = _ASSIGNMENT.match("".join(each.text for each in raw.pieces))
        if found is None:  # pragma: no cover -- it was told apart by the same pattern
            return Assignment("", None)
        value = self.variables.value(raw, found.end())
        if keeps:
            if is_sure and not found[2]:
                self.variables.set(found[1], value, is_added=bool(found[3]))
            else:
                is_added = bool(found[3]) and not found[2]
                self.variables.perhaps(found[1], value, is_added=is_added)
        return Assignment(found[1], None if value.is_array else value.words[0])

    def captured(self, unit: _Unit, raw: list[RawWord], depends: Depends, frame: Frame) -> None:
        """Go through what installs packages while a variable takes what it prints."""
        base = Frame("", depends, is_repeated=frame.is_repeated)
        pieces = [piece for each in raw for piece in each.pieces if piece.is_open]
        if unit.word is not None or len(self.active) >= CALL_LIMIT:
            return
        for piece in pieces:
            if piece.text.startswith("$(") and _INSTALLS.search(piece.text):
                scope = self.variables.scope
                self.variables.scope = dict(scope)
                self.active.append("")
                self.unit(unit, piece.at + 2, piece.at + len(piece.text) - 1, base)
                self.active.pop()
                self.variables.scope = scope

    def declare(
        self, event: Simple, rest: list[RawWord], depends: Depends, *, is_sure: bool
    ) -> None:
        """Read ``export A=b C``."""
        made = []
        for raw in rest[1:]:
            name = raw.plain
            if _ASSIGNMENT.match("".join(each.text for each in raw.pieces)):
                made.append(self.assign(raw, keeps=True, is_sure=is_sure))
            elif _NAME.fullmatch(name) and rest[0].plain == "export":
                held = self.variables.scope.get(name)
                if held is not None and not held.is_array and held.words:
                    made.append(Assignment(name, held.words[0]))
        is_exported = rest[0].plain == "export"
        self.emit(ShellCommand((), tuple(made), is_exported, event.before, depends))

    def reads(
        self, unit: _Unit, event: Simple, words: tuple[FilledWord, ...], *, is_sure: bool
    ) -> None:
        """Note what ``read``, ``unset`` and their like do to variables."""
        name = words[0].text
        names = [word.text for word in words[1:] if _NAME.fullmatch(word.text)]
        if name == "unset":
            for each in names:
                self.variables.set(each, Variable(()) if is_sure else None)
        elif name in _READING:
            for each in names:
                self.variables.set(each, None)
            document = next((r.heredoc for r in event.redirections if r.heredoc), None)
            if name == "read" and len(names) == 1 and document is not None and unit.word is None:
                reader = Grammar(unit.text, document.at)
                value = reader.document(document)
                self.variables.set(names[0], self.variables.value(value) if is_sure else None)
        elif name == "shift":
            self.variables.scope.update(dict.fromkeys("123456789@*"))

    def call(self, words: tuple[FilledWord, ...], depends: Depends, frame: Frame) -> bool:
        """Follow a function of the script; False where a command is none."""
        name = words[0].text
        function = self.functions.get(name)
        if function is None or name in self.active or len(self.active) >= CALL_LIMIT:
            return False
        function.is_called = True
        self.active.append(name)
        scope = self.variables.scope
        kept = {each: scope[each] for each in "123456789@*" if each in scope}
        given = {str(at): Variable((word,)) for at, word in enumerate(words[1:10], 1)}
        everything = Variable(words[1:], is_array=True)
        scope.update({**dict.fromkeys("123456789"), **given, "@": everything, "*": everything})
        inner = Frame("", depends, is_repeated=frame.is_repeated)
        self.walk(function.unit, function.events, function.start, function.end, inner)
        for each in "123456789@*":
            self.variables.scope.pop(each, None)
        self.variables.scope.update(kept)
        self.active.pop()
        return True

    def start(self, unit: _Unit, event: Simple, command: ShellCommand, frame: Frame) -> None:
        """Note a command, and the commands that it gives to a shell."""
        piped = self.piped if event.before in {"|", "|&"} else None
        caller = Caller(command.words, command.start, command.redirections, piped)
        given = inner_text(caller, self.variables)
        is_here = given is not None and not given.is_elsewhere
        self.emit(msgspec.structs.replace(command, is_shell=is_here))
        if given is None or len(self.active) >= CALL_LIMIT:
            return
        was_elsewhere, scope = self.is_elsewhere, self.variables.scope
        self.is_elsewhere = was_elsewhere or given.is_elsewhere
        if not given.is_same_shell:
            self.variables.scope = dict(scope)
        self.active.append("")
        base = Frame("", command.depends, is_repeated=frame.is_repeated)
        if given.word is not None:
            self.unit(_Unit(given.word.text, given.word), 0, None, base)
        else:
            self.unit(unit, given.at, given.end, base)
        self.active.pop()
        if not given.is_same_shell:
            self.variables.scope = scope
        self.is_elsewhere = was_elsewhere

    def uncalled(self) -> None:
        """Go through the functions that nothing calls: something else may."""
        for name, each in sorted(self.functions.items(), key=lambda item: item[1].defined):
            if each.is_called:
                continue
            each.is_called = True
            main, self.found = self.found, []
            self.active.append(name)
            frame = Frame("", Depends.CALLER)
            self.walk(each.unit, each.events, each.start, each.end, frame)
            self.active.pop()
            self.late.append((each.defined, self.found))
            self.found = main

    def in_order(self) -> list[ShellCommand]:
        """Return all commands, those of functions that are not called where these are written."""
        found: list[ShellCommand] = []
        at = 0
        for index, commands in self.late:
            found += self.found[at:index]
            found += commands
            at = index
        found += self.found[at:]
        return found[:COMMAND_LIMIT]


# output=$(pip install "$@" 2>&1)
_INSTALLS = re.compile(
    r"\b(?:pip[\d.]{0,6}|uv|conda|mamba|micromamba)\b[^\n]{0,80}\b(?:install|add|create|sync)\b"
)


def _taken_apart(raw: tuple[RawWord, ...]) -> tuple[list[RawWord], list[RawWord]]:
    """Return the assignments that a command begins with, and the rest."""
    count = 0
    while count < len(raw) and _is_assignment(raw[count]):
        count += 1
    return list(raw[:count]), list(raw[count:])


def _is_assignment(raw: RawWord) -> bool:
    if not raw.pieces or raw.pieces[0].is_quoted or raw.pieces[0].variable:
        return False
    return _ASSIGNMENT.match("".join(each.text for each in raw.pieces)) is not None
