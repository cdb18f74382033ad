"""What findings say of packages that files ask for: they are not installed yet."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import msgspec

from fadoctor.model.fact import Known
from fadoctor.model.packages import PACKAGES

if TYPE_CHECKING:
    from collections.abc import Mapping

    from fadoctor.model.environment import Environment
    from fadoctor.model.finding import Finding

# torch 2.6.0+cu124 is installed; but 2.6.0 is installed
_VERSION = re.compile(
    r"(?:(?P<name>[a-z][a-z0-9_-]{0,60}) )?(?P<version>\d[\w.+!]{0,60}) is installed\b",
    re.IGNORECASE,
)
_STATE = re.compile(r"\b(?:is|are)(?P<no> not| no longer|) installed\b")


class PlanWording:
    """Says of a plan what rules say of an environment."""

    def __init__(
        self, environment: Environment, taken: Mapping[str, str], *, is_consistent: bool
    ) -> None:
        """Take what the files ask for, and what a resolver makes of it."""
        versions = {
            names[0]: fact.value
            for package, names in PACKAGES.items()
            if isinstance(fact := environment.fact(f"{package}.version"), Known)
        }
        self._asked = {
            str(version) for version in (*versions.values(), *environment.pinned.values())
        }
        ranges = {**environment.bounded, **environment.ranges, **environment.asked}
        self._ranges = {
            version: f"{PACKAGES[package][0]}{ranges[PACKAGES[package][0]]}"
            for package, version in ({} if is_consistent else taken).items()
            if ranges.get(PACKAGES[package][0])
        }

    def of(self, finding: Finding) -> Finding:
        """Return a finding that says what is asked for, and what would be installed."""
        return msgspec.structs.replace(
            finding, title=self.told(finding.title), message=self.told(finding.message)
        )

    def told(self, text: str) -> str:
        """Return a sentence in the words of files."""
        if " installed" not in text:
            return text
        text = _VERSION.sub(self._version, text)
        return _STATE.sub(lambda found: f"would{found['no']} be installed", text)

    def _version(self, found: re.Match[str]) -> str:
        version, name = found["version"], found["name"]
        if version in self._asked:
            return found[0].removesuffix("is installed") + "is asked for"
        if asked := self._ranges.get(version):
            before = f"{name} " if name and not asked.startswith(name) else ""
            return f"{before}{asked} is asked for"
        return found[0].removesuffix("is installed") + "would be installed"
