"""What tests of the refresh share: a tiny index on the loopback, and the network marker."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest

from tests.tools.tiny_index import TinyIndex

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


def pytest_runtest_setup(item: pytest.Item) -> None:
    """Leave the network alone unless the caller asks for it."""
    required = os.environ.get("FADOCTOR_TESTS_REQUIRE", "").split(",")
    if item.get_closest_marker("network") is not None and "network" not in required:
        pytest.skip("needs a package index; set FADOCTOR_TESTS_REQUIRE=network")


@pytest.fixture(autouse=True)
def _no_proxy(monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest) -> None:
    if request.node.get_closest_marker("network") is None:
        monkeypatch.setenv("no_proxy", "127.0.0.1")


@pytest.fixture
def index(tmp_path: Path) -> Iterator[TinyIndex]:
    with TinyIndex(tmp_path / "served") as served:
        yield served
