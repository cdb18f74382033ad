"""How far a healthy kernel may be from float64: the matrix table smoke-limits, as numbers."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from fadoctor.model.verdict import Dtype

if TYPE_CHECKING:
    from fadoctor.model.rule import Knowledge


class Limits(msgspec.Struct, frozen=True):
    """Largest relative Frobenius error that a healthy kernel may have."""

    out: float
    gradients: float

    def of(self, tensor: str) -> float:
        """Return the limit of a tensor: gradients are named ``dq`` and so on."""
        return self.gradients if tensor.startswith("d") else self.out


def read_limits(knowledge: Knowledge) -> dict[Dtype, Limits]:
    """Return the limits by dtype."""
    return {
        Dtype(row["dtype"]): Limits(float(str(row["out"])), float(str(row["gradients"])))
        for row in knowledge.tables["smoke-limits"].rows
    }
