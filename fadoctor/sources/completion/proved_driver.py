"""A driver that is older than its CUDA asks for, beside which a report says that CUDA was found."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fadoctor.knowledge.matrix.versions import is_older
from fadoctor.model.fact import Fact, Known, Unknown, fact_text
from fadoctor.sources.pasted.claims import AVAILABLE
from fadoctor.syntax.patterns import compiled

if TYPE_CHECKING:
    from collections.abc import Mapping

    from fadoctor.knowledge.matrix.query import Matrix
    from fadoctor.sources.pasted.combine import CombinedClaims

# a torch that complains of the driver was not the one that found CUDA, or not with this driver
_REFUSED = compiled(r"(?i)driver[^\n]{0,60}(?:too old|insufficient|not supported)")


def proved_driver(
    facts: Mapping[str, Fact], combined: CombinedClaims, text: str, matrix: Matrix
) -> dict[str, Fact]:
    """Return that a newer libcuda is in use, where torch found CUDA beside an older driver.

    torch counts the GPUs by the libcuda that it loads. One that is too old for its CUDA counts
    none, so that NVIDIA's compatibility package must be there.
    """
    seen = combined.fact(AVAILABLE)
    if not isinstance(seen, Known) or seen.value is not True or _REFUSED.search(text):
        return {}
    if not isinstance(facts.get("driver.forward_compat", Unknown("unsaid", "")), Unknown):
        return {}
    driver, cuda, system = (
        fact_text(facts[name], "") if isinstance(facts.get(name), Known) else ""
        for name in ("driver.version", "torch.cuda", "host.os")
    )
    floors = [
        str(row["driver"])
        for row in matrix.tables["driver-floors"].rows
        if row["cuda"] == cuda.partition(".")[0] and row["os"] == system
    ]
    if not driver or not floors or not is_older(driver, floors[0]):
        return {}
    source = f"{seen.source}: CUDA {cuda} is available, for which driver {driver} alone is too old"
    return {"driver.forward_compat": Known(value=True, source=source)}
