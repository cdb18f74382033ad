"""LOCAL_KERNELS: what it says, and which builds lie in the folders that it names."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from fadoctor.sources.hub.local import ITSELF, Named, locate_local, parse_local, read_local
from tests.unit.sources.hub.caches import lay

FLASH = "kernels-community/flash-attn2"
BUILD = "torch212-cxx11-cu130-x86_64-linux"


@pytest.mark.parametrize(
    ("text", "named"),
    [
        (f"{FLASH}=/k", Named({FLASH: "/k"})),
        ("a/b=/k:c/d=/l=m", Named({"a/b": "/k", "c/d": "/l=m"})),
        ("a/b=/k:a/b=/l", Named({"a/b": "/l"})),
        ("/k", Named({}, ("/k",))),
        ("a/b=/k:", Named({"a/b": "/k"}, ("",))),
        ("a=/k:a b/c=/k", Named({})),
        (":".join(f"a/b{n}=/k" for n in range(1000)), None),
    ],
)
def test_it_is_read_as_kernels_reads_it(text: str, named: Named | None) -> None:
    found = parse_local(text)
    assert found == named if named is not None else len(found.folders) == 16


def read(folder: Path) -> dict[str, str]:
    named = Named({FLASH: str(folder)})
    kernels = read_local(named, Path)
    return {each.branch: " ".join(each.builds) for each in kernels}


def test_a_snapshot_what_builds_lie_in_and_a_build_itself(tmp_path: Path) -> None:
    builds = lay(tmp_path, FLASH, "v3", {BUILD: ["8.0"]})
    assert read(builds.parent) == {"v3": BUILD}
    assert read(builds) == {"v3": BUILD}
    assert read(builds / BUILD) == {"v3": ITSELF}
    named = Named({FLASH: str(builds.parent)})
    found = locate_local(named, tmp_path.joinpath, f"{FLASH}@v3", BUILD)
    assert found == builds / BUILD
    assert locate_local(named, tmp_path.joinpath, "a/b@v3", BUILD) is None


def test_what_is_no_folder_of_builds_has_none(tmp_path: Path) -> None:
    (tmp_path / "photos").mkdir()
    (tmp_path / "loop").symlink_to(tmp_path / "loop")
    (tmp_path / "metadata.json").write_text(json.dumps([1]))
    assert read(tmp_path) == {"local": ""}
    assert read(tmp_path / "nowhere") == {"local": ""}
    assert read(tmp_path / "loop") == {"local": ""}
