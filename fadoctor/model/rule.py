"""Rules and matrix tables after compilation. The YAML form is in docs/rule-format.md."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from typing import TYPE_CHECKING, Any, TypeVar

import msgspec

from fadoctor.model.finding import Confidence, Reference, Severity
from fadoctor.model.fix import Effect, Safety
from fadoctor.model.needed import joined_needs
from fadoctor.model.packed import unpack
from fadoctor.model.typed import decode
from fadoctor.model.verdict import Backend, Dtype

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

_T = TypeVar("_T")

Condition = dict[str, Any]
"""All of its keys must hold: fact path -> value or operators; ``any`` -> list of conditions."""

Cell = bool | int | str | tuple[str, ...] | dict[str, str] | None
"""A cell of a table. ``{unknown: reason}`` and a missing cell are Unknown, null is Absent.

Null is what the word ``absent`` of the YAML becomes.
"""


OPERATORS = (
    ("is", "not"),
    ("in", "not_in"),
    ("below", "at_least"),
    ("satisfies", "violates"),
    ("patch_of", "not_patch_of"),
    ("overlaps", "disjoint"),
    ("contains", "lacks"),
    ("present", "present"),
)
"""The operators of conditions, each beside its opposite."""

ACCESSORS = ("major", "minor", "base", "local")
"""Parts of a version that a path can end in."""

INSTALL_OPTIONS = ("--no-build-isolation", "--no-deps", "--force-reinstall", "--no-cache-dir")
"""Options of an installer that a step may carry; pip and uv share them."""

MESSAGE_LIMIT = 64 << 10
"""Characters of a message that symptoms look at: its end, where exceptions name themselves."""

SUBJECTS = (
    "gpu", "toolkit", "package", "requirer", "extension", "optional_extension", "contract",
)  # fmt: skip
"""What ``for_each`` can name. An extension is that of a package: ``package.version`` is its.

Optional are those that their package does without; ``extension`` are the others. A requirer is a
package, or another distribution that requires one: paths name either ``package``. A contract is
a name that one package asks of another, which has it not.
"""


class StepTemplate(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """One step of a fix before its ``{placeholders}`` are filled. Exactly one kind is given."""

    install: tuple[str, ...] = ()
    uninstall: tuple[str, ...] = ()
    set: tuple[str, ...] = ()
    unset: tuple[str, ...] = ()
    setting: str = ""
    system: str = ""
    advice: str = ""
    index: str = ""
    options: tuple[str, ...] = ()
    settings: dict[str, str] = {}
    """What frameworks are told: ``{attention: sdpa, dtype: fp16}``, in the words of each."""
    frameworks: tuple[str, ...] = ()
    """Whose users an advice is for: left out where only other frameworks are at work."""
    effects: dict[str, Effect] = {}
    """Facts as they are after a setting, a system command or what is advised; null is Absent."""


LOG_PATTERNS = ("tried", "logged", "also", "unlogged")
"""The keys of a fix that are patterns of a log."""


class FixTemplate(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """A fix before its placeholders are filled; offered where ``when`` holds."""

    id: str
    title: str
    steps: tuple[StepTemplate, ...]
    safety: Safety = Safety.UNSAFE
    when: Condition = {}
    rows: dict[str, dict[str, str]] = {}
    """Look-ups of its own, beside those of the rule."""
    side_effects: str = ""
    brings: tuple[Backend, ...] = ()
    """Backends whose package it installs, or says how to get."""
    tried: tuple[str, ...] = ()
    """Patterns of a log that show that it was tried: then others go before it."""
    logged: tuple[str, ...] = ()
    """Patterns of a log: offered only where a line of one holds one of them."""
    also: tuple[str, ...] = ()
    """More patterns of a log: offered only where a line holds one of these as well."""
    unlogged: tuple[str, ...] = ()
    """Patterns of a log: not offered where a line of one holds one of them."""
    words: dict[str, tuple[tuple[str, ...], ...]] = {}
    """For each of these four lists what the compiler works out: the words, in small letters, one
    of which is in every line that a pattern matches; no words where that is not known."""
    otherwise: bool = False
    """Whether it is offered only where nothing else is proved: then it goes before questions."""
    wheel: str = ""
    """A distribution whose prebuilt file it tells to choose: explain names that file."""


class Affects(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """Which cells of the verdict table a rule decides. No dtypes: every dtype."""

    backends: tuple[Backend, ...] = ()
    dtypes: tuple[Dtype, ...] = ()
    extension: bool = False
    """The backends that the extension's package brings, and those that need it."""
    lowered: bool = False
    """Whether its cells stay open, too, where ``when_severity`` makes less of the finding."""
    nothing: str = ""
    """Why it decides no cell, where it does not: an error about a setting, or a tool beside."""


