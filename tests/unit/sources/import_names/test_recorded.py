"""When a file is what its distribution's RECORD says, so that it need not be read."""

from __future__ import annotations

import base64
import hashlib
import os
from typing import TYPE_CHECKING

import pytest

from fadoctor.sources.import_names.child._fadoctor_recorded import Recorded
from fadoctor.sources.import_names.child._fadoctor_shipped import digest_of

if TYPE_CHECKING:
    from pathlib import Path

TEXT = b"def f():\n    return 1\n"


@pytest.fixture
def site(tmp_path: Path) -> Path:
    """Return a folder of packages with one of them and its RECORD, which was written last."""
    (tmp_path / "part").mkdir()
    (tmp_path / "part" / "a.py").write_bytes(TEXT)
    digest = base64.urlsafe_b64encode(hashlib.sha256(TEXT).digest()).rstrip(b"=").decode()
    (tmp_path / "part-1.dist-info").mkdir()
    (tmp_path / "part-1.dist-info" / "RECORD").write_text(
        f"part/a.py,sha256={digest},{len(TEXT)}\npart/b.py,sha256=*,{len(TEXT)}\npart/c.py,,\n"
    )
    return tmp_path


def asked(site: Path, name: str = "part/a.py", size: int = len(TEXT), later_ns: int = 0) -> str:
    record = site / "part-1.dist-info" / "RECORD"
    found = record.stat()
    written = min(found.st_mtime_ns, found.st_ctime_ns)
    return Recorded(str(record)).digest_of(str(site / name), size, written + later_ns)


def test_what_was_installed_has_the_digest_of_its_text(site: Path) -> None:
    assert asked(site) == digest_of(TEXT)


@pytest.mark.parametrize(
    ("name", "size", "later_ns"),
    [
        ("part/a.py", len(TEXT) + 1, 0),
        ("part/a.py", len(TEXT), 1),
        ("part/b.py", len(TEXT), 0),
        ("part/c.py", len(TEXT), 0),
        ("part/d.py", len(TEXT), 0),
        ("../a.py", len(TEXT), 0),
    ],
)
def test_of_anything_else_nothing_is_known(site: Path, name: str, size: int, later_ns: int) -> None:
    assert asked(site, name, size, later_ns) == ""


def test_a_record_that_cannot_be_read_tells_nothing(site: Path) -> None:
    os.remove(site / "part-1.dist-info" / "RECORD")  # noqa: PTH107 -- a link would be followed
    missing = Recorded(str(site / "part-1.dist-info" / "RECORD"))
    assert missing.digest_of(str(site / "part" / "a.py"), len(TEXT), 0) == ""
