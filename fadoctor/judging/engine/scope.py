"""What one rule sees for one subject: facts, rows and names, by path; and what it has read."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from fadoctor.knowledge.matrix.versions import version_part
from fadoctor.model.fact import Absent, Fact, Known, Unknown
from fadoctor.model.fact_rows import ENVIRONMENT_VARIABLES
from fadoctor.model.packages import PACKAGES
from fadoctor.model.rule import ACCESSORS, SUBJECTS, Rule

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from fadoctor.knowledge.matrix.query import Matrix, Rows
    from fadoctor.model.environment import Environment

    Reader = Callable[["Scope"], Fact]
    """A path of a rule, ready to be read."""

# {gpu.name}, or {gpu.name|this GPU}: what is said where the fact is not known
_PLACEHOLDER = r"\{([a-z][\w.\[\]-]{0,80})(?:\|([^{}|]{0,80}))?\}"
# [[ on {gpu.name}]]: left out where one of its facts is not known
_OPTIONAL = r"(?s)\[\[(.{1,400}?)\]\]"


_SOME_GPU, _NOT_SET, _EMPTY = "the GPU", "not set", "empty"
"""What a text says of a GPU without a name, of a variable that is not set, and of an empty one."""

# 2.6.0, ==2.8.0, (not installed): what stands behind a name as it is
_PLAIN = re.compile(r"$|[\d(<>=!~]")

_OPEN_ENDED = tuple(f"env.{name[:-1]}" for name in ENVIRONMENT_VARIABLES if name.endswith("*"))


class Scope:
    """Resolves the paths of one rule for one subject, and keeps what was read as evidence."""

    __slots__ = ("_cells", "_doubts", "_rows", "bindings", "environment", "matrix", "read", "rule")

    def __init__(
        self, environment: Environment, matrix: Matrix, rule: Rule, bindings: Mapping[str, str]
    ) -> None:
        self.environment = environment
        self.matrix = matrix
        self.rule = rule
        self.bindings = bindings
        self.read: dict[str, Fact] = {}
        self._rows: dict[str, Rows] | None = None
        self._cells: dict[str, str] | None = None
        self._doubts: tuple[str, ...] | None = None

    def resolve(self, path: str) -> Fact:
        """Return the fact, cell or name at a path; what was read becomes evidence."""
        return reader(self.rule, path)(self)

    def row(self, name: str) -> Rows:
        """Return the rows of one of the rule's look-ups."""
        if self._rows is None:  # few rules look anything up, and many are judged
            self._rows = {}
        found = self._rows.get(name)
        if found is None:
            spec = self.rule.rows[name]
            keys = {key: self._key(path) for key, path in spec.items() if key != "table"}
            found = self._rows[name] = self.matrix.find(spec["table"], keys)
        return found

    def put_row(self, name: str, rows: Rows) -> None:
        """Take rows for one of the rule's look-ups, whatever its keys say."""
        self._rows = {**(self._rows or {}), name: rows}

    def fill(self, template: str) -> str:
        """Return a text with its ``{paths}`` filled in; what is not known reads ``unknown``.

        ``{path|words}`` has words for that, and ``[[part]]`` is left out then.
        """
        chosen = re.sub(_OPTIONAL, lambda part: part[1] if self.can_fill(part[1]) else "", template)
        found = re.sub(_PLACEHOLDER, lambda match: self._word(match[1], match[2]), chosen)
        starts = chosen[:1] == "{" and found.startswith(_SOME_GPU)
        return found[:1].upper() + found[1:] if starts else found

    def _word(self, path: str, otherwise: str | None) -> str:
        fact = self.resolve(path)
        if isinstance(fact, Known):
            if fact.value == "" and path.startswith("env."):
                return _EMPTY
            return _size(fact.value) if path.endswith("_bytes") else _text(fact)
        if otherwise is None and path.startswith("gpu") and path.endswith(".name"):
            return _SOME_GPU
        if otherwise is None and path.startswith("env.") and isinstance(fact, Absent):
            return _NOT_SET
        # A cell of a row that is not found has the words of its key, which say nothing of the cell.
        sources = self.rule.let.get(path, (path,))
        is_own = not any(each.partition(".")[0] in self.rule.rows for each in sources)
        is_told = otherwise is None or (isinstance(fact, Unknown) and fact.words and is_own)
        return _text(fact) if is_told else str(otherwise)

    def fill_items(self, template: str) -> tuple[str, ...]:
        """Return a text filled in, or, where it is one placeholder for a list, the list."""
        whole = re.fullmatch(_PLACEHOLDER, template)
        fact = self.resolve(whole[1]) if whole else None
        if isinstance(fact, Known) and isinstance(fact.value, tuple):
            return fact.value
        return (self.fill(template),)

    def can_fill(self, template: str) -> bool:
        """Return whether every placeholder of a text is Known, or has words for where it is not."""
        return all(
            otherwise is not None or isinstance(self.resolve(path), Known)
            for path, otherwise in _placeholders(re.sub(_OPTIONAL, "", template))
        )

    def unknown_facts(self) -> dict[str, Unknown]:
        """Return what was read and is Unknown, by name."""
        return {name: fact for name, fact in self.read.items() if isinstance(fact, Unknown)}

    @property
    def doubts(self) -> tuple[str, ...]:
        """The names of `unknown_facts`, for who asks again and again of a rule that was judged."""
        if self._doubts is None:
            self._doubts = tuple(self.unknown_facts())
        return self._doubts

    def _key(self, path: str) -> Fact:
        return Known(path[1:], "rule") if path.startswith("=") else self.resolve(path)

    def cell(self, name: str, column: str) -> Fact:
        """Return a column of one of the rule's look-ups."""
        fact = self.row(name).cell(column)
        place = f"{self.rule.rows[name]['table']}.{column}"
        if self._cells is None:
            self._cells = {}
        if self._cells.setdefault(place, name) != name:
            place += f" ({name})"  # a second row of the same table
        self.read[place] = fact
        return fact

    def first_present(self, paths: Iterable[str]) -> Fact:
        """Return the first of some facts that is not Absent, else the last."""
        facts = [self.resolve(path) for path in paths]
        return next((fact for fact in facts if not isinstance(fact, Absent)), facts[-1])

    def not_a_fact(self, name: str) -> Fact:
        """Return what a name means that is no fact: a part of one, or why there is none."""
        if "[?]" in name:  # of a GPU or toolkit that nobody could count
            return self._of_the_uncounted(name)
        base, _, part = name.rpartition(".")
        if (parent := self.environment.facts.get(base)) is not None:
            return self._part(parent, base, part)
        found = self._not_given(name)
        self.read[name] = found
        return found

    def _of_the_uncounted(self, name: str) -> Unknown:
        kind = name.partition("[")[0]
        count = self.environment.facts.get(f"{kind}.count")
        why = count.reason if isinstance(count, Unknown) else f"{kind}.count is not a number"
        return Unknown(why, f"{kind}.count")

    def _part(self, fact: Fact, base: str, part: str) -> Fact:
        if isinstance(fact, Known) and isinstance(fact.value, dict):
            found = fact.value.get(part)
            entry = Absent(f"{base} has no {part}") if found is None else Known(found, fact.source)
            self.read[f"{base}.{part}"] = entry
            return entry
        self.read[base] = fact
        if isinstance(fact, Known) and part in ACCESSORS:
            return _version_part(fact, base, part)
        return fact

    def _not_given(self, name: str) -> Fact:
        """Return what a fact is that stands nowhere."""
        facts = self.environment.facts
        if name.startswith("log."):
            return Absent("there is no log")
        if name.startswith("fleet."):
            return Absent("only one machine was looked at")
        if name.startswith("config."):
            return Absent("no configuration file was named")
        if name.startswith("env."):
            return self._variable(name)
        version = facts.get(f"{name.partition('.')[0]}.version")
        if name.partition(".")[0] in PACKAGES and isinstance(version, Absent):
            return version
        return Unknown("it was not read", name)

    def _variable(self, name: str) -> Fact:
        """Return Absent for a variable that is not set; Unknown where variables were not read."""
        facts = self.environment.facts
        for prefix in _OPEN_ENDED:
            several = facts.get(f"{prefix}*") if name.startswith(prefix) else None
            if isinstance(several, Unknown):
                return several
        read = facts.get("env.CUDA_VISIBLE_DEVICES", Unknown("it was not read", name))
        return read if isinstance(read, Unknown) else Absent(f"{name[4:]} is not set")


