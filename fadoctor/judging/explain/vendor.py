"""Whose GPU a log is about, and the fixes that are another vendor's."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from fadoctor.judging.engine.vendors import AMD, foreign_words, suits
from fadoctor.knowledge.matrix.query import cell_words
from fadoctor.model.fact import Known
from fadoctor.model.fix import Fix, Safety, Step, StepKind
from fadoctor.sources.logs.ends import ends_of
from fadoctor.syntax.patterns import compiled

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from fadoctor.model.environment import Environment
    from fadoctor.model.rule import Knowledge, Table
    from fadoctor.sources.logs.cleaning import Line

ENDS = 1_500
"""Lines at the beginning and at the end of a log that are searched."""

SHORT = 4
"""Product names of fewer characters (L4, M40) are words of other things, too."""

_PRODUCTS = {"amd": "amd-gpu-names", "nvidia": "gpu-names"}


# ROCm platform is not available because: No module named 'amdsmi' | Checking if ROCm platform is
_DENIED = compiled(r"(?i)\bplatform is (?:not )?available\b|is not available because")


class Vendor:
    """The one vendor that a log names; none where it names none, or both and states neither."""

    def __init__(
        self, lines: Sequence[Line], knowledge: Knowledge, said: Environment | None = None
    ) -> None:
        """Look for the names of each vendor and its products.

        `said`, what the log says of its environment, decides where it names both: a message about a
        build for CUDA tells in the same line of the torch for ROCm that is installed.
        """
        words = {str(row["vendor"]): row for row in knowledge.tables["vendor-words"].rows}
        read = ends_of(lines, ENDS)
        text = "\n".join(line.text for line in read if not _DENIED.search(line.text))
        named = [
            vendor
            for vendor, row in words.items()
            if any(_stands(name, text) for name in _names(vendor, row, knowledge.tables))
        ]
        self.name = named[0] if len(named) == 1 else _stated(said) if named else ""
        self._foreign = foreign_words(knowledge.tables, self.name) if self.name else ()
        row = words.get(self.name, {})
        self._said = tuple(str(row[key]) for key in ("title", "instead") if row.get(key))

    def suits(self, fix: Fix) -> bool:
        """Return whether nothing in a fix is for another vendor's GPUs alone."""
        return suits(fix, self._foreign)

    def instead(self) -> tuple[Fix, ...]:
        """Return what is said where every fix is another vendor's."""
        if len(self._said) < len(("title", "instead")):
            return ()
        title, text = self._said
        return (Fix("of-this-vendor", title, Safety.SAFE, (Step(StepKind.ADVICE, text),)),)


def _stated(said: Environment | None) -> str:
    """Return AMD where the torch of a log is for ROCm, and no other vendor's GPU is there."""
    if said is None or not isinstance(said.fact("torch.hip"), Known):
        return ""
    gpus = [said.fact(f"{each.text}.vendor") for each in said.subjects("gpu")]
    return AMD if all(not isinstance(gpu, Known) or gpu.value == AMD for gpu in gpus) else ""


def _names(vendor: str, row: Mapping[str, object], tables: Mapping[str, Table]) -> Iterator[str]:
    yield from cell_words(row["names"])
    for product in tables[_PRODUCTS[vendor]].rows:
        yield from (name for name in cell_words(product["names"]) if len(name) >= SHORT)


def _stands(name: str, text: str) -> bool:
    """Return whether a name stands in a text as a word, or, with a star, begins one.

    What begins the name of a function that code calls, as Triton's for both vendors, names nobody.
    """
    word = name.rstrip("*")
    if word not in text:  # much cheaper than a pattern, and mostly true
        return False
    end = r"(?!_[a-z_]{1,40}\()" if name.endswith("*") else r"(?![\w-])"
    return re.search(rf"(?a)(?<![\w/.-]){re.escape(word)}{end}", text) is not None
