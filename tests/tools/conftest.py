"""What tests of the refresh share: a tiny index on the loopback."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.tools.tiny_index import TinyIndex

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@pytest.fixture(autouse=True)
def _no_proxy(monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest) -> None:
    if request.node.get_closest_marker("network") is None:
        monkeypatch.setenv("no_proxy", "127.0.0.1")


@pytest.fixture
def index(tmp_path: Path) -> Iterator[TinyIndex]:
    with TinyIndex(tmp_path / "served") as served:
        yield served
