"""What another installer has half written, or half removed, is not what the fix changed."""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING

from fadoctor.repair.apply.changes import find_changes
from fadoctor.repair.apply.ownership import installed
from fadoctor.repair.apply.snapshot import take
from fadoctor.repair.apply.store import Store
from fadoctor.repair.apply.strangers import strangers

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


def test_what_a_shared_package_requires_is_of_the_step(tmp_path: Path) -> None:
    """Regression: it was left behind, for nothing in the environment itself asks for it."""
    base, store = tmp_path.resolve() / "base", Store(tmp_path.resolve() / "venv")
    add(base, "hub", "1")
    (base / SITE / "hub-1.dist-info" / "METADATA").write_text(
        "Name: hub\nVersion: 1\nRequires-Dist: xet>=1; platform_machine == 'x86_64'\n"
    )
    add(store.prefix, "old", "1")
    for shared, left in (("true", set()), ("false", {"xet"})):
        (store.prefix / "pyvenv.cfg").write_text(
            f"home = {base / 'bin'}\ninclude-system-site-packages = {shared}\n"
        )
        was = installed(store.prefix)
        add(store.prefix, "tokens", shared)
        info = store.prefix / SITE / f"tokens-{shared}.dist-info"
        (info / "METADATA").write_text("Name: tokens\nVersion: 1\nRequires-Dist: hub\n")
        add(store.prefix, "xet", shared)
        now = installed(store.prefix)
        assert strangers(store, was, now, ("tokens",), whole=True) == left
        for name in ("tokens", "xet"):
            shutil.rmtree(store.prefix / SITE / name)
            shutil.rmtree(store.prefix / SITE / f"{name}-{shared}.dist-info")
