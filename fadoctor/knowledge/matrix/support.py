"""What a kernel can do in one cell of backend, dtype and GPU."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from fadoctor.model.fact import Fact, Known, fact_text

if TYPE_CHECKING:
    from fadoctor.knowledge.matrix.query import Rows

NEWEST = "9999"
"""The version under which the tables answer for a package that is not installed."""


class Support(msgspec.Struct, frozen=True):
    """What a kernel can do in one cell."""

    answer: Fact
    """Known ``works`` or ``fails``; else why it is not known."""
    rule: str = ""
    """Id of the rule that explains a ``fails``."""
    note: str = ""

    @property
    def works(self) -> bool:
        """Whether it is known to work."""
        return isinstance(self.answer, Known) and self.answer.value == "works"

    @property
    def fails(self) -> bool:
        """Whether it is known to fail."""
        return isinstance(self.answer, Known) and self.answer.value == "fails"


def support_of(rows: Rows) -> Support:
    """Return what the rows of a table of support say."""
    rule, note = (fact_text(rows.cell(column), "") for column in ("rule", "note"))
    return Support(rows.cell("support"), rule, note)