def reader(rule: Rule, path: str) -> Reader:
    """Return what reads a path of a rule. It hangs on the rule, which never changes."""
    readers: dict[str, Reader] = vars(rule).setdefault("readers", {})
    found = readers.get(path)
    if found is None:
        found = readers[path] = _reader(rule, path)
    return found


def _reader(rule: Rule, path: str) -> Reader:
    head, dot, rest = path.partition(".")
    if rest and head in rule.rows:
        return lambda scope: scope.cell(head, rest)
    if not rest and head in rule.let:
        return lambda scope: scope.first_present(rule.let[head])
    tail = dot + rest

    def fact(scope: Scope) -> Fact:
        found = scope.environment.facts.get(path)
        if found is None:
            return scope.not_a_fact(path)
        scope.read[path] = found
        return found

    def bound(scope: Scope) -> Fact:
        name = scope.bindings.get(head, head) + tail
        found = scope.environment.facts.get(name)
        if found is None:
            return scope.not_a_fact(name)
        scope.read[name] = found
        return found

    return bound if head in SUBJECTS else fact


def _placeholders(template: str) -> list[tuple[str, str | None]]:
    """Return paths with the words that stand for what is not known, None where there are none."""
    return [(match[1], match[2]) for match in re.finditer(_PLACEHOLDER, template)]


def _version_part(fact: Known, name: str, part: str) -> Fact:
    found = version_part(str(fact.value), part)
    if found is not None:
        return Known(found, fact.source)
    if part == "local" and version_part(str(fact.value), "major"):
        return Absent(f"{name} has no local part")
    return Unknown(f"{name} is not a version: {fact.value}", fact.source)


def _size(value: object) -> str:
    """Return a number of bytes as people say it: ``16 GiB``."""
    return f"{value / (1 << 30):.0f} GiB" if isinstance(value, int) else str(value)


def _entry(name: str, said: object) -> str:
    """Return an entry of a mapping as people say it: ``torch 2.6.0``, ``~orch (left behind)``."""
    text = str(said)
    return f"{name} {text}".strip() if _PLAIN.match(text) else f"{name} ({text})"


def _text(fact: Fact) -> str:
    match fact:
        case Known(value=value):
            if isinstance(value, (tuple, list)):
                return ", ".join(value)
            if isinstance(value, dict):
                return ", ".join(_entry(key, item) for key, item in value.items())
            return {True: "yes", False: "no"}[value] if isinstance(value, bool) else str(value)
        case Absent():
            return "none"
        case Unknown(words=words) if words:
            return words
        case _:
            return "unknown"
