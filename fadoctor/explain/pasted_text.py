"""What ``check --facts`` reads where it is given no saved facts: any text, by explain's reader."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING

from fadoctor import __version__
from fadoctor.explain.cleaning import clean_lines
from fadoctor.explain.completion import completed
from fadoctor.explain.facts import plain_lines, stated
from fadoctor.explain.reading import read_blocks
from fadoctor.explain.sieve import Region
from fadoctor.model.environment import PASTED, Environment, Target
from fadoctor.model.errors import InputError

if TYPE_CHECKING:
    from fadoctor.matrix.query import Matrix
    from fadoctor.pasted.claims import Line
    from fadoctor.pasted.combine import Combined

SIZE_LIMIT = 2 << 20
"""Bytes of a text that are read."""

_VISIBLE = "all GPUs that the report names are visible"
_NOTHING = (
    "neither facts as JSON nor a text that names a version, a GPU or a driver: paste the output of "
    "`pip list`, `nvidia-smi`, `python -m torch.utils.collect_env` or `fadoctor facts`"
)


def read_text(data: bytes, name: str, matrix: Matrix) -> Environment:
    """Return what a text says, and what follows from it; InputError where it says nothing."""
    lines, said = read_statements(data, name, matrix)
    facts, assumed = completed(said, lines, matrix)
    tools = ", ".join(said.tools)
    target = Target(
        kind="facts",
        label=name,
        reason=PASTED,
        notes=(f"Read from what {tools} printed; what it does not say is unknown.",),
    )
    visible = (_VISIBLE,) if said.assumes_visible else ()
    return Environment(__version__, target, facts, (*visible, *assumed))


def read_statements(data: bytes, name: str, matrix: Matrix) -> tuple[list[Line], Combined]:
    """Return the lines of a text and what they state; InputError where they state nothing."""
    if len(data) > SIZE_LIMIT:
        raise InputError(name, f"larger than {SIZE_LIMIT >> 20} MiB")
    whole = b"".join(read_blocks(io.BytesIO(data)))
    lines = plain_lines(clean_lines(Region(1, whole)))
    said = stated(lines, name, matrix)
    if not said.tools:
        raise InputError(name, _NOTHING)
    return lines, said
