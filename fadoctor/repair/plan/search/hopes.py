"""What nobody could look into counts against nothing that is installed."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from fadoctor.model.fact import Absent, Known
from fadoctor.model.packages import EXTENSIONS

if TYPE_CHECKING:
    from fadoctor.knowledge.matrix.kernels import Kernels
    from fadoctor.repair.plan.search.wishes import Wishes


def hoping(wishes: Wishes, kernels: Kernels) -> Wishes:
    """Return wishes that are met by installed packages whose compiled files could not be read.

    Another release would look better only because the tables say what its files are. Where a file
    is known to be missing a rule says so; what was asked for by name must be proved.
    """
    unread = {
        package
        for package in EXTENSIONS
        if _is_there(kernels, package)
        and package not in wishes.asked
        and kernels.environment.was_sought(f"{package}.binary")
        and not isinstance(kernels.environment.fact(f"{package}.binary.file"), Known)
    }
    backends = {backend for _, backend in wishes.cells}
    hoped = {b for b in backends if not unread.isdisjoint(kernels.decided_by(b))}
    return msgspec.structs.replace(wishes, hoped=wishes.hoped | hoped) if hoped else wishes


def _is_there(kernels: Kernels, package: str) -> bool:
    return not isinstance(kernels.environment.fact(f"{package}.version"), Absent)
