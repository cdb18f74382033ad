"""From what a draw begins, and where what it fetched stays."""

from __future__ import annotations

import os
from datetime import datetime, timezone
from pathlib import Path


def seed() -> str:
    """Return the day, or another draw that ``FADOCTOR_TESTS_SEED`` names."""
    named = os.environ.get("FADOCTOR_TESTS_SEED", "")
    return named or datetime.now(timezone.utc).date().isoformat()


def cache(otherwise: Path) -> Path:
    """Return the folder of ``FADOCTOR_REFRESH_CACHE``, or one of the test."""
    named = os.environ.get("FADOCTOR_REFRESH_CACHE", "")
    return Path(named) if named else otherwise
