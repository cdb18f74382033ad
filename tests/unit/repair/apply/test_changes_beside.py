"""What another installer has half written, or half removed, is not what the fix changed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fadoctor.repair.apply.changes import find_changes
from fadoctor.repair.apply.snapshot import take
from fadoctor.repair.apply.store import Store

if TYPE_CHECKING:
    from pathlib import Path

SITE = "lib/python3.11/site-packages"


def add(prefix: Path, name: str, version: str) -> None:
    """Install a package as pip does."""
    site = prefix / SITE
    (site / name).mkdir(parents=True)
    (site / name / "__init__.py").write_text(version)
    info = site / f"{name}-{version}.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(f"Name: {name}\nVersion: {version}\n")
    (info / "RECORD").write_text(f"{name}/__init__.py,,\n{info.name}/RECORD,,\n")


def test_only_what_is_in_a_list_is_of_a_step_that_came_to_its_end(tmp_path: Path) -> None:
    store = Store(tmp_path.resolve())
    add(store.prefix, "other", "1")
    store.folder.mkdir()
    take(store, planned=("wanted",))
    add(store.prefix, "wanted", "2")
    site = store.prefix / SITE
    (site / "half").mkdir()
    (site / "half" / "part.py").write_text("half of it\n")
    (site / "other-1.dist-info").rename(site / "~ther-1.dist-info")
    (site / "wanted" / "__pycache__").mkdir()
    (site / "wanted" / "__pycache__" / "__init__.cpython-311.pyc").write_bytes(b"x")
    ended = find_changes(store, 0, ("wanted",), whole=True)
    paths = {path.removeprefix(f"{SITE}/").partition("/")[0] for path in ended.by_path()}
    assert paths == {"wanted", "wanted-2.dist-info", "other-1.dist-info"}
    assert [one.version for one in ended.installed["other"]] == ["1"]  # so it is left to others
    killed = find_changes(store, 0, ("wanted",))
    assert f"{SITE}/half/part.py" in killed.by_path()  # perhaps of the step itself
