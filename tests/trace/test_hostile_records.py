"""What a traced command leaves in the folder of its records is read, or said to be unreadable."""

from __future__ import annotations

import os
import subprocess
import sys
from typing import TYPE_CHECKING

import msgspec
import pytest

from fadoctor.model.trace import Record
from fadoctor.proof.trace.parent import read_processes

if TYPE_CHECKING:
    from pathlib import Path

GOOD = msgspec.json.encode(Record(7, None, ("python", "x.py")))


def test_a_good_record_among_bad_ones_is_read(tmp_path: Path) -> None:
    """A mark without a number was a ValueError, a link to nothing a FileNotFoundError."""
    (tmp_path / "7-1.json").write_bytes(GOOD)
    (tmp_path / "x-1.entered").write_text("python")
    (tmp_path / "99999999999999999999-1.entered").write_text("python")
    (tmp_path / "8-1.entered").symlink_to("gone")
    (tmp_path / "9-1.json").symlink_to("9-1.json")
    (tmp_path / "10-1.json").mkdir()
    (tmp_path / "11-1.json").write_bytes(b'{"pid": "\xff"}')
    (tmp_path / "12-1.json").write_bytes(b"[" * 100_000)
    (tmp_path / os.fsdecode(b"13\xff.json")).write_bytes(b"{}")
    (tmp_path / "14-1\x1b[2J.json").write_bytes(b"{}")
    (tmp_path / "a.started").write_bytes(b"why\0a\xff\0b\n" + b"\n" * 10)
    processes, problems = read_processes(tmp_path)
    assert [each.argv for each in processes if each.pid == 7] == [("python", "x.py")]
    assert {each.pid for each in processes} == {7, 8, None}
    assert len(problems) == 6
    assert all(each.isprintable() for each in problems)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no named pipes here")
def test_pipes_in_the_folder_are_not_waited_for(tmp_path: Path) -> None:
    for name in ("1-1.json", "2-1.entered", "3.started"):
        os.mkfifo(tmp_path / name)
    code = (
        "import sys\nfrom pathlib import Path\n"
        "from fadoctor.proof.trace.parent import read_processes\n"
        "print(len(read_processes(Path(sys.argv[1]))[1]))"
    )
    argv = [sys.executable, "-c", code, str(tmp_path)]
    done = subprocess.run(argv, capture_output=True, text=True, timeout=60, check=False)
    assert done.stdout == "1\n", done.stderr
