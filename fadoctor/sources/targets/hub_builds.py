"""Which build of a kernel would be downloaded, by the table of what its publisher builds."""

from __future__ import annotations

from itertools import product
from typing import TYPE_CHECKING

import msgspec

from fadoctor.knowledge.matrix.query import Row, typed_cell
from fadoctor.model.fact import Fact, Known, Unknown
from fadoctor.sources.hub.choice import HubChoice, choose
from fadoctor.sources.hub.variant import Variant, parse_variant

if TYPE_CHECKING:
    from collections.abc import Iterator

    from fadoctor.knowledge.matrix.query import Matrix
    from fadoctor.sources.hub.choice import Habits, System

SOURCE = "matrix hub-builds"
_READ = ("linux", "x86_64")
"""The system for which the table says what there is."""


class Published(msgspec.Struct, frozen=True):
    """What the table says of one branch of a kernel."""

    rows: tuple[Row, ...]

    @property
    def is_closed(self) -> bool:
        """Whether the rows say of every build that there is."""
        return bool(self.rows) and all(row.get("closed") is True for row in self.rows)

    @property
    def is_reported(self) -> bool:
        """Whether nobody has read it, but the publisher or a user says so."""
        return any(row.get("verified") == "reported" for row in self.rows)

    def cell(self, column: str) -> Fact:
        """Return a cell in which all rows agree."""
        cells = [row.get(column) for row in self.rows]
        if not cells or any(cell != cells[0] for cell in cells) or isinstance(cells[0], dict):
            return Unknown(f"the tables do not list its {column}", SOURCE)
        return Known(typed_cell(cells[0], "text"), SOURCE)  # type: ignore[arg-type] # not None here

    def words(self, column: str) -> tuple[str, ...]:
        """Return the words of a cell in which all rows agree, () where they do not."""
        fact = self.cell(column)
        return tuple(str(fact.value).split()) if isinstance(fact, Known) and fact.value else ()

    def text(self, column: str) -> str:
        """Return a text in which all rows agree, "" where there is none."""
        return " ".join(self.words(column))


def published(matrix: Matrix, kernel: str, branch: str) -> Published:
    """Return what the table says of a branch; no rows where nobody has read it."""
    keys = {"kernel": Known(kernel, "asked"), "branch": Known(branch, "asked")}
    return Published(matrix.find("hub-builds", keys).rows)


def choose_published(found: Published, habits: Habits, system: System) -> HubChoice | Unknown:
    """Return what would be taken of what is published; Unknown where the table does not tell."""
    if not found.rows:
        return Unknown("the tables do not list its builds", SOURCE)
    choice = choose(_variants(found), habits, system)
    if choice.best is None and (system.system, system.machine) != _READ:
        return Unknown(f"its builds for {system.machine} {system.system} were not read", SOURCE)
    if choice.best is None and not found.is_closed:
        return Unknown("its list of builds was not read to the end", SOURCE)
    return choice


def _variants(found: Published) -> Iterator[Variant]:
    for row in found.rows:
        of, cuda = str(row.get("of")).split(), typed_cell(row.get("cuda"), "list") or ()
        for name in _names(str(row.get("interface")), of, tuple(map(str, cuda))):  # type: ignore[arg-type] # a list
            variant = parse_variant(name)
            if variant is not None:
                yield variant


def _names(interface: str, of: list[str], cuda: tuple[str, ...]) -> Iterator[str]:
    if interface == "python":
        yield "torch-cuda"
        return
    for release, version in product(of, cuda):
        digits = release.replace(".", "")
        head = f"torch-stable-abi{digits}" if interface == "stable-abi" else f"torch{digits}-cxx11"
        yield f"{head}-{version}-{_READ[1]}-{_READ[0]}"
