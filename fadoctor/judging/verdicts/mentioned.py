"""What a report on a pasted text is about: the packages that it names, and what more could tell."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from fadoctor.model.fact import Known
from fadoctor.model.packages import PACKAGES

if TYPE_CHECKING:
    from collections.abc import Iterable

    from fadoctor.knowledge.matrix.kernels import Kernels
    from fadoctor.model.environment import Environment
    from fadoctor.model.finding import Undecided
    from fadoctor.model.verdict import Verdict

# What the reports of tools say; all else stands in files, or shows only in a process.
_TOLD = re.compile(
    r"\w{1,40}\.version|gpu\[\d{1,3}\]\.(?:name|compute_capability)|gpu\.(?:visible_)?count"
    r"|driver\.(?:version|cuda)|torch\.(?:cuda|build)|host\.(?:os|platform|glibc)"
    r"|python\.(?:version|tag|abi_tag)|toolkit\.nvcc\.version"
)


def mentioned_verdicts(verdicts: Iterable[Verdict], kernels: Kernels) -> tuple[Verdict, ...]:
    """Return the cells of backends whose package the text names."""
    return tuple(cell for cell in verdicts if isinstance(kernels.version(cell.backend), Known))


def worth_asking(unknown: Iterable[Undecided], environment: Environment) -> tuple[Undecided, ...]:
    """Return what another report could decide about the packages that the text names."""
    return tuple(
        each
        for each in unknown
        if all(_TOLD.fullmatch(name) and _is_named(name, environment) for name in each.needs)
    )


def _is_named(fact: str, environment: Environment) -> bool:
    """Return whether a fact is of a package that the text names, or of none."""
    key = fact.partition(".")[0]
    return key not in PACKAGES or isinstance(environment.fact(f"{key}.version"), Known)


def left_out(count: int) -> str:
    """Say how many rules are undecided that no report could decide."""
    more = "1 more rule: it needs" if count == 1 else f"{count} more rules: they need"
    return (
        f"A pasted report cannot decide {more} files, other packages or a running process. "
        "Run `fadoctor facts` on that machine, and paste its output."
    )
