"""Who owns which file, by the lists that installers leave; what these name outside counts not."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest

from fadoctor.repair.apply.ownership import (
    claimed_outside,
    claims,
    in_packages,
    installed,
    is_compiled,
    source_of,
)

if TYPE_CHECKING:
    from pathlib import Path

    from fadoctor.repair.apply.ownership import Claims

SITE = "lib/python3.11/site-packages"


def claimed(prefix: Path, info: str, **files: str) -> Claims:
    folder = prefix / SITE / info
    folder.mkdir(parents=True)
    for name, text in files.items():
        (folder / name).write_text(text)
    [several] = installed(prefix).values()
    return claims(prefix, prefix, several[0])


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        (f"{SITE}/torch/version.py", True),
        (f"{SITE}/torch", True),
        (SITE, False),
        ("lib/site-packages/torch", True),
        ("lib64/python3/dist-packages/x.py", True),
        ("lib/mine/model.py", False),
        ("lib/a/b/site-packages/x", False),
        ("runs/site-packages/x", False),
        ("train.py", False),
    ],
)
def test_where_packages_are(path: str, *, expected: bool) -> None:
    assert in_packages(path) is expected


def test_compiled_files_belong_to_their_sources() -> None:
    assert source_of("a/__pycache__/b.cpython-311.opt-1.pyc") == "a/b.py"
    assert source_of("a/b.py") == "a/b.py"
    assert is_compiled("a/__pycache__")
    assert is_compiled("a/__pycache__/b.cpython-311.pyc")
    assert not is_compiled("a/b.pyc")


def test_a_record_names_scripts_and_data(tmp_path: Path) -> None:
    record = (
        "tool/__init__.py,sha256=x,1\n../../../bin/tool,,\n../../../share/man/tool.1,,\n"
        f'{tmp_path}/etc/tool.conf,,\n"tool/a,b.py",,\ntool/x.data/y,,\n'
    )
    owned = claimed(tmp_path, "tool-1.dist-info", RECORD=record)
    for path in ("bin/tool", "share/man/tool.1", "etc/tool.conf", f"{SITE}/tool/a,b.py"):
        assert owned.own(path)
    assert owned.own(f"{SITE}/tool/x.data/y")
    assert owned.own(f"{SITE}/tool/__pycache__/__init__.cpython-311.pyc")
    assert owned.own(f"{SITE}/tool-1.dist-info/METADATA")
    assert not owned.own(f"{SITE}/tool/mine.py")
    outside = {"bin/tool", "share/man/tool.1", "etc/tool.conf"}
    assert claimed_outside(tmp_path, tmp_path, {"tool"}) == outside
    assert claimed_outside(tmp_path, tmp_path, {"other"}) == set()


@pytest.mark.parametrize(
    "row",
    [
        "../../../../outside",
        "/etc/passwd",
        "../../..",
        "x.data/data/../../etc/x",
        "\0",
        "",
        '"' + "x" * 200_000,
        '"\0"',
    ],
)
def test_a_record_reaches_nothing_outside(tmp_path: Path, row: str) -> None:
    owned = claimed(tmp_path, "tool-1.dist-info", RECORD=f"tool.py,,\n{row},,\n")
    assert all(not path.startswith(("..", "/")) for path in owned.files)


def test_a_wheel_that_is_being_unpacked_says_where_its_files_will_be(tmp_path: Path) -> None:
    """An installer that is killed has not yet written the list as it will be."""
    rows = ("data/share/notes.txt", "scripts/tool", "purelib/tool.py", "headers/tool.h")
    record = "".join(f"tool-1.data/{row},,\n" for row in rows)
    owned = claimed(tmp_path, "tool-1.dist-info", RECORD=record)
    assert {"share/notes.txt", "bin/tool", f"{SITE}/tool.py"} <= owned.files


def test_entry_points_are_scripts(tmp_path: Path) -> None:
    text = "[console_scripts]\ntool = tool:main\n../evil = x\n[other]\nthing = x\n"
    folder = tmp_path / SITE / "tool-1.dist-info"
    folder.mkdir(parents=True)
    (folder / "entry_points.txt").write_text(text)
    [[one]] = installed(tmp_path).values()
    owned = claims(tmp_path, tmp_path, one)
    assert owned.own("bin/tool")
    assert not owned.own("bin/thing")
    assert not any("evil" in path for path in owned.files)


def test_without_a_list_the_name_decides(tmp_path: Path) -> None:
    owned = claimed(tmp_path, "My_Tool-1.dist-info", METADATA="Name: my-tool\n")
    assert owned.own(f"{SITE}/my_tool/part.py")
    assert owned.own(f"{SITE}/my_tool.py")
    assert not owned.own(f"{SITE}/my_toolbox/part.py")


def test_an_egg_has_a_list_of_its_own(tmp_path: Path) -> None:
    folder = tmp_path / SITE / "tool-1-py3.11.egg-info"
    folder.mkdir(parents=True)
    (folder / "installed-files.txt").write_text("../tool/__init__.py\n../../../../bin/tool\n")
    [[one]] = installed(tmp_path).values()
    assert (one.name, one.version) == ("tool", "1")
    owned = claims(tmp_path, tmp_path, one)
    assert owned.own(f"{SITE}/tool/__init__.py")
    assert owned.own("bin/tool")


def test_a_list_that_is_a_named_pipe_is_not_waited_for(tmp_path: Path) -> None:
    folder = tmp_path / SITE / "tool-1.dist-info"
    folder.mkdir(parents=True)
    os.mkfifo(folder / "RECORD")
    [[one]] = installed(tmp_path).values()
    assert claims(tmp_path, tmp_path, one).own(f"{SITE}/tool/x.py")
