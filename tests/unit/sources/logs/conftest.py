"""What is read of logs is held against the shipped rules, as in tests/unit/judging/explain."""

from __future__ import annotations

from tests.unit.judging.explain.conftest import knowledge, matcher, read

__all__ = ["knowledge", "matcher", "read"]
