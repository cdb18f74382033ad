"""Simple commands of a shell script, and on what it depends that they run."""

from __future__ import annotations

import enum

import msgspec

from fadoctor.syntax.shell_events import Redirection
from fadoctor.syntax.shell_filled_words import FilledWord
from fadoctor.syntax.shell_variables import Scope


class Depends(enum.IntEnum):
    """Whether a command runs whenever its script does."""

    NOTHING = 0
    LOOP = 1
    """It stands in a loop that may have no turn."""
    CONDITION = 2
    """Something else decides."""
    CALLER = 3
    """It stands in a function that nothing calls."""
    NEVER = 4
    """It stands in a branch that is not taken, by what is known of its test."""


class Assignment(msgspec.Struct, frozen=True):
    """A variable that a command sets, with its value; None where that is a list."""

    name: str
    value: FilledWord | None


class ShellCommand(msgspec.Struct, frozen=True):
    """One simple command."""

    words: tuple[FilledWord, ...]
    """None of a command that only sets variables."""
    assignments: tuple[Assignment, ...] = ()
    is_exported: bool = False
    """Whether what is started gets the variables."""
    before: str = ""
    """Operator before it."""
    depends: Depends = Depends.NOTHING
    redirections: tuple[Redirection, ...] = ()
    start: int = 0
    """Index of the program, after ``sudo`` and its like."""
    is_shell: bool = False
    """Whether it starts a shell here, whose commands follow."""
    is_elsewhere: bool = False
    """Whether another program starts it, such as ``docker run``."""
    is_given: bool = False
    """Whether it stands in a text that the script gives to a shell."""

    @property
    def text(self) -> str:
        """Return it as one line."""
        return " ".join(word.text for word in self.words)


class Frame(msgspec.Struct):
    """The block that is being read."""

    what: str
    depends: Depends
    body: Depends = Depends.NOTHING
    is_repeated: bool = False
    repeats: bool = False
    saved: Scope | None = None
    """Variables before a subshell."""
    is_maybe: bool = False
    was_test: bool = False
    joined: str = ""
    held: bool | None = None
    """Whether the command before is a test that surely holds, or surely does not."""
    holds: bool | None = None
    """The same of what stands after ``if`` so far."""
    is_over: bool = False
    """Whether a branch of an ``if`` was surely taken."""
    is_skipped: bool = False
    """Whether the branch that is being read is surely not taken."""
    is_within_skipped: bool = False

    def reach(self, operator: str) -> Depends:
        """Return on what the next command depends; `operator` joins it to the one before."""
        if operator == "||":
            self.is_maybe = self.held is not False
        elif operator == "&&":
            is_open = self.was_test and self.held is not True
            self.is_maybe = is_open or (self.is_maybe and self.joined == "&&")
        elif operator not in {"|", "|&"}:
            self.is_maybe = False
        self.joined = operator
        return max(Depends.CONDITION, self.depends) if self.is_maybe else self.depends

    def test(self, value: bool | None, operator: str) -> None:  # noqa: FBT001 -- what is known
        """Take what is known of a command as a test; `operator` joins it to the one before."""
        self.held = value
        if operator == "&&":
            both = (self.holds, value)
            self.holds = False if False in both else True if both == (True, True) else None
        elif operator == "||":
            both = (self.holds, value)
            self.holds = True if True in both else False if both == (False, False) else None
        else:
            self.holds = value

    def is_settled(self, part: str) -> bool:
        """Begin a part of a block; return whether it surely runs, or surely does not."""
        if self.what != "if":
            return False
        if part == "then" and not self.is_over:
            self.is_skipped = self.holds is False or self.is_within_skipped
            self.is_over = self.holds is True
            return self.holds is not None
        if part != "then":
            self.is_skipped = self.is_over or self.is_within_skipped
        self.holds = self.held = None
        return True
