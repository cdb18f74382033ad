"""Whether an installer finds a prebuilt flash-attn for a planned torch, or compiles it."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING
from urllib.parse import unquote

import msgspec

from fadoctor.knowledge.matrix.versions import parse_version
from fadoctor.knowledge.matrix.wheel_label import wheel_facts
from fadoctor.knowledge.matrix.wheels import OFFICIAL_TABLE, Wheels
from fadoctor.model.fact import Absent, Fact, Known, Unknown
from fadoctor.model.packages import FLASH_ATTN, PACKAGES, RELEASE_TABLES
from fadoctor.repair.plan.choices.files import Files
from fadoctor.repair.plan.choices.wheel_facts import inside, needs_newer_glibc, text_of, wanted_of
from fadoctor.sources.targets.gpu_code import gpu_code

if TYPE_CHECKING:
    from collections.abc import Mapping

    from fadoctor.knowledge.matrix.query import Matrix
    from fadoctor.knowledge.matrix.wheels import WheelFile, WheelRequest
    from fadoctor.model.environment import Environment

NAME = PACKAGES[FLASH_ATTN][0]
PREBUILT = "flash_attn.wheel.prebuilt"
_PYTHON = "python.abi_tag"
_ABI = "torch.cxx11_abi"
_CODE = "flash_attn.binary.code"
_GLIBC = "flash_attn.binary.glibc"
_TABLES = "matrix flash-attn-wheels"
_WITHOUT = {
    build: f"{_TABLES}: no release has a file for {what}"
    for build, what in (("rocm", "ROCm"), ("cpu", "a torch without CUDA"))
}
"""Builds of torch that no file of flash-attn is for -> the source that says so."""
FETCHED = f"{_TABLES}: what its setup.py asks for"
"""Source of what follows from a file that an installer would fetch."""


class Prebuilt:
    """The files of one matrix, which has the tables of wheels where flash-attn is planned."""

    def __init__(self, matrix: Matrix) -> None:
        """Take the matrix."""
        self._matrix = matrix
        self._wheels = Wheels(matrix.tables)
        self._found: dict[tuple[str, WheelRequest], tuple[dict[str, Fact], WheelFile | None]] = {}
        self._files: dict[str, dict[str, WheelFile]] = {}

    @staticmethod
    def of(matrix: Matrix) -> Prebuilt:
        """Return those of a matrix, which all that read it share."""
        if Prebuilt not in matrix.read:
            matrix.read[Prebuilt] = Prebuilt(matrix)
        found: Prebuilt = matrix.read[Prebuilt]
        return found

    @cached_property
    def _plans(self) -> Files:
        return Files(self._matrix)

    def facts(
        self, environment: Environment, facts: Mapping[str, Fact], newest: str
    ) -> dict[str, Fact]:
        """Return the fact for what comes from PyPI, in facts of a planned environment.

        A range is judged by its newest release, which comes: older ones often have no file.
        """
        version = facts.get("flash_attn.version")
        if not isinstance(version, Known) or OFFICIAL_TABLE not in self._matrix.tables:
            return {}
        there = msgspec.structs.replace(environment, facts=dict(facts))
        address = facts.get("flash_attn.direct_url")
        if isinstance(address, Known):
            return self._at_address(there, str(version.value), str(address.value))
        if NAME in environment.elsewhere:
            return {}
        forced = text_of(there, "env.FLASH_ATTENTION_FORCE_BUILD") == "TRUE"
        wanted = wanted_of(there)
        if wanted is None or forced:
            return self._for_no_file(there, "" if forced else newest or str(version.value))
        asked = (newest or str(version.value), wanted)
        if asked not in self._found:
            self._found[asked] = self._judged(*asked)
        found, file = self._found[asked]
        if file is None:
            return found
        return found | _label(file) | self._inside(there, file, FETCHED)

    def newest_for(self, environment: Environment) -> str:
        """Return the newest release with a file for a torch, "" where none or no torch is known."""
        wanted = wanted_of(environment)
        return self._newest_with(wanted) if wanted else ""

    def _for_no_file(self, environment: Environment, version: str) -> dict[str, Fact]:
        """Return that there is no file: without CUDA, or for nothing that may come.

        `version`: "" where a file would not be taken.
        """
        if source := _WITHOUT.get(text_of(environment, "torch.build")):
            return {PREBUILT: Known(value=False, source=source)}
        open_ = self._open(environment) if version else []
        for facts in open_:
            wanted = wanted_of(msgspec.structs.replace(environment, facts=facts))
            found = self._judged(version, wanted)[0].get(PREBUILT) if wanted else None
            if not (isinstance(found, Known) and found.value is False):
                return {}
        return {PREBUILT: Known(value=False, source=_TABLES)} if open_ else {}

    def _open(self, environment: Environment) -> list[dict[str, Fact]]:
        """Return all that a torch may be of which Python or C++ ABI are not known, if any.

        Conda builds torch itself: setup.py asks for a file for its release all the same.
        """
        several: list[dict[str, Fact]] = [{**environment.facts}]
        if isinstance(environment.fact(_PYTHON), Unknown):
            several = [{**each, _PYTHON: Known(tag, _TABLES)} for each in several
                       for tag in self._pythons]  # fmt: skip
        if text_of(environment, "torch.installer") == "conda":
            several = [{**each, "torch.build": Known("pypi", _TABLES)} for each in several]
        if isinstance(environment.fact(_ABI), Unknown):
            several = [{**each, _ABI: Known(is_new, _TABLES)} for each in several
                       for is_new in (False, True)]  # fmt: skip
        return several if several != [{**environment.facts}] else []

    @cached_property
    def _pythons(self) -> tuple[str, ...]:
        """Return the ABI tags of all files, each once."""
        rows = self._matrix.tables[OFFICIAL_TABLE].rows
        return tuple(dict.fromkeys(tag for row in rows for tag in str(row["python"]).split()))

    def _inside(self, environment: Environment, file: WheelFile, source: str) -> dict[str, Fact]:
        """Return what a file is known to hold; where nobody has read it, its label decides.

        Files that were read in part have code for what they all have; for other GPUs it is open.
        """
        found = inside(file) | {_GLIBC: file.glibc_needed}
        found = {name: fact for name, fact in found.items() if isinstance(fact, Known)}
        if _CODE not in found and isinstance(file.sm_at_least, Known):
            open_ = {_CODE: Unknown(f"the tables do not list the contents of {file.name}", source)}
            found |= self._plans.sure_code(environment, file) or open_
        if _CODE in found:
            there = msgspec.structs.replace(environment, facts=environment.facts | found)
            found |= gpu_code(there, self._matrix, (FLASH_ATTN,))
        return {n: msgspec.structs.replace(fact, source=source) for n, fact in found.items()}

    def _at_address(self, environment: Environment, version: str, address: str) -> dict[str, Fact]:
        """Return what is known of a file that is named by its address."""
        file = self._named(version, address)
        if file is not None:
            return self._inside(environment, file, _TABLES)
        return self._of_others(environment, version, address)

    def _of_others(self, environment: Environment, version: str, address: str) -> dict[str, Fact]:
        """Return what is open of a file that others built, on a system older than theirs."""
        name, public = unquote(address.rpartition("/")[2]), version.partition("+")[0]
        if not name.startswith("flash_attn-"):
            return {}
        file = next((f for f in self._wheels.community(public) if f.name == name), None)
        if file is None or not needs_newer_glibc(environment, file):
            return {}
        if isinstance(file.glibc_enough, Known):
            return {_GLIBC: msgspec.structs.replace(file.glibc_enough, source=_TABLES)}
        return {_GLIBC: Unknown(f"the tables do not list the glibc that {name} needs", _TABLES)}

    def _named(self, version: str, address: str) -> WheelFile | None:
        """Return the official file that lies at an address."""
        name = unquote(address.rpartition("/")[2])
        if version not in self._files:
            self._files[version] = {f.name: f for f in self._wheels.named_as(version)}
        return self._files[version].get(name)

    def _judged(
        self, version: str, wanted: WheelRequest
    ) -> tuple[dict[str, Fact], WheelFile | None]:
        """Return whether there is a file, and which; nothing where others have one."""
        asked = self._wheels.asked_for(version, wanted)
        if asked.file is not None:
            return {PREBUILT: Known(value=True, source=_TABLES)}, asked.file
        if self._is_listed(version):
            return {PREBUILT: Known(value=False, source=_TABLES)}, None
        if last := self._newest_with(wanted):
            gone = self._is_given_up(last, version)
            return {PREBUILT: Known(value=False, source=_TABLES)} if gone else {}, None
        why = f"the tables do not list the wheels of {NAME} {version}"
        why = f"{why}, and no other release has a wheel for torch {wanted.torch}"
        return {PREBUILT: Unknown(why, _TABLES)}, None

    def _is_listed(self, version: str) -> bool:
        """Return whether the files of a release are known, or it is known never to ask for one."""
        if self._is_named(OFFICIAL_TABLE, version):
            return True
        if not self._is_named(RELEASE_TABLES[FLASH_ATTN], version):
            return False  # newer than the tables, or no release
        keys = {"version": Known(version, "asked"), "torch": Known("2.8", "any"),
                "cuda_major": Known("12", "any")}  # fmt: skip
        return not isinstance(self._matrix.find("flash-attn-lookup", keys).cell("label"), Known)

    def _is_named(self, table: str, version: str) -> bool:
        """Return whether a table names a release."""
        asked = parse_version(version)
        return any(
            parse_version(word) == asked
            for row in self._matrix.tables[table].rows
            for word in str(row["version"]).split()
        )

    def _is_given_up(self, last: str, version: str) -> bool:
        """Return whether a release between the two has no file for what the older one had one for.

        A torch that releases no longer have files for is not taken up again.
        """
        low, high = parse_version(last), parse_version(version)
        listed = (
            parse_version(word)
            for row in self._matrix.tables[OFFICIAL_TABLE].rows
            for word in str(row["version"]).split()
        )
        return low is not None and high is not None and any(e and low < e < high for e in listed)

    def _newest_with(self, wanted: WheelRequest) -> str:
        """Return the newest release that has a file for this torch and Python, "" for none."""
        keys: dict[str, Fact] = {
            "torch": Known(wanted.torch, "asked"),
            "cuda": Known(wanted.cuda.partition(".")[0], "asked"),
            "abi": Known(str(wanted.cxx11_abi).lower(), "asked"),
            "python": Known(wanted.python, "asked"),
            "platform": Known(wanted.platform, "asked"),
        }
        found = self._matrix.find("flash-attn-for-torch", keys).cell("version")
        return str(found.value) if isinstance(found, Known) else ""


def _label(file: WheelFile) -> dict[str, Fact]:
    """Return what the name of a file says that an installer would fetch."""
    address = {"flash_attn.direct_url": Known(file.url, FETCHED)}
    return wheel_facts(Known(file.version, FETCHED), Absent(FETCHED), dict(address))


def is_of_wheels(source: str) -> bool:
    """Return whether a fact is what the tables say of a file, or leave open."""
    return source.startswith(_TABLES)
