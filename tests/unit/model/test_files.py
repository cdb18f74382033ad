"""The one door to files: regular ones, bounded, below a fence where there is one."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import pytest

from fadoctor.model import files
from fadoctor.model.files import NotRegularError, OutsideError, open_file, read_bytes, read_file

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="pipes, devices and links of Linux")

WAYS = {"openat2": files._by_openat2, "steps": files._by_steps}


@pytest.fixture(params=list(WAYS))
def way(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Open below a fence in one of the two ways."""
    monkeypatch.setattr(files, "_opener", lambda: WAYS[request.param])
    return str(request.param)


@pytest.fixture
def inside(tmp_path: Path) -> Path:
    """Return a folder with files and links, and a secret beside it."""
    folder = tmp_path / "served"
    (folder / "deep" / "er").mkdir(parents=True)
    (folder / "file").write_text("ours")
    (folder / "deep" / "file").write_text("ours")
    (tmp_path / "secret").write_text("secret")
    (tmp_path / "served-not").mkdir()
    (tmp_path / "served-not" / "secret").write_text("secret")
    (folder / "absolute").symlink_to(tmp_path / "secret")
    (folder / "relative").symlink_to("../secret")
    (folder / "out").symlink_to("..")
    (folder / "deep" / "chain").symlink_to("../out")
    (folder / "home").symlink_to("deep/../file")
    (folder / "far").symlink_to(folder / "deep" / "file")
    (folder / "circle").symlink_to("circle")
    (folder / "proc").symlink_to("/proc/self/root" + str(tmp_path / "secret"))
    return folder


@pytest.mark.usefixtures("way")
@pytest.mark.parametrize(
    "name",
    [
        "../secret", "absolute", "relative", "out/secret", "deep/chain/secret", "proc",
        "deep/../../secret", "../served-not/secret", "/etc/passwd", "../no-such-file", "/no/such",
        "/proc/self/environ", "./deep/./er/../../../secret",
    ],
)  # fmt: skip
def test_nothing_leads_out_of_a_fence(inside: Path, name: str) -> None:
    """Also whether there is such a file is not told."""
    with pytest.raises(OutsideError, match="is outside of the folder"):
        open_file(inside / name, str(inside))


@pytest.mark.usefixtures("way")
@pytest.mark.parametrize(
    "name",
    ["file", "deep/file", "home", "far", "deep/../file", "../served/file", "deep/er/../file"],
)
def test_what_lies_inside_is_read_whatever_leads_there(inside: Path, name: str) -> None:
    assert read_bytes(inside / name, 100, str(inside)) == b"ours"


@pytest.mark.usefixtures("way")
def test_a_fence_may_be_reached_by_a_link_itself(inside: Path) -> None:
    link = inside.parent / "link"
    link.symlink_to(inside)
    assert read_bytes(link / "file", 100, str(link)) == b"ours"
    assert read_bytes(inside / "file", 100, str(link)) == b"ours"
    assert read_bytes(inside / "file", 100, "/") == b"ours"
    with pytest.raises(FileNotFoundError):
        open_file(inside / "gone", str(inside))
    with pytest.raises(OSError, match=r"Too many levels|outside of the folder"):
        open_file(inside / "circle", str(inside))
    with pytest.raises(NotRegularError):
        open_file(inside, str(inside))


@pytest.mark.usefixtures("way")
def test_a_link_that_appears_meanwhile_leads_nowhere(
    inside: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = os.path.realpath

    def swapped(name: str | Path) -> str:
        found = real(name)
        if found.endswith("deep/file"):
            shutil.rmtree(inside / "deep")
            (inside / "deep").symlink_to(inside.parent / "served-not")
            (inside.parent / "served-not" / "file").write_text("secret")
        return found

    monkeypatch.setattr(os.path, "realpath", swapped)
    with pytest.raises(OutsideError):
        open_file(inside / "deep" / "file", str(inside))


def test_a_kernel_without_openat2_goes_step_by_step(
    inside: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(files, "_OPENAT2", 9_999)  # no such call: ENOSYS
    assert read_bytes(inside / "deep" / "file", 100, str(inside)) == b"ours"
    with pytest.raises(OutsideError):
        open_file(inside / "relative", str(inside))


def in_time(code: str, *arguments: str, pass_fds: tuple[int, ...] = ()) -> str:
    """Return what code prints in a process that may not hang."""
    argv = [sys.executable, "-c", f"import sys\nfrom fadoctor.model.files import *\n{code}"]
    return subprocess.run([*argv, *arguments], capture_output=True, text=True, timeout=60,
                          check=False, pass_fds=pass_fds).stdout  # fmt: skip


READ = "try: print(read_bytes(sys.argv[1], 9, sys.argv[2]))\nexcept OSError as e: print(e.strerror)"


@pytest.mark.parametrize("fenced", [True, False])
def test_what_is_no_file_is_not_waited_for(tmp_path: Path, *, fenced: bool) -> None:
    fence = str(tmp_path) if fenced else ""
    os.mkfifo(tmp_path / "pipe")
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(str(tmp_path / "socket"))
        for name in ("pipe", "socket"):
            said = in_time(READ, str(tmp_path / name), fence)
            assert said.strip() in ("is not a regular file", "No such device or address")
    for device in ("/dev/zero", "/dev/tty", "/dev/null"):
        if not fenced:
            assert in_time(READ, device, fence).strip() == "is not a regular file"
    assert "is a folder" in in_time(READ, str(tmp_path), fence)


def test_a_pipe_that_a_shell_opened_for_us_is_read_where_that_is_meant(tmp_path: Path) -> None:
    reader, writer = os.pipe()
    os.write(writer, b"piped")
    os.close(writer)
    code = "print(read_bytes(sys.argv[1], 9, pipes=True))"
    try:
        name = f"/dev/fd/{reader}"
        assert in_time(code, name, pass_fds=(reader,)) == "b'piped'\n"
        with pytest.raises(NotRegularError):
            open_file(name)
    finally:
        os.close(reader)
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(NotRegularError):
        open_file(tmp_path / "pipe", pipes=True)


def test_names_of_any_bytes_and_sizes_of_any_kind(tmp_path: Path) -> None:
    path = tmp_path / os.fsdecode(b"n\xff")
    path.write_bytes(b"12345\xff789")
    assert read_bytes(path, 4) == b"1234"
    assert read_bytes(path, 100, str(tmp_path)) == b"12345\xff789"
    assert read_file(path, 6) == "12345\ufffd"
    assert read_file(tmp_path / "gone", 6) is None
    assert read_file("a\0b", 6) is None
    assert read_file("/proc/self/stat", 4) is not None
    with pytest.raises(ValueError, match="null"):
        open_file("a\0b")


def test_no_descriptor_is_left_open(inside: Path) -> None:
    def count() -> int:
        return len(list(Path("/proc/self/fd").iterdir()))

    before = count()
    for name in ("file", "relative", "deep", "gone", "circle", "../secret"):
        for fence in ("", str(inside)):
            with suppress(OSError):
                os.close(open_file(inside / name, fence))
    assert count() == before
