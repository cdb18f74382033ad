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

    def reach(self, operator: str) -> Depends:
        """Return on what the next command depends; `operator` joins it to the one before."""
        if operator == "||":
            self.is_maybe = True
        elif operator == "&&":
            self.is_maybe = self.was_test or (self.is_maybe and self.joined == "&&")
        elif operator not in {"|", "|&"}:
            self.is_maybe = False
        self.joined = operator
        return max(Depends.CONDITION, self.depends) if self.is_maybe else self.depends
