"""What comes from the Hub in the states of one environment: derived once for all alike to it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from fadoctor.model.fact import Fact, Known
from fadoctor.model.packages import DIFFUSERS
from fadoctor.sources.targets.derived import derive_hub, derived_of_hub

if TYPE_CHECKING:
    from collections.abc import Hashable, Mapping

    from fadoctor.knowledge.matrix.query import Matrix
    from fadoctor.model.environment import Environment

FACTS = (
    "kernels.version", "transformers.version", "torch.version", "torch.cuda", "torch.hip",
    "torch.cxx11_abi",
)  # fmt: skip
"""Of what a choice of packages can change, what decides which build is taken from the Hub."""

INSTALLED = "packages.installed"
_TAKES_KERNELS = DIFFUSERS


class HubStates:
    """States that differ in packages alone. Two that are alike share their facts, as objects."""

    def __init__(self, matrix: Matrix, environment: Environment) -> None:
        """Take the matrix, which says what builds require, and the environment as it is."""
        self._matrix = matrix
        rows = matrix.tables["hub-builds"].rows
        asked = {word for row in rows for word in str(row.get("requires") or "").split()}
        self._names = (*sorted(asked), _TAKES_KERNELS)
        self._derived: dict[Hashable, dict[str, Fact]] = {}
        self._ever = set(derived_of_hub(environment.facts))

    def derive(self, environment: Environment) -> Environment:
        """Return the environment with what comes from the Hub, and nothing of what came before."""
        asked = self._asked(environment.facts)
        derived = self._derived.get(asked)
        if derived is None:
            after = derive_hub(environment, self._matrix)
            names = derived_of_hub(after.facts)
            self._derived[asked] = {name: after.facts[name] for name in names}
            self._ever.update(names)
            return after
        facts = dict(environment.facts)
        for name in self._ever:
            facts.pop(name, None)
        facts.update(derived)
        return msgspec.structs.replace(environment, facts=facts)

    def _asked(self, facts: Mapping[str, Fact]) -> Hashable:
        every = facts.get(INSTALLED)
        listed = every.value if isinstance(every, Known) and isinstance(every.value, dict) else {}
        return (*map(facts.get, FACTS), *map(listed.get, self._names))
