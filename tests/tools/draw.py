"""From what a draw begins, which share is drawn, and where what it fetched stays."""

from __future__ import annotations

import os
import zlib
from datetime import date, datetime, timezone
from pathlib import Path

ROUNDS = 16
"""Runs that draw everything once. 7 does not divide it: runs each week come round as well."""


def named_seed() -> str:
    """Return the draw that ``FADOCTOR_TESTS_SEED`` names, "" without one.

    `.ci/run` names one, so that luck decides no landing; other runs draw anew.
    """
    return os.environ.get("FADOCTOR_TESTS_SEED", "")


def seed() -> str:
    """Return the named draw, or the day."""
    return named_seed() or datetime.now(timezone.utc).date().isoformat()


def turn(begin: str) -> int:
    """Return which share a draw takes: the next one each day; a word takes the one it falls on."""
    try:
        return date.fromisoformat(begin).toordinal() % ROUNDS
    except ValueError:
        return zlib.crc32(begin.encode()) % ROUNDS


def is_drawn(what: str, begin: str) -> bool:
    """Return whether something is in the share of a draw. The name decides, so all are in one."""
    return zlib.crc32(what.encode()) % ROUNDS == turn(begin)


def cache(otherwise: Path) -> Path:
    """Return the folder of ``FADOCTOR_REFRESH_CACHE``, or one of the test."""
    named = os.environ.get("FADOCTOR_REFRESH_CACHE", "")
    return Path(named) if named else otherwise
