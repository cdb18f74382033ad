"""A link that leads out of what a snapshot holds is refused; one that does not is no matter."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest

from fadoctor.model.errors import UsageError
from fadoctor.repair.apply.links import refuse_links
from tests.unit.repair.apply.trees import manifest
from tests.unit.repair.apply.wheels import tiny

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.skipif(os.name != "posix", reason="the layout of POSIX")

SITE = "lib/python3.11/site-packages"


@pytest.fixture
def env(tmp_path: Path, wheels: Path) -> Path:
    """Return an environment of two packages, one with files outside of site-packages."""
    folder = tmp_path / "env"
    (folder / SITE).mkdir(parents=True)
    (folder / "bin").mkdir()
    tiny(folder, wheels, "install", "moved==1", "gone==1")
    return folder


def lead_away(path: Path, target: Path) -> None:
    """Move a folder elsewhere and put a link in its place."""
    target.parent.mkdir(parents=True, exist_ok=True)
    path.rename(target)
    path.symlink_to(target)


OWNED = ("lib", "lib/python3.11", SITE, f"{SITE}/moved", f"{SITE}/moved-1.dist-info",
         "bin", "share", "share/moved", "share/moved/1")  # fmt: skip


@pytest.mark.parametrize("folder", OWNED)
@pytest.mark.parametrize("inside", [False, True])
def test_what_an_installer_writes_through_is_refused(
    env: Path, tmp_path: Path, folder: str, *, inside: bool
) -> None:
    """Undo said that all was as before, when nothing had been brought back."""
    lead_away(env / folder, (env if inside else tmp_path) / "elsewhere" / "it")
    before = manifest(env)
    with pytest.raises(UsageError, match=f"/{folder} is a link to .*nothing was changed"):
        refuse_links(env)
    assert manifest(env) == before


def test_a_link_to_another_folder_with_packages_is_no_matter(env: Path) -> None:
    (env / "lib64").symlink_to("lib")
    (env / "lib" / "python3").symlink_to("python3.11")
    (env / SITE).rename(env / "lib" / "python3.11" / "dist-packages")
    (env / SITE).symlink_to("dist-packages")
    refuse_links(env)


@pytest.mark.parametrize("name", ["mine", "bin/mine", f"{SITE}/mine", "lib/mine", "share/mine"])
def test_a_link_of_the_project_is_no_matter(env: Path, tmp_path: Path, name: str) -> None:
    """Data on another disk, a package under development: no installer knows of them."""
    (tmp_path / "data").mkdir()
    (env / name).symlink_to(tmp_path / "data")
    refuse_links(env)


def test_links_to_files_are_no_matter(env: Path, tmp_path: Path) -> None:
    """As uv makes them in its link mode for symbolic links."""
    for path in [path for path in (env / SITE).rglob("*") if path.is_file()]:
        lead_away(path, tmp_path / "cache" / path.relative_to(env))
    refuse_links(env)


def test_a_link_to_the_whole_environment_is_no_matter(env: Path, tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(env)
    refuse_links(tmp_path / "link")


def test_a_loop_and_a_link_to_nothing_end(env: Path) -> None:
    (env / "share" / "loop").symlink_to("loop")
    (env / "etc").symlink_to("/nowhere/at/all")
    refuse_links(env)
