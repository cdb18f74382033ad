"""What ``check --facts`` reads where it is given no saved facts: any text, by explain's reader."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING

from fadoctor import __version__
from fadoctor.knowledge.matrix.query import Matrix
from fadoctor.model.catalogue import LOG
from fadoctor.model.environment import PASTED, Environment, Target
from fadoctor.model.errors import InputError
from fadoctor.model.fact import Unknown
from fadoctor.sources.completion.texts import completed
from fadoctor.sources.logs.cleaning import clean_lines, without_credentials
from fadoctor.sources.logs.facts import plain_lines, stated
from fadoctor.sources.logs.reading import read_blocks
from fadoctor.sources.logs.sieve import Region

if TYPE_CHECKING:
    from collections.abc import Mapping

    from fadoctor.model.fact import Fact
    from fadoctor.model.finding import Finding
    from fadoctor.model.rule import Knowledge
    from fadoctor.sources.pasted.claims import PastedLine
    from fadoctor.sources.pasted.combine import CombinedClaims

SIZE_LIMIT = 2 << 20
"""Bytes of a text that are read."""

_VISIBLE = "all GPUs that the report names are visible"
_NOTHING = (
    "no facts as JSON, version, GPU or driver found in this text: paste the output of "
    "`pip list`, `nvidia-smi`, `python -m torch.utils.collect_env` or `fadoctor facts`"
)


def read_text(
    data: bytes,
    name: str,
    knowledge: Knowledge,
    complaints: tuple[Finding, ...] = (),
    machine: Mapping[str, Fact] | None = None,
) -> Environment:
    """Return what a text says, and what follows; InputError where it says and shows nothing.

    `complaints`: those that ``explain`` finds in the same text. `machine`: the platform and the
    Python that are assumed where the text names none.
    """
    matrix = Matrix(knowledge.tables)
    lines, said = read_statements(data, name, matrix)
    if not (said.tools or complaints):
        raise InputError(name, _NOTHING)
    found, assumed = completed(said, lines, matrix, machine)
    # fixes for what a log calls for are no fixes of what a list shows
    facts = {name: fact for name, fact in found.items() if not _is_of_no_log(name, fact)}
    tools = ", ".join(said.tools) or "the error in it"
    target = Target(
        kind="facts",
        label=name,
        reason=PASTED,
        notes=(f"Read from {tools}; what the text does not say is unknown.",),
    )
    visible = (_VISIBLE,) if said.assumes_visible else ()
    return Environment(__version__, target, facts, (*visible, *assumed), complaints=complaints)


def _is_of_no_log(name: str, fact: Fact) -> bool:
    """Return whether a fact is one that a log would name, and this text does not."""
    return name.startswith(f"{LOG}.") and isinstance(fact, Unknown)


def read_statements(
    data: bytes, name: str, matrix: Matrix
) -> tuple[list[PastedLine], CombinedClaims]:
    """Return the lines of a text, and what they state; InputError for what is too large."""
    if len(data) > SIZE_LIMIT:
        raise InputError(name, f"larger than {SIZE_LIMIT >> 20} MiB")
    whole = b"".join(read_blocks(io.BytesIO(data)))
    lines = plain_lines(without_credentials(list(clean_lines(Region(1, whole)))))
    return lines, stated(lines, name, matrix)
