"""What the tests of smoke runs ask for by name."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.smoke.smoke_recordings import TARGET

if TYPE_CHECKING:
    from fadoctor.model.environment import Target


@pytest.fixture
def target() -> Target:
    return TARGET
