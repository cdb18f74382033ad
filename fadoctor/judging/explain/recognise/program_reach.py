"""Which GPUs a program's own builds run on, held against the GPUs that a text names."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import msgspec

from fadoctor.knowledge.matrix.query import Row, cell_words
from fadoctor.knowledge.matrix.versions import is_older
from fadoctor.model.fact import Known
from fadoctor.sources.logs.named_gpus import OF_A_MODEL, OF_A_PROCESSOR, named_gpus
from fadoctor.sources.pasted.claims import PastedLine

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from fadoctor.model.fact import Fact
    from fadoctor.model.rule import Knowledge
    from fadoctor.sources.logs.cleaning import Line
    from fadoctor.sources.targets.gpu_name import GpuModel

REACH = "program-reach"
EVERYWHERE = "any"
"""The system of a row that holds on all."""

_GPU = re.compile(r"^gpu\[(\d+)\]\.(vendor|compute_capability|gfx)$", re.ASCII)


class Reach(msgspec.Struct, frozen=True):
    """What the builds of one program for one vendor's GPUs run on, by system."""

    vendor: str
    rows: tuple[Row, ...]

    def excludes(self, gpus: tuple[Mapping[str, str], ...], system: str, *, some: bool) -> bool:
        """Return whether the GPUs are out of reach: all of them, or with `some` only some.

        A GPU of which too little is known is in reach. Where no system is known, all rows count.
        Where a program has no build for the vendor at all, no GPU has to be named.
        """
        fitting = [row for row in self.rows if row["system"] in (system, EVERYWHERE)]
        rows = fitting or ([] if system else self.rows)
        if not rows or any(_vendor(gpu) != self.vendor for gpu in gpus):
            return False
        if not gpus:
            return all(_runs_on_none(row) for row in rows)
        outside = [all(_is_outside(gpu, row) for row in rows) for gpu in gpus]
        return any(outside) and not all(outside) if some else all(outside)


def reach_of(program: str, knowledge: Knowledge) -> Reach | None:
    """Return the reach of a program's builds; None where no table has it."""
    table = knowledge.tables.get(REACH)
    rows = tuple(row for row in table.rows if row["program"] == program) if table else ()
    return Reach(str(rows[0]["vendor"]), rows) if rows else None


def gpus_told(
    lines: Iterable[Line], facts: Mapping[str, Fact], knowledge: Knowledge
) -> tuple[Mapping[str, str], ...]:
    """Return what is known of each GPU that a text names, also of several different ones.

    Graphics of a processor count where no card is named.
    """
    gpus: dict[object, dict[str, str]] = {}
    for name, fact in facts.items():
        if isinstance(fact, Known) and (found := _GPU.match(name)):
            gpus.setdefault(found[1], {})[found[2]] = str(fact.value)
    known: dict[object, dict[str, str]] = {
        at: gpu for at, gpu in gpus.items() if "gfx" in gpu or "compute_capability" in gpu
    }
    beside: dict[object, dict[str, str]] = {}
    models: dict[str, GpuModel] = {}
    for line in lines:
        for claim, span in named_gpus(PastedLine(line.number, line.text), models, knowledge.tables):
            if found := _GPU.match(claim.name):
                kept = beside if claim.tool in (OF_A_PROCESSOR, OF_A_MODEL) else known
                kept.setdefault((line.number, span, found[1]), {})[found[2]] = str(claim.value)
    return tuple((known or beside or gpus).values())


def _vendor(gpu: Mapping[str, str]) -> str:
    # A chip is surer than a word beside it.
    return "amd" if "gfx" in gpu else gpu.get("vendor", "")


def _runs_on_none(row: Row) -> bool:
    return row.get("least") is None and not cell_words(row["targets"])


def _is_outside(gpu: Mapping[str, str], row: Row) -> bool:
    least = row.get("least")
    if least is not None:
        return is_older(gpu.get("compute_capability", str(least)), str(least)) is True
    return _runs_on_none(row) or ("gfx" in gpu and gpu["gfx"] not in cell_words(row["targets"]))
