"""Which files of a list are not there."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hypothesis import given
from hypothesis import strategies as st

from fadoctor.sources.probes import missing
from fadoctor.sources.probes.missing import find_missing

if TYPE_CHECKING:
    from pathlib import Path

    import pytest

NAMES = [f"{folder}f{number}.py" for folder in ("", "a/", "a/b/", "c/") for number in range(6)]


@given(there=st.sets(st.sampled_from(NAMES)))
def test_a_listing_finds_what_asking_for_each_file_finds(
    tmp_path_factory: pytest.TempPathFactory, there: set[str]
) -> None:
    root = tmp_path_factory.mktemp("site")
    for name in there:
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).touch()
    assert find_missing(str(root), NAMES) == [name for name in NAMES if name not in there]


def test_a_link_that_leads_nowhere_is_missing(tmp_path: Path) -> None:
    """Installers that link files into their cache leave such ones when the cache is emptied."""
    paths = [f"torch/{number}.py" for number in range(9)]
    (tmp_path / "torch").mkdir()
    (tmp_path / "torch/target").touch()
    for number, path in enumerate(paths):
        (tmp_path / path).symlink_to("target" if number % 2 else "gone")
    assert find_missing(str(tmp_path), paths) == paths[::2]


def test_what_a_listing_does_not_reach_is_asked_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(missing, "_ENTRIES", 2)
    paths = [f"{number}.py" for number in range(9)]
    for path in paths[:-1]:
        (tmp_path / path).touch()
    assert find_missing(str(tmp_path), paths) == ["8.py"]


def test_names_that_no_system_takes_are_not_called_missing(tmp_path: Path) -> None:
    paths = [f"a\0b/{number}" for number in range(5)]
    assert find_missing(str(tmp_path), paths) == []
    assert find_missing(str(tmp_path), ["x" * 5_000]) == []
