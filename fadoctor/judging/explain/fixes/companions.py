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
from fadoctor.syntax.either import Either
from fadoctor.syntax.likely_lines import stands
from fadoctor.syntax.patterns import compiled

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fadoctor.knowledge.matrix.query import Matrix
    from fadoctor.model.fix import Fix, Step

TABLE = "torch-companions"

_TORCH = re.compile(r"torch==(?P<version>\d[\w.]{0,20})(?P<label>\+[a-z0-9.]{2,10})?", re.ASCII)
# Programs for pictures and sound import them, and hosted notebooks have them,
# whether a text says so or not.
_USED = Either(
    r"torch(?:vision|audio)|comfy|diffusion|web ?ui|invoke-?ai|swarmui|fooocus|forge"
    r"|embedded python|\bcolab|\bkaggle|\bunsloth|\btimm\b|open_?clip|llava|qwen[\w.]{0,4}-?vl"
    r"|ultralytics|\byolov?\d|detectron|\bmm(?:cv|det)|mineru|whisper|sovits|cosyvoice|\brvc"
    r"|\btts\b|framepack|wan2?gp|hunyuan|musubi|kohya|onetrainer|trellis"
)
# torchvision  0.23.0+cpu | einops==0.8.1: a line of a list of packages
_LISTED = compiled(r"\s{0,20}[A-Za-z][\w.-]{1,60}(?: {1,60}|==)\d[\w.+!-]{0,40}(?:\s.{0,80})?")
_IS_TORCH = compiled(r"\s{0,20}torch(?: {1,60}|==)\d")
_NAME_OF_ONE = compiled(r"(?i)torch(?:vision|audio)")
_WHOLE = 8
"""The fewest lines of a list that tells what is not installed, too."""
PYTORCH_INDEXES = "https://download.pytorch.org/whl/"


def are_absent(lines: Sequence[str]) -> bool:
    """Return whether a log lists packages with torch among them, and none of its companions."""
    listed = [line for line in lines if _LISTED.fullmatch(line)]
    is_whole = len(listed) >= _WHOLE and any(map(_IS_TORCH.match, listed))
    return is_whole and not stands(_NAME_OF_ONE, lines)


def are_used(lines: Sequence[str]) -> bool:
    """Return whether a log names torchvision or torchaudio, or a program that imports them."""
    return _USED.stands("\n".join(lines).casefold())


def with_companions(fix: Fix, matrix: Matrix, *, used: bool, labelled: bool = False) -> Fix:
    """Return a fix whose step that installs torch alone from an index names its companions.

    `used`: whether the log shows that they are; a fix that removes them shows it, too.
    `labelled`: whether they have torch's label, as on Windows. Without it pip keeps those of the
    same release that were built for another CUDA.
    """
    table = matrix.tables.get(TABLE)
    names = tuple(table.columns) if table is not None else ()
    if not names or not (used or any(_removes(step, names) for step in fix.steps)):
        return fix
    done = [_completed(step, names, matrix, labelled=labelled) for step in fix.steps]
    is_more = any(step is not before for step, before in zip(done, fix.steps, strict=True))
    steps = tuple(_cleared(step, names) if is_more else step for step in done)
    return fix if steps == fix.steps else msgspec.structs.replace(fix, steps=steps)


def _removes(step: Step, names: Sequence[str]) -> bool:
    return step.kind is StepKind.UNINSTALL and not set(names).isdisjoint(step.items)


def _completed(step: Step, names: Sequence[str], matrix: Matrix, *, labelled: bool) -> Step:
    if step.kind is not StepKind.INSTALL or not _is_of_torch(step.index):
        return step
    found = next(filter(None, map(_TORCH.fullmatch, step.items)), None)
    if found is None or any(item.startswith(tuple(names)) for item in step.items):
        return step
    fits = matrix.find(TABLE, {"torch": Known(found["version"], "asked")})
    cells = {name: fits.cell(name) for name in names}
    label = found["label"] or "" if labelled else ""
    others = [
        f"{name}=={cell.value}{label}" for name, cell in cells.items() if isinstance(cell, Known)
    ]
    at = step.items.index(found[0]) + 1
    items = (*step.items[:at], *others, *step.items[at:])
    text = command(step.kind, items, step.options, step.index, windows=True)
    return msgspec.structs.replace(step, items=items, text=text)


def _cleared(step: Step, names: Sequence[str]) -> Step:
    """Return a step that removes torch with those that the fix brings again beside it.

    pip takes one of the same release for the one that is asked for, whatever its build is.
    """
    if step.kind is not StepKind.UNINSTALL or "torch" not in step.items:
        return step
    items = tuple(dict.fromkeys((*step.items, *names)))
    text = command(step.kind, items, step.options, windows=True)
    return msgspec.structs.replace(step, items=items, text=text)


def _is_of_torch(index: str) -> bool:
    """Return whether an index has torch's companions: PyTorch's own, or Python's where none is."""
    return not index or index.startswith(PYTORCH_INDEXES)
