"""The prebuilt wheels of flash-attn that load beside a torch, as choices."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from fadoctor.knowledge.matrix.query import cell_words
from fadoctor.knowledge.matrix.versions import is_older, version_key
from fadoctor.knowledge.matrix.wheel_label import STEM, wheel_facts
from fadoctor.knowledge.matrix.wheels import OFFICIAL, WheelFile, WheelRequest, Wheels
from fadoctor.model.fact import Fact, Known, fact_words
from fadoctor.model.packages import ALWAYS, FLASH_ATTN, FLASH_ATTN_3, PACKAGES
from fadoctor.repair.plan.choices.choice import Choice, ChoiceKind
from fadoctor.repair.plan.choices.released import released
from fadoctor.repair.plan.choices.wheel_facts import (
    inside,
    known,
    needs_newer_glibc,
    text_of,
    wanted_of,
)
from fadoctor.repair.plan.states.compiled import AFTER
from fadoctor.sources.targets.gpu_code import gpu_code

if TYPE_CHECKING:
    from fadoctor.knowledge.matrix.query import Matrix
    from fadoctor.model.environment import Environment

_REQUIRES = ALWAYS[FLASH_ATTN]
"""What every wheel of flash-attn 2 and 3 requires, in any version."""

_CODE = "flash_attn.binary.code"


class Files:
    """The files of one knowledge base; it keeps what it has looked up."""

    def __init__(self, matrix: Matrix) -> None:
        """Take the matrix of all tables, those that are compiled apart included."""
        self.matrix = matrix
        self.wheels = Wheels(matrix.tables)
        rows = matrix.tables["flash-attn-known-bad"].rows
        self.bad = {
            word for row in rows if not row.get("driver") for word in cell_words(row["version"])
        }
        on_drivers = [row for row in rows if row.get("driver")]
        self._drivers = {
            w: str(row["driver"]) for row in on_drivers for w in cell_words(row["version"])
        }
        """Releases that work from a driver on."""
        listed = matrix.tables["flash-attn-releases"].rows
        self._releases = [version_key(v) for row in listed for v in cell_words(row["version"])]
        self._found: dict[object, tuple[Choice, ...]] = {}

    def flash_attn(self, environment: Environment) -> tuple[Choice, ...]:
        """Return the files that load beside the environment's torch, newest first."""
        wanted = wanted_of(environment)
        if wanted is None:
            return ()
        names = ("host.glibc", "driver.version", "python.ext_suffix")
        gpus = (f"{gpu.text}.compute_capability" for gpu in environment.subjects("gpu"))
        asked = (wanted, *(text_of(environment, name) for name in (*names, *gpus)))
        if asked not in self._found:
            self._found[asked] = self._fitting(wanted, environment)
        return self._found[asked]

    def flash_attn_3(self, environment: Environment) -> tuple[Choice, ...]:
        """Return the files of FlashAttention-3 that load beside the environment's torch."""
        wanted = wanted_of(environment)
        if wanted is None:
            return ()
        wanted = msgspec.structs.replace(wanted, package=PACKAGES[FLASH_ATTN_3][0])
        asked = (wanted, text_of(environment, "host.glibc"))
        if asked not in self._found:
            found: dict[str, Choice] = {}
            for file in self.wheels.fitting(wanted):
                if not needs_newer_glibc(environment, file):
                    found.setdefault(file.version, _flash_attn_3(file))
            self._found[asked] = tuple(found.values())
        return self._found[asked]

    def _fitting(self, wanted: WheelRequest, environment: Environment) -> tuple[Choice, ...]:
        files = [f for f in self.wheels.fitting(wanted) if self.is_good(f.version, environment)]
        found: dict[tuple[str, str, str], Choice] = {}
        for file in files:
            if not needs_newer_glibc(environment, file):
                same = (file.version, file.source, str(file.sm))
                if same not in found:
                    found[same] = self._flash_attn(environment, file)
        return tuple(found.values())

    def is_good(self, version: str, environment: Environment) -> bool:
        """Return whether a release is a FlashAttention-2 without a known fault on this driver."""
        since = self.matrix.find("backends", {"backend": Known("fa2", "asked")}).cell("since")
        first = str(since.value) if isinstance(since, Known) else "0"
        if version in self.bad or is_older(version, first) is True:
            return False
        least = self._drivers.get(version, "")
        driver = text_of(environment, "driver.version")
        return not least or (bool(driver) and is_older(driver, least) is False)

    def _flash_attn(self, environment: Environment, file: WheelFile) -> Choice:
        suffix = text_of(environment, "python.ext_suffix") or f".{file.python}.so"
        facts = released(FLASH_ATTN, file.version, direct_url=file.url, interface=True)
        facts["flash_attn.namespace_only"] = known(False)
        facts["flash_attn.extension"] = known(STEM + suffix)
        tag = file.python.partition("-")[0]
        facts["flash_attn.wheel.tags"] = known((f"{tag}-{tag}-{file.platform}",))
        facts["flash_attn.requires"] = Known(_REQUIRES, AFTER)
        version = Known(file.version, AFTER)
        facts |= wheel_facts(version, facts["flash_attn.extension"], facts)
        facts |= inside(file)
        facts |= self.sure_code(environment, file)
        kind = ChoiceKind.WHEEL if file.source == OFFICIAL else ChoiceKind.COMMUNITY
        requirement = f"flash-attn @ {file.url}"
        return Choice(
            FLASH_ATTN, kind, file.name, file.version, requirement,
            url=file.url, facts=facts, age=self._age(file.version),
        )  # fmt: skip

    def _age(self, version: str) -> int:
        """Return how many releases of flash-attn are newer than a file's."""
        mine = version_key(version)
        return sum(other > mine for other in self._releases)

    def sure_code(self, environment: Environment, file: WheelFile) -> dict[str, Fact]:
        """Return the code that is in a file for sure, where that is enough for the GPUs here.

        Else all that may be in it, where not even that is for any of them. What is between them
        decides nothing then.
        """
        if isinstance(file.sm, Known):
            return {}
        if self._lacking(environment, file.sm_at_least) == ():
            return _code_of(file.sm_at_least)
        lacking = self._lacking(environment, file.sm_at_most)
        there = {text_of(environment, f"{g.text}.compute_capability")
                 for g in environment.subjects("gpu")}  # fmt: skip
        return _code_of(file.sm_at_most) if lacking and there <= set(lacking) else {}

    def _lacking(self, environment: Environment, sm: Fact) -> tuple[str, ...] | None:
        """Return the GPUs for which some code is none; None where that is not known."""
        code = _code_of(sm)
        if not code:
            return None
        there = msgspec.structs.replace(environment, facts={**environment.facts, **code})
        lacking = gpu_code(there, self.matrix, (FLASH_ATTN,)).get("flash_attn.binary.no_code_for")
        return fact_words(lacking) if isinstance(lacking, Known) else None


def _code_of(sm: Fact) -> dict[str, Fact]:
    """Return the fact of a file that holds code for some compute capabilities."""
    return {_CODE: known({" ".join(words): "1"})} if (words := fact_words(sm)) else {}


def _flash_attn_3(file: WheelFile) -> Choice:
    facts = released(FLASH_ATTN_3, file.version, direct_url=file.url)
    facts["flash_attn_3.requires"] = Known(_REQUIRES, AFTER)
    kind = ChoiceKind.WHEEL if file.source == OFFICIAL else ChoiceKind.COMMUNITY
    requirement = f"flash-attn-3 @ {file.url}"
    return Choice(
        FLASH_ATTN_3, kind, file.name, file.version, requirement, url=file.url, facts=facts
    )
