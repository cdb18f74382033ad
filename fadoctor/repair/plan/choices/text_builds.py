"""What follows from the build of torch that a text is taken to name."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from fadoctor.knowledge.matrix.torch_builds import of_build
from fadoctor.model.fact import Known, Unknown, fact_text

if TYPE_CHECKING:
    from fadoctor.knowledge.matrix.query import Matrix
    from fadoctor.model.environment import Environment

_ABI, _SOURCE = "torch.cxx11_abi", "the build that the text is taken to name"


def with_abi_of_build(environment: Environment, matrix: Matrix) -> Environment:
    """Return the environment with the C++ ABI of the torch that a text names without a label.

    The plan says that it takes it for PyPI's, and keeps it rather than bringing the same release
    in a build whose label says the ABI.
    """
    is_text = isinstance(environment.fact("packages.named"), Known)
    version, build = (environment.fact(f"torch.{name}") for name in ("version", "build"))
    is_open = isinstance(environment.fact(_ABI), Unknown)
    if not (is_text and is_open and isinstance(version, Known) and isinstance(build, Known)):
        return environment
    platform = environment.fact("host.platform")
    made = of_build(str(version.value), fact_text(build, ""), platform, matrix, _SOURCE)[_ABI]
    if not isinstance(made, Known):
        return environment
    return msgspec.structs.replace(environment, facts={**environment.facts, _ABI: made})
