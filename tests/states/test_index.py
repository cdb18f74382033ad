"""The index for the resolver says what the tables say, whatever was installed before."""

from __future__ import annotations

import zipfile
from typing import TYPE_CHECKING

from tests.states.tiny_packages import Offer
from tests.unit.repair.plan.problems import session

if TYPE_CHECKING:
    from pathlib import Path


def test_what_is_installed_replaces_no_release_that_a_table_knows(tmp_path: Path) -> None:
    """Seen: a torch with the requirements of another Python changed the next state's index."""
    offer = Offer(session().matrix, "3.13", tmp_path)
    offer.also("torch", "2.5.1", {"triton": "==3.1.0"})
    with zipfile.ZipFile(offer.place("") / "torch-2.5.1-py3-none-any.whl") as wheel:
        text = wheel.read("torch-2.5.1.dist-info/METADATA").decode()
    assert "triton" not in text  # required below Python 3.13 only
