"""Say of a name that one package asks of another in vain which releases have it, and who asks."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import msgspec

from fadoctor.matrix.load import load_apart
from fadoctor.matrix.query import Matrix
from fadoctor.matrix.versions import parse_version
from fadoctor.model.catalogue import PACKAGES
from fadoctor.model.fact import Absent, Fact, Known, Value

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from fadoctor.matrix.query import Rows
    from fadoctor.model.environment import Environment

MODULE = "(module)"
"""Stands in the tables for the name where the module itself is meant."""

FACTS = ("told", "upgrade", "other", "way", "mixed")
"""The facts that follow, behind ``log.name_``."""

ASKERS_TOLD = 4
"""Most packages that are said to ask for a name, where the log does not show who does."""

# File "/opt/venv/lib/python3.11/site-packages/peft/peft_model.py", line 37, in <module>
_FRAME = re.compile(r"(?:site|dist)-packages[\\/]{1,2}(\w{1,60})[\\/][^\"'\n]{0,200}\", line \d")


class Wanted(msgspec.Struct, frozen=True):
    """What a log says is not there."""

    module: str
    name: str
    """`MODULE` where there is no such module."""

    @property
    def top(self) -> str:
        """The import name of the package that is asked."""
        return self.module.partition(".")[0]


def name_facts(captures: Mapping[str, str], text: str, environment: Environment) -> dict[str, Fact]:
    """Return what the tables say of a name that a log misses, by the names of facts.

    All are Absent where no module of the stack is meant, and only what is known is told.
    """
    found: dict[str, Value] = {}
    if module := captures.get("module", ""):
        wanted = Wanted(module, captures.get("name") or MODULE)
        found = _Answer(wanted, text, environment).facts()
    return {
        f"log.name_{name}": Known(found[name], "releases that were read")
        if found.get(name)
        else Absent("nothing was read of that")
        for name in FACTS
    }


class _Answer:
    """What is known of one name."""

    def __init__(self, wanted: Wanted, text: str, environment: Environment) -> None:
        self.wanted, self.environment = wanted, environment
        self.matrix = Matrix(load_apart())
        self.read = {str(row["module"]): row for row in self.matrix.tables["names-read"].rows}
        askers = [name for name in _FRAME.findall(text) if name in self.read]
        self.own_frames = bool(askers) and set(askers[-1:]) == {wanted.top}
        outside = [name for name in askers if name != wanted.top]
        self.asker = "" if self.own_frames else (outside or [""])[-1]

    def facts(self) -> dict[str, Value]:
        """Return the facts by their short names; none for a module of no package that was read."""
        package = self.read.get(self.wanted.top)
        if package is None:
            return {}
        given = self._find("names-given")
        askers = list(self._askers())
        if given.none is not None:
            asked = " ".join(said for _, said, _ in askers[:ASKERS_TOLD]) or self._unread()
            return {"told": asked, "mixed": self.own_frames, **self._newer(askers)}
        first, last = (_text(given.cell(name)) for name in ("first", "last"))
        never = given.cell("never")
        told = [self._given(given), *(said for _, said, _ in askers[:ASKERS_TOLD])]
        found: dict[str, Value] = {
            "told": " ".join(filter(None, told)),
            "way": self._way(first, last),
            "mixed": self.own_frames,
            **self._newer(askers),
        }
        if not isinstance(never, Known) and (first or last):
            low, high = first or str(package["first"]), last or str(package["last"])
            found["other"] = f"{package['package']}>={low},<={high}"
        return found

    def _newer(self, askers: list[tuple[str, str, str]]) -> dict[str, Value]:
        """Return the releases that ask no longer of the package whose file stands in the log."""
        found = askers[0][2] if self.asker and askers else ""
        return {"upgrade": found} if found else {}

    def _find(self, table: str, **more: str) -> Rows:
        keys = {**more, "module": self.wanted.module, "name": self.wanted.name}
        return self.matrix.find(table, {key: Known(text, "log") for key, text in keys.items()})

    def _unread(self) -> str:
        row = self.read[self.wanted.top]
        return (
            f"No release of another package of the stack, of those that were read, asks "
            f"{row['package']} for it: a program or a model's own code does, written for another "
            f"release."
        )

    def _given(self, given: Rows) -> str:
        """Return which releases have it, and what that means for the one that is here."""
        row = self.read[self.wanted.top]
        name, low, high = row["package"], row["first"], row["last"]
        first, last = (_text(given.cell(column)) for column in ("first", "last"))
        earlier = _text(given.cell("earlier"))
        before = f", and {earlier}" if earlier else ""
        here = self._here()
        if isinstance(given.cell("never"), Known):
            said = f"No release of {name} from {low} to {high} has it{here}."
        elif first and last:
            said = f"{name} has it from {first} to {last}{before}{here}."
        elif last:
            said = f"{name} has it up to {last}{before}{here}."
        elif first:
            said = f"{name} has it from {first} on{before}{here}."
        else:
            said = f"Every release of {name} from {low} to {high} has it{here}"
            return f"{said}: its files are damaged, shadowed, or not those of its version."
        return said

    def _here(self) -> str:
        version = self._version(self.wanted.top)
        return f"; here is {version}" if version else ""

    def _version(self, module: str) -> str:
        """Return the version of a package that a log or an environment names."""
        key = module if module in PACKAGES else ""
        found = self.environment.facts.get(f"{key}.version")
        return str(found.value) if isinstance(found, Known) else ""

    def _way(self, first: str, last: str) -> str:
        """Return whether it is gone in this release, or came later; "" where that is not known."""
        here = parse_version(self._version(self.wanted.top))
        if here is None or not (first or last):
            return "gone" if last else "new" if first else ""
        if first and (low := parse_version(first)) is not None and here < low:
            return "new"
        if last and (high := parse_version(last)) is not None and here > high:
            return "gone"
        return ""

    def _askers(self) -> Iterator[tuple[str, str, str]]:
        """Yield who asks, in words, and the releases of it that ask no longer."""
        modules = [self.asker] if self.asker else list(self.read)
        for module in modules:
            row = self.read[module]
            rows = self._find("names-asked", asker=str(row["package"]))
            if rows.none is None:
                yield module, self._asks(module, rows), self._without(module, rows)

    def _asks(self, module: str, rows: Rows) -> str:
        row = self.read[module]
        first, last, gone = (_text(rows.cell(name)) for name in ("first", "last", "gone"))
        name = str(row["package"])
        version = self._version(module) if module == self.asker else ""
        here = f"; here is {version}" if version else ""
        if not last:
            since = f"from {first} on" if first else f"in all releases up to {row['last']}"
            return f"{name} asks for it {since}{here}."
        span = f"from {first} to {last}" if first else f"up to {last}"
        less = isinstance(rows.cell("then"), Known)
        after = "under a condition" if less else "no longer"
        return f"{name} asks for it {span}, {after} from {gone} on{here}."

    def _without(self, module: str, rows: Rows) -> str:
        gone = _text(rows.cell("gone"))
        row = self.read[module]
        return f"{row['package']}>={gone},<={row['last']}" if gone else ""


def _text(fact: Fact) -> str:
    return str(fact.value) if isinstance(fact, Known) else ""
