"""What tables say of a name that one package asks of another: who has it, who asks, and since when.

The tables are made from the sources of releases; what code decides stands in none of them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from fadoctor.knowledge.matrix.versions import parse_version, version_key
from fadoctor.model.fact import Fact, Known, Value

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from fadoctor.knowledge.matrix.query import Matrix, Row, Rows

MODULE = "(module)"
"""Stands in the tables for the name where the module itself is meant."""

READ, GIVEN, ASKED = "names-read", "names-given", "names-asked"
"""The releases that were read; who has which names; who asks for which."""

ASKERS_TOLD = 4
"""Most packages that are said to ask for a name, where it is not known who does."""


GONE = "gone"
"""How a release lacks a name that older ones have."""


class MissingName(msgspec.Struct, frozen=True):
    """A name that is not there."""

    module: str
    name: str
    """`MODULE` where there is no such module."""

    @property
    def top(self) -> str:
        """The import name of the package that is asked."""
        return self.module.partition(".")[0]


class NameTables:
    """What the tables know of one name.

    `asker` is the import name of the package that asks, "" where nobody knows; `version` gives the
    version of a package that is here by its import name, "" where it is not known.
    """

    def __init__(
        self, matrix: Matrix, wanted: MissingName, asker: str, version: Callable[[str], str]
    ) -> None:
        """Take the matrix with the tables that are compiled apart."""
        self.matrix = matrix
        self.read = releases_read(matrix)
        self.asker = asker if asker in self.read else ""
        self.wanted = self._standing_for(wanted)
        self._is_stranger = bool(asker) and not self.asker
        self._version = version

    def facts(self) -> dict[str, Value]:
        """Return what is known, by short names; nothing of a package that was not read."""
        package = self.read.get(self.wanted.top)
        if package is None:
            return {}
        given = self._find(GIVEN)
        askers = list(self._askers())
        if given.none is not None:
            asked = " ".join(said for _, said, _ in askers[:ASKERS_TOLD]) or self._unread()
            return {"told": asked, **self._newer(askers)} if asked else {}
        first, last = (_text(given.cell(name)) for name in ("first", "last"))
        beyond = self._beyond(package)
        before = self._stretch_before(given, first)
        told = [self._given(given, beyond), *(said for _, said, _ in askers[:ASKERS_TOLD])]
        found: dict[str, Value] = {
            "told": " ".join(filter(None, told)),
            "way": GONE if before else self._way(first, last) or beyond,
            **self._newer(askers),
        }
        if before:
            found["other"] = f"{package['package']}>={before[0]},<={before[1]}"
        elif not isinstance(given.cell("never"), Known) and (first or last or beyond):
            low, high = first or str(package["first"]), last or str(package["last"])
            top = "" if last else _next_major(first, high)
            found["other"] = f"{package['package']}>={low},{top or f'<={high}'}"
            found["nearest"] = last if found["way"] == GONE else first
        elif not isinstance(given.cell("never"), Known):
            found["mixed"] = True  # all releases have it
        if (here := self._version(self.wanted.top)) and self.has(here):
            found["here"] = True
        return found

    def _stretch_before(self, given: Rows, first: str) -> tuple[str, str] | None:
        """Return the last releases that had a name which was gone for a while, and came back.

        Code that nobody has read is older than the gap, unless the release here is older still. Of
        a package that was read the major version that is here decides: the others are used to it.
        """
        spans = list(_spans(_text(given.cell("earlier"))))
        here = self._version(self.wanted.top)
        if not spans or (self.asker and not _is_of_major(here, spans[-1][1], first)):
            return None
        is_in_gap = not here or not (
            _is_between(here, "", spans[-1][1]) or _is_between(here, first, "")
        )
        return spans[-1] if is_in_gap else None

    def has(self, version: str) -> bool | None:
        """Return whether a release of the package has the name; None where nobody has read it."""
        package, given = self.read.get(self.wanted.top), self._find(GIVEN)
        if package is None or given.none is not None or not _within(version, package):
            return None
        if isinstance(given.cell("never"), Known):
            return False
        first, last = (_text(given.cell(name)) for name in ("first", "last"))
        spans = [(first, last), *_spans(_text(given.cell("earlier")))]
        is_there = any(_is_between(version, low, high) for low, high in spans)
        return None if not is_there and _was_passed_over(version, package) else is_there

    def asks(self, version: str) -> bool | None:
        """Return whether a release of the package that asks surely does; None: nobody knows."""
        package = self.read.get(self.asker)
        rows = self._asked(self.asker) if package else None
        if package is None or rows is None or not _within(version, package, "asked"):
            return None
        first, last, gone = (_text(rows.cell(name)) for name in ("first", "last", "gone"))
        if _is_between(version, first, last):
            return True
        is_after = bool(gone) and _is_between(version, gone, "")
        return False if is_after and not isinstance(rows.cell("then"), Known) else None

    def _newer(self, askers: list[tuple[str, str, str]]) -> dict[str, Value]:
        """Return the releases that ask no longer of the package that asks here."""
        found = askers[0][2] if self.asker and askers else ""
        return {"upgrade": found} if found else {}

    def _find(self, table: str, wanted: MissingName | None = None, **more: str) -> Rows:
        sought = wanted or self.wanted
        keys = {**more, "module": sought.module, "name": sought.name}
        return self.matrix.find(table, {key: Known(text, "asked") for key, text in keys.items()})

    def _standing_for(self, wanted: MissingName) -> MissingName:
        """Return a name of a module that no table has: the module came with it.

        It is one that the package asks for which asks here, where it does for any.
        """
        if wanted.name != MODULE or self._has_rows(wanted):
            return wanted
        asker = self.read[self.asker]["package"] if self.asker else None
        names = [
            name
            for table in (ASKED, GIVEN)
            for row in self.matrix.tables[table].rows
            if row["module"] == wanted.module and row.get("asker", asker) == asker
            for name in str(row["name"]).split()
        ]
        known = (MissingName(wanted.module, name) for name in names)
        return next((each for each in known if self._has_rows(each)), wanted)

    def _has_rows(self, wanted: MissingName) -> bool:
        """Return whether releases are known to have a name."""
        found = self._find(GIVEN, wanted)
        return found.none is None and not isinstance(found.cell("never"), Known)

    def _unread(self) -> str:
        """Return what is said of a name that no table has; nothing where a stranger asks for it."""
        if self._is_stranger:
            return ""
        row = self.read[self.wanted.top]
        if self.asker:
            asker = self.read[self.asker]["package"]
            return (
                f"The tables do not list the releases of {row['package']} that have it, "
                f"and {asker} does not need it unconditionally."
            )
        return (
            f"No package that fadoctor has read needs this name from {row['package']}: a program "
            f"or a model's own code does, and it was written for another release."
        )

    def _given(self, given: Rows, beyond: str) -> str:
        """Return which releases have it, and what that means for the one that is here."""
        row = self.read[self.wanted.top]
        name, low, high = row["package"], row["first"], row["last"]
        first, last = (_text(given.cell(column)) for column in ("first", "last"))
        earlier = _text(given.cell("earlier"))
        before = f", and {earlier}" if earlier else ""
        here = self._here()
        if isinstance(given.cell("never"), Known):
            return f"No release of {name} from {low} to {high} has it{here}."
        edges = "".join(_edges(row, first, last))
        if first and last:
            return f"{name} has it from {first} to {last}{before}{here}.{edges}"
        if last:
            return f"{name} has it up to {last}{before}{here}.{edges}"
        if first:
            return f"{name} has it since {first}{before}{here}.{edges}"
        if beyond:
            end, age = (low, "oldest") if beyond == "new" else (high, "newest")
            span = f"since {low}" if beyond == "new" else f"up to {high}"
            return f"{name} has it {span}, and {end} is the {age} that was read{here}."
        said = f"Every release of {name} from {low} to {high} has it{here}"
        older = "" if here else "the one here is older, or "
        return f"{said}: {older}its files are damaged, shadowed, or not those of its version."

    def _beyond(self, package: Row) -> str:
        """Return new or gone where the release that is here is older or newer than all read."""
        here = parse_version(self._version(self.wanted.top))
        low, high = (parse_version(str(package[end])) for end in ("first", "last"))
        if here is not None and low is not None and here < low:
            return "new"
        return GONE if here is not None and high is not None and here > high else ""

    def _here(self) -> str:
        version = self._version(self.wanted.top)
        return f"; {version} is installed" if version else ""

    def _way(self, first: str, last: str) -> str:
        """Return whether it is gone in this release, or came later; "" where that is not known."""
        here = parse_version(self._version(self.wanted.top))
        if here is None or not (first or last):
            return GONE if last else "new" if first else ""
        if first and (low := parse_version(first)) is not None and here < low:
            return "new"
        if last and (high := parse_version(last)) is not None and here > high:
            return GONE
        return ""

    def _askers(self) -> Iterator[tuple[str, str, str]]:
        """Yield who asks, in words, and the releases of it that ask no longer."""
        for module in [self.asker] if self.asker else self.read:
            rows = self._asked(module)
            if rows is not None:
                yield module, self._asks(module, rows), self._without(module, rows)

    def _asked(self, module: str) -> Rows | None:
        rows = self._find(ASKED, asker=str(self.read[module]["package"]))
        return rows if rows.none is None else None

    def _asks(self, module: str, rows: Rows) -> str:
        row = self.read[module]
        first, last, gone = (_text(rows.cell(name)) for name in ("first", "last", "gone"))
        name = str(row["package"])
        version = self._version(module) if module == self.asker else ""
        here = f"; {version} is installed" if version else ""
        if not last:
            since = f"since {first}" if first else f"in all releases up to {_end(row, 'asked')}"
            return f"{name} asks for it {since}{here}."
        span = f"from {first} to {last}" if first else f"up to {last}"
        less = isinstance(rows.cell("then"), Known)
        after = "under a condition" if less else "no longer"
        return f"{name} asks for it {span}, {after} since {gone}{here}."

    def _without(self, module: str, rows: Rows) -> str:
        gone = _text(rows.cell("gone"))
        row = self.read[module]
        return f"{row['package']}>={gone},<={_end(row, 'asked')}" if gone else ""


def releases_read(matrix: Matrix) -> dict[str, Row]:
    """Return the packages whose releases were read, by their import names."""
    return {str(row["module"]): row for row in matrix.tables[READ].rows}


def _spans(text: str) -> Iterator[tuple[str, str]]:
    """Yield the stretches of ``4.36.0 to 4.37.2 and 4.40.0 to 4.41.0``."""
    for part in text.split(" and ") if text else ():
        first, _, last = part.partition(" to ")
        yield first, last


def _end(package: Row, column: str) -> str:
    """Return the newest release that was read for a table."""
    return str(package.get(column) or package["last"])


def _edges(package: Row, first: str, last: str) -> Iterator[str]:
    """Yield what is known of the releases beside a stretch, where one between was not read."""
    for edge, step in ((first, -1), (last, 1)):
        other, between = _beside(package, edge, step)
        if between:
            yield f" {other} does not have it; {', '.join(between)}, between them, was not read."


def _beside(package: Row, edge: str, step: int) -> tuple[str, list[str]]:
    """Return the next release that was read, and those between it and the edge that were not."""
    read, aside = (package.get(name, ()) for name in ("releases", "unread"))
    if not isinstance(read, tuple) or not isinstance(aside, tuple) or edge not in read:
        return "", []
    place = read.index(edge) + step
    if not 0 <= place < len(read):
        return "", []
    low, high = sorted((read[place], edge), key=version_key)
    return read[place], [each for each in aside if _is_between(each, low, high)]


def _within(version: str, package: Row, column: str = "last") -> bool:
    return _is_between(version, str(package["first"]), _end(package, column))


def _next_major(low: str, high: str) -> str:
    """Return the end of the first major release where others follow.

    What was written for a name that came in one major release rarely fits the next.
    """
    first, last = parse_version(low), parse_version(high)
    is_later = first is not None and last is not None and last.major > first.major
    return f"<{first.major + 1}" if first is not None and is_later else ""


def _is_of_major(here: str, one: str, other: str) -> bool:
    """Return whether a version has the major version of one release, and not of another."""
    majors = [version.major if (version := parse_version(e)) else None for e in (here, one, other)]
    return majors[0] is not None and majors[0] == majors[1] != majors[2]


def _was_passed_over(version: str, package: Row) -> bool:
    """Return whether a release lies between those that were read: a pre-release, or withdrawn."""
    here, aside = parse_version(version), package.get("unread", ())
    listed = aside if isinstance(aside, tuple) else ()
    return here is not None and (here.is_prerelease or version in listed)


def _is_between(version: str, first: str, last: str) -> bool:
    """Return whether a version lies in a stretch, of which "" is an open end."""
    here, low, high = (parse_version(text) if text else None for text in (version, first, last))
    if here is None:
        return False
    return (low is None or here >= low) and (high is None or here <= high)


def _text(fact: Fact) -> str:
    return str(fact.value) if isinstance(fact, Known) else ""
