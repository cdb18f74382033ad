"""What the fields of one cell say against each other, whatever GPU it was run on.

Each way in which a cell can end leaves certain fields and no others, some fields say the same
twice, and an error has a floor: no number in half precision is nearer to float64 than its dtype.
"""

from __future__ import annotations

import re
from functools import cache
from typing import TYPE_CHECKING, Any

from fadoctor.knowledge.matrix.load import load_knowledge
from fadoctor.model.smoke_catalogue import LIKE, RUN, TRAPS, entry_of
from fadoctor.model.verdict import Backend
from fadoctor.proof.smoke.judge import DECLINES

if TYPE_CHECKING:
    from collections.abc import Iterator

EPSILON = {"bf16": 2.0**-8, "fp16": 2.0**-11, "fp32": 2.0**-24}
"""Dtype -> the relative rounding of one number."""

FINER = 0.005
"""Part of a rounding below which the error of a whole tensor cannot be: an H200 showed 0.09."""

SOONER = 0.5
"""Part of a forward's time below which its backward cannot be: an H200 showed 0.95."""

PRINTED = 0.06
"""Part by which a number printed with two digits may differ from the number."""

_ATTENTION = frozenset(("out", "dq", "dk", "dv"))
_ENDED = frozenset(("comparison", "timing"))
_AFTER = frozenset(("backward", "comparison", "timing"))
# relative error against float64: out 2.1e-03, gradients at most 2.4e-03
_OUT = re.compile(r"\bout (\d\.\de[+-]\d\d)\b")
_GRADIENTS = re.compile(r"\bgradients at most (\d\.\de[+-]\d\d)\b")


def of_cell(cell: Any) -> Iterator[str]:
    """Yield what the fields of a cell say against each other."""
    yield from _words(cell)
    yield from _ending(cell)
    if cell["measured"] == "passed":
        yield from _floors(cell)
        yield from _printed(cell)
        yield from _times(cell)


def _words(cell: Any) -> Iterator[str]:
    """Hold a cell's words against the catalogue and the rules."""
    backend, dtype, case = cell["backend"], cell["dtype"], cell["case"]
    if backend in RUN and cell["measured"] != "not_run":
        entry = entry_of(Backend(backend))
        if case not in {*entry.cases, *entry.thorough, *LIKE}:
            yield f"{backend} has no case of this name"
        if dtype not in {each.value for each in entry.dtypes}:
            yield f"{backend} is not run in this dtype"
    if bool(cell["trap"]) is not (case in TRAPS):
        yield f"trap is {cell['trap']} for this case"
    unknown = {cell["rule_id"], *cell["because"]} - {""} - _rules()
    if unknown:
        yield f"no rule is named {', '.join(sorted(unknown))}"
    if cell["because"] and cell.get("predicted") == "works":
        yield f"works was foreseen, because of {', '.join(cell['because'])}"


@cache
def _rules() -> frozenset[str]:
    knowledge = load_knowledge()
    return frozenset(rule.id for rule in knowledge.rules)


def _ending(cell: Any) -> Iterator[str]:
    """Yield which fields are there that a cell's way to end does not leave."""
    measured, failure = cell["measured"], cell.get("failure", "none")
    if (failure != "none") is not (measured == "failed"):
        yield f"{measured}, with the failure {failure}"
    if cell["errors"] and measured in {"refused", "not_run"}:
        yield f"{measured.replace('_', ' ')}, and its numbers were compared"
    if measured == "passed":
        yield from _passed(cell)
    if measured == "refused":
        yield from _refused(cell)


def _passed(cell: Any) -> Iterator[str]:
    phase = cell.get("phase", "")
    if cell["rule_id"]:
        yield f"passed, by {cell['rule_id']}"
    if phase and phase not in _ENDED:
        yield f"passed, and it ended in its {phase}"
    if cell["case"] == "mixed":
        yield "passed with tensors of two dtypes"


def _refused(cell: Any) -> Iterator[str]:
    phase, rule = cell.get("phase", ""), cell["rule_id"]
    if cell["kernel"] and phase not in _AFTER:
        yield f"refused in its {phase or 'beginning'}, after the kernel {cell['kernel']}"
    if rule and rule not in DECLINES and not cell["trap"]:
        yield f"refused by {rule}, by which no backend refuses"


def _floors(cell: Any) -> Iterator[str]:
    """Hold the errors of tensors against the rounding of their dtype."""
    floor = FINER * EPSILON.get(cell["dtype"], 0.0)
    fine = [name for name, error in cell["errors"].items()
            if name in _ATTENTION and 0 < error < floor]  # fmt: skip
    if fine and set(cell["errors"]) >= _ATTENTION:
        yield f"{', '.join(sorted(fine))} finer than {cell['dtype']} can hold"


def _printed(cell: Any) -> Iterator[str]:
    """Hold the printed line of a cell against its numbers."""
    errors = cell["errors"]
    gradients = [error for name, error in errors.items() if re.match(r"d[a-z]", name)]
    worst = max(gradients, default=None)
    for pattern, kept in ((_OUT, errors.get("out")), (_GRADIENTS, worst)):
        told = pattern.search(cell["detail"])
        if told and kept and abs(float(told[1]) - kept) > PRINTED * kept:
            yield f"its line says {told[0]}, its numbers {kept:.1e}"


def _times(cell: Any) -> Iterator[str]:
    speed = cell.get("speed") or {}
    forward, backward = speed.get("forward_ms"), speed.get("backward_ms")
    if speed and cell.get("phase") not in {None, "", "timing"}:
        yield f"timed, and it ended in its {cell['phase']}"
    if forward and backward and backward < SOONER * forward:
        yield f"a backward of {backward:g} ms after a forward of {forward:g} ms"