def with_rows(rule: Rule, fix: FixTemplate) -> Rule:
    """Return a rule as one of its fixes sees it: with the look-ups of both."""
    return msgspec.structs.replace(rule, rows={**rule.rows, **fix.rows}) if fix.rows else rule


LOOKAHEAD = 512
"""How far behind its match, in characters, the pattern of a symptom may look."""

TABLE = "table"
"""The key of a look-up that names the table; the others are keys of it."""

HEIRS = "heirs"
"""The key that names a table of what inherits: its column says by which words else to look."""


class Symptom(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """How a root cause shows in a log: one wording of it."""

    anchor: str
    """A literal part that every match contains: cheap to look for."""
    pattern: str = ""
    """A regular expression with named groups; empty: the anchor itself."""
    near: tuple[str, ...] = ()
    """Patterns that must all be found in the same message."""
    same_line: tuple[str, ...] = ()
    """Patterns that must all be found in the lines of the match."""
    absent: tuple[str, ...] = ()
    """Patterns none of which may be found in it."""
    others: tuple[str, ...] = ()
    """Names of other programs: where one of them raised it, it does not show."""
    survived: tuple[str, ...] = ()
    """How a program goes on: where the lines of the match say so, it does not show."""
    given: Condition = {}
    """What the facts of the log must surely say; where they do not, it does not show."""
    listed: dict[str, str] = {}
    """A table, and for its keys the groups of the pattern: only what has a row there shows."""
    message: str = ""
    """What to say, with ``{groups}`` filled in; empty: the rule's title."""
    severity: Severity | None = None
    """Where this wording weighs less than the rule."""
    confidence: Confidence | None = None
    width: int = 0
    """Longest match in characters, which the compiler works out; 0 where it is not known."""
    needs: tuple[tuple[str, ...], ...] = ()
    """Words in small letters, which the compiler works out: a match needs one of each choice."""


class Refinement(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """How the facts of a text make a rule of a more general one that the text shows."""

    of: tuple[str, ...]
    """The general rules; `COMPLAINT` is a complaint in a text that shows no cause."""
    message: str
    """What to say; it holds no values."""
    given: Condition = {}
    """What the facts of the log must surely say."""
    untold: tuple[str, ...] = ()
    """Facts none of which the log may tell: with one the general rule is decided otherwise."""
    near: tuple[str, ...] = ()
    """Patterns each of which a line of the log holds."""
    absent: tuple[str, ...] = ()
    """Patterns none of which a line of it may hold."""
    keeps: bool = False
    """Whether the fixes that the general rule has for words of the log come first."""
    confidence: Confidence = Confidence.MEDIUM
    severity: Severity | None = None
    """The most that it weighs, where that is not what the rule weighs."""


COMPLAINT = "complaint"
"""Stands in ``of`` of a refinement where no rule does: a person complains, and nothing is found."""


class WhenSeverity(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """What a rule weighs where its ``when`` holds, if that is less than its severity."""

    severity: Severity
    unless: Condition = {}
    """Where this surely holds, it weighs what the rule weighs."""
    confidence: Confidence | None = None
    """How sure the facts alone are, where that is less than the rule."""


class Rule(
    msgspec.Struct,
    frozen=True,
    forbid_unknown_fields=True,
    omit_defaults=True,
    dict=True,
    rename={"written": "fixes", "worded": "symptoms"},
):
    """One root cause."""

    # What the engine makes of its conditions hangs on it (`dict`).

    id: str
    title: str
    since: str
    area: str
    severity: Severity
    confidence: Confidence
    message: str
    why: str
    references: tuple[Reference, ...]
    """Its pages as its file has them; none where they are packed. Read `cited`."""
    verified: str
    """source-read, reproduced or reported; only the first two may be errors."""
    when: Condition = {}
    """Empty for a root cause that shows only in logs."""
    when_severity: WhenSeverity | None = None
    """Where the facts alone weigh less than a log that shows it."""
    refutes: bool = True
    """Whether facts that do not meet ``when`` speak against a log that shows it.

    False where ``when`` is one way to the root cause and there are others.
    """
    worded: tuple[Symptom, ...] = ()
    """Its symptoms as its file has them; none where they are packed. Read `symptoms`."""
    refines: tuple[Refinement, ...] = ()
    """Which general rules become this one, by which facts of a log."""
    subject: str = "environment"
    for_each: tuple[str, ...] = ()
    """Judged for each of a kind, or of two: ``gpu.name`` then means this one."""
    affects: Affects | None = None
    rows: dict[str, dict[str, str]] = {}
    let: dict[str, tuple[str, ...]] = {}
    overruled_by: Condition = {}
    explained_by: tuple[str, ...] = ()
    written: tuple[FixTemplate, ...] = ()
    """Its fixes as its file has them; none where they are packed. Read `fixes`."""
    packed: bytes = b""
    """Its fixes and pages as they are compiled: half of what rules hold, and read of few."""
    packed_symptoms: str = ""
    """Its symptoms as they are compiled: a log shows those of few rules, and facts ask for none.

    They are JSON in ASCII: what is compressed here takes more room in a compressed file."""
    packed_needs: tuple[tuple[str, str], ...] = ()
    """Anchor of each symptom that is packed, and the words that it needs, as `needs_of` says."""
    file: str = ""
    """Where it stands, relative to the rules folder."""

    @cached_property
    def fixes(self) -> tuple[FixTemplate, ...]:
        """The fixes; msgspec.DecodeError where those that are packed are damaged."""
        return _unpacked(self).fixes

    @cached_property
    def cited(self) -> tuple[Reference, ...]:
        """The pages that say so; msgspec.DecodeError as for `fixes`."""
        return _unpacked(self).references

    @cached_property
    def symptoms(self) -> tuple[Symptom, ...]:
        """How it shows in a log; msgspec.DecodeError as for `fixes`."""
        packed = self.packed_symptoms
        return decode(packed, tuple[Symptom, ...]) if packed else self.worded

    @property
    def facts_weigh(self) -> Severity:
        """The most that a finding weighs which facts alone make."""
        lower = self.when_severity
        return lower.severity if lower is not None and not lower.unless else self.severity


class PackedParts(msgspec.Struct, frozen=True):
    """What is packed of a rule."""

    fixes: tuple[FixTemplate, ...]
    references: tuple[Reference, ...]


def _unpacked(rule: Rule) -> PackedParts:
    if rule.packed:
        return unpack(rule.packed, PackedParts)
    return PackedParts(rule.written, rule.references)


def with_fixes(rule: Rule, fixes: tuple[FixTemplate, ...]) -> Rule:
    """Return a rule with other fixes."""
    return msgspec.structs.replace(rule, written=fixes, references=rule.cited, packed=b"")


def needs_of(rule: Rule) -> tuple[tuple[str, str], ...]:
    """Return of each symptom of a rule the anchor and the words that it needs; unpack none.

    The words are one text, as `has_needed` reads it.
    """
    return rule.packed_needs or tuple(
        (each.anchor, joined_needs(each.needs)) for each in rule.worded
    )


def with_written_parts(rule: Rule) -> Rule:
    """Return a rule as its file has it: with its fixes, pages and symptoms unpacked."""
    worded = msgspec.structs.replace(
        rule, worded=rule.symptoms, packed_symptoms="", packed_needs=()
    )
    return with_fixes(worded, rule.fixes)


class Table(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True, dict=True):
    """One table of the matrix."""

    # Its index hangs on it (`dict`).

    table: str
    doc: str
    keys: dict[str, str]
    """Key column -> how it matches: word, release or range."""
    columns: dict[str, str]
    """Other column -> type: text, list, pattern, version, integer, boolean or rule."""
    references: tuple[Reference, ...]
    verified: str
    rows: tuple[dict[str, Cell], ...]
    complete: bool = False
    """Whether a key without a row means Absent (there is no such thing) and not Unknown."""
    apart: bool = False
    """Large and rarely asked: compiled into a file of its own, loaded by those who need it."""
    otherwise: dict[str, Cell] = {}
    """What a row says of a column that it leaves out; given where somebody looked at every row."""
    file: str = ""
    places: tuple[str, ...] = ()
    """``file:line`` of each row, for messages about conflicts."""
    needs: dict[str, tuple[str, ...]] = {}
    """Column of patterns -> for each row what its pattern needs, as `needs_in` reads it.
    Compiled."""


class Knowledge(msgspec.Struct, frozen=True, dict=True):
    """All rules and tables, compiled.

    What is made of them for every text hangs on them (`kept_with`): it is made once.
    """

    version: str
    sha256: str
    rules: tuple[Rule, ...]
    tables: Mapping[str, Table]
    retired: dict[str, str] = {}
    """Id that was given once -> the rule that speaks of it since."""
    newest: dict[str, str] = {}
    """Package, as its facts begin -> its newest release that a table of releases has."""
    origin: str = ""
    """Where it came from, in words, where that is not with fadoctor itself."""
    words: bytes = b""
    """The words of the rules, as they are compiled."""

    def current(self, ids: Iterable[str]) -> tuple[str, ...]:
        """Return ids of rules, those that are retired as they are called since."""
        return tuple(self.retired.get(each, each) for each in ids)


def kept_with(knowledge: Knowledge, name: str, make: Callable[[Knowledge], _T]) -> _T:
    """Return what is made of a knowledge base: the first call makes it, later ones return it."""
    kept: dict[str, _T] = knowledge.__dict__
    if name not in kept:
        kept[name] = make(knowledge)
    return kept[name]


def rules_by_id(knowledge: Knowledge) -> dict[str, Rule]:
    """Return the rules of a knowledge base by their ids; they are put together once."""
    return kept_with(
        knowledge, "rules by id", lambda known: {rule.id: rule for rule in known.rules}
    )
