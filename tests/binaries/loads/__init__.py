"""Cases for the loader, by what they are about."""

from __future__ import annotations

from tests.binaries.loads import files, libraries, processors, refused, symbols
from tests.binaries.loads.cases import CASES, Case

__all__ = ["CASES", "Case", "files", "libraries", "processors", "refused", "symbols"]
