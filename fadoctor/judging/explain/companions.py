"""Give a torch that a fix installs together with the torchvision and torchaudio of its release.

A torch that replaces another breaks those that lie beside it.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import msgspec

from fadoctor.judging.engine.fixes import command
from fadoctor.model.fact import Known
from fadoctor.model.fix import StepKind
from fadoctor.syntax.patterns import compiled

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fadoctor.knowledge.matrix.query import Matrix
    from fadoctor.model.fix import Fix, Step

TABLE = "torch-companions"

_TORCH = re.compile(r"torch==(?P<version>\d[\w.]{0,20})(?:\+[a-z0-9.]{2,10})?", re.ASCII)
# Programs for pictures and sound import them, and hosted notebooks have them,
# whether a text says so or not.
_USED = compiled(
    r"(?i)torch(?:vision|audio)|comfy|diffusion|web ?ui|invoke-?ai|swarmui|fooocus|forge"
    r"|embedded python|\bcolab|\bkaggle|\bunsloth|\btimm\b|open_?clip|llava|qwen[\w.]{0,4}-?vl"
    r"|ultralytics|\byolov?\d|detectron|\bmm(?:cv|det)|mineru|whisper"
)


def are_used(lines: Sequence[str]) -> bool:
    """Return whether a log names torchvision or torchaudio, or a program that imports them."""
    return any(map(_USED.search, lines))


def with_companions(fix: Fix, matrix: Matrix, *, used: bool) -> Fix:
    """Return a fix whose step that installs torch alone from an index names its companions.

    `used`: whether the log shows that they are; a fix that removes them shows it, too.
    """
    table = matrix.tables.get(TABLE)
    names = tuple(table.columns) if table is not None else ()
    if not names or not (used or any(_removes(step, names) for step in fix.steps)):
        return fix
    steps = tuple(_completed(step, names, matrix) for step in fix.steps)
    return fix if steps == fix.steps else msgspec.structs.replace(fix, steps=steps)


def _removes(step: Step, names: Sequence[str]) -> bool:
    return step.kind is StepKind.UNINSTALL and not set(names).isdisjoint(step.items)


def _completed(step: Step, names: Sequence[str], matrix: Matrix) -> Step:
    is_alone = step.kind is StepKind.INSTALL and len(step.items) == 1 and bool(step.index)
    torch = _TORCH.fullmatch(step.items[0]) if is_alone else None
    if torch is None:
        return step
    fits = matrix.find(TABLE, {"torch": Known(torch["version"], "asked")})
    cells = {name: fits.cell(name) for name in names}
    others = [f"{name}=={cell.value}" for name, cell in cells.items() if isinstance(cell, Known)]
    items = (*step.items, *others)
    text = command(step.kind, items, step.options, step.index, windows=True)
    return msgspec.structs.replace(step, items=items, text=text)
