"""What a model's configuration says of its heads, and what its class takes where it is silent."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

import msgspec

from fadoctor.knowledge.matrix.load import load_apart

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from fadoctor.model.rule import Cell

TABLE = "model-shapes"

HEADS = (
    "num_attention_heads",
    "n_head",
    "n_heads",
    "decoder_attention_heads",
    "num_heads",
    "encoder_attention_heads",
)
HIDDEN = ("hidden_size", "n_embd", "d_model", "dim")
HEAD_DIM = ("head_dim", "attention_head_dim", "kv_channels", "d_kv")
LATENT = ("qk_nope_head_dim", "qk_rope_head_dim")
"""Parts of a key's head where keys and values come from one latent vector (MLA)."""


class Shape(msgspec.Struct, frozen=True):
    """What a class takes by default; 0 where it follows from the rest."""

    heads: int = 0
    kv_heads: int = 0
    head_dim: int = 0
    hidden: int = 0


UNKNOWN = Shape()


@cache
def default_shapes() -> Mapping[str, Shape]:
    """Return the type of a model -> what its class takes."""
    return shapes_of(load_apart()[TABLE].rows)


def shapes_of(rows: Iterable[Mapping[str, Cell]]) -> dict[str, Shape]:
    """Return the same of rows of the table."""
    return {str(row["model"]): msgspec.convert({**row}, Shape) for row in rows}
