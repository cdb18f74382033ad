"""Read the cells that were written by hand, and ask fadoctor for them."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import msgspec
import yaml

from fadoctor.model.verdict import Backend, Dtype, Verdict
from tests.history.environments import Stack, rebuilt, stacks
from tests.history.table import cells

if TYPE_CHECKING:
    from fadoctor.model.rule import Knowledge

BY_HAND = Path(__file__).with_name("by_hand.yaml")


class HandCell(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One cell of by_hand.yaml, whose head says what the fields mean."""

    torch: str
    build: str
    gpu: str
    backend: Backend
    dtype: Dtype
    expected: str
    fact: str
    source: str
    because: str = ""
    stack: dict[str, str] = {}
    fault: str = ""

    def name(self) -> str:
        """Return what tells this cell from the others."""
        words = [self.torch, self.build, self.gpu, self.backend.value, self.dtype.value]
        return " ".join([*words, *self.stack.values()])

    def on(self) -> Stack:
        """Return what is installed there."""
        stack = msgspec.structs.replace(stacks()[self.torch], **self.stack)
        return rebuilt(stack, self.build)


def hand_cells() -> list[HandCell]:
    """Return all cells, as written."""
    raw = yaml.load(BY_HAND.read_text(encoding="utf-8"), Loader=yaml.BaseLoader)  # noqa: S506 -- texts only
    return msgspec.convert(raw["cells"], list[HandCell])


def verdict(cell: HandCell, knowledge: Knowledge) -> Verdict | None:
    """Return what fadoctor says of a cell; None where its table has no such cell."""
    stack = cell.on()
    if cell.backend is Backend.FA4 and not stack.flash_attn_4:
        raise ValueError(f"{cell.name()}: the stack has no flash-attn-4")
    return cells(stack, knowledge, (cell.gpu,)).get((cell.backend, cell.dtype, cell.gpu))
