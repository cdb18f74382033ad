"""What the table of backends says of each: read once a table, asked for hundreds of times."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from fadoctor.model.fact import Known, fact_text, fact_words
from fadoctor.model.verdict import Backend

if TYPE_CHECKING:
    from fadoctor.knowledge.matrix.query import Matrix, Rows


class BackendEntry(msgspec.Struct, frozen=True):
    """One backend; "" and () where the table has nothing."""

    package: str
    """Fact prefix of the package that brings it."""
    label: str
    """What people call it: ``torch SDPA (flash)``."""
    route: str
    """The other way by which its kernels come: hub, activation."""
    beside: str
    """The distribution that it goes beside, from `beside_since` on."""
    beside_since: str
    since: str
    """The first release of its package that has it, and the first that has it no longer."""
    before: str
    needs: tuple[str, ...]
    """Fact prefixes of the other packages that it needs."""
    one_of: tuple[str, ...]
    """The compiled extensions of which it needs one."""


def entries_of(matrix: Matrix) -> dict[Backend, BackendEntry]:
    """Return what is said of each backend. It hangs on the table, which never changes."""
    hanging = vars(matrix.tables["backends"])
    found: dict[Backend, BackendEntry] | None = hanging.get("entries")
    if found is None:
        asked = {each: {"backend": Known(each.value, "asked")} for each in Backend}
        found = {each: _entry(matrix.find("backends", keys), each) for each, keys in asked.items()}
        hanging["entries"] = found
    return found


def _entry(rows: Rows, backend: Backend) -> BackendEntry:
    def text(column: str, otherwise: str = "") -> str:
        return fact_text(rows.cell(column), otherwise)

    return BackendEntry(
        package=text("package"),
        label=text("label", backend.value),
        route=text("route"),
        beside=text("beside"),
        beside_since=text("beside_since", "0"),
        since=text("since", "0"),
        before=text("before"),
        needs=fact_words(rows.cell("needs")),
        one_of=fact_words(rows.cell("one_of")),
    )
