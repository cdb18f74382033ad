"""Whether an installer finds a prebuilt flash-attn for a planned torch, or compiles it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from fadoctor.matrix.wheels import OFFICIAL_TABLE, Wheels
from fadoctor.model.fact import Fact, Known, Unknown
from fadoctor.plan.wheel_facts import text_of, wanted_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from fadoctor.matrix.query import Matrix
    from fadoctor.matrix.wheels import Wanted
    from fadoctor.model.environment import Environment

NAME = "flash-attn"
PREBUILT = "flash_attn.wheel.prebuilt"
_SOURCE = "matrix flash-attn-wheels: what its setup.py asks for"


class Prebuilt:
    """The files of one matrix, which has the tables of wheels where flash-attn is planned."""

    def __init__(self, matrix: Matrix) -> None:
        """Take the matrix."""
        self._matrix = matrix
        self._wheels = Wheels(matrix.tables)
        self._found: dict[tuple[str, Wanted], Fact | None] = {}

    def facts(
        self, environment: Environment, facts: Mapping[str, Fact], newest: str
    ) -> dict[str, Fact]:
        """Return the fact for what comes from PyPI, in facts of a planned environment.

        A range is judged by its newest release, which comes: older ones often have no file.
        """
        version = facts.get("flash_attn.version")
        if not isinstance(version, Known) or NAME in environment.elsewhere:
            return {}
        if OFFICIAL_TABLE not in self._matrix.tables:
            return {}
        there = msgspec.structs.replace(environment, facts=dict(facts))
        forced = text_of(there, "env.FLASH_ATTENTION_FORCE_BUILD") == "TRUE"
        wanted = wanted_of(there)
        if wanted is None or forced:
            return {}
        asked = (newest or str(version.value), wanted)
        if asked not in self._found:
            self._found[asked] = self._judged(*asked)
        found = self._found[asked]
        return {} if found is None else {PREBUILT: found}

    def _judged(self, version: str, wanted: Wanted) -> Fact | None:
        """Return whether there is a file; None where nobody knows and others have one."""
        asked = self._wheels.asked_for(version, wanted)
        if asked.file is not None:
            return Known(value=True, source=_SOURCE)
        if self._is_listed(version):
            return Known(value=False, source=_SOURCE)
        if self._has_any(wanted):
            return None
        why = f"nobody has read which wheels of {NAME} {version} there are"
        return Unknown(f"{why}; of no other release there is one for torch {wanted.torch}", _SOURCE)

    def _is_listed(self, version: str) -> bool:
        """Return whether the files of a release are known, or it never asks for one."""
        rows = self._matrix.tables[OFFICIAL_TABLE].rows
        if any(version in str(row["version"]).split() for row in rows):
            return True
        keys = {"version": Known(version, "asked"), "torch": Known("2.8", "any"),
                "cuda_major": Known("12", "any")}  # fmt: skip
        return not isinstance(self._matrix.find("flash-attn-lookup", keys).cell("label"), Known)

    def _has_any(self, wanted: Wanted) -> bool:
        """Return whether a release has a file for this torch and Python."""
        keys: dict[str, Fact] = {
            "torch": Known(wanted.torch, "asked"),
            "cuda": Known(wanted.cuda.partition(".")[0], "asked"),
            "abi": Known(str(wanted.cxx11_abi).lower(), "asked"),
            "python": Known(wanted.python, "asked"),
            "platform": Known(wanted.platform, "asked"),
        }
        return isinstance(self._matrix.find("flash-attn-for-torch", keys).cell("version"), Known)
