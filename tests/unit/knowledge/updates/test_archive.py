"""What a release of rules may hold, and everything else that an archive can."""

from __future__ import annotations

import hashlib
import os
import stat
import warnings
import zipfile
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fadoctor.knowledge.updates import FOLDER, FORMAT, ReleaseError, archive
from fadoctor.knowledge.updates.archive import read_folder, read_wheel
from tests.unit.knowledge.updates.wheels import KNOWLEDGE, SAID, plain, said, with_mode, write

if TYPE_CHECKING:
    from pathlib import Path

INFO = f"{FOLDER}-1.2026.12.1.dist-info"


def refused(path: Path) -> str:
    with pytest.raises(ReleaseError) as caught:
        read_wheel(path)
    assert str(caught.value).isprintable()
    return str(caught.value)


def test_a_release_is_its_rules_its_version_and_its_hash(tmp_path: Path) -> None:
    more = {f"{FOLDER}/README.md": b"", f"{INFO}/METADATA": b"", f"{INFO}/licenses/LICENSE": b""}
    path = write(
        tmp_path / "a.whl", {**plain(), f"{FOLDER}/rules/gpu/a-rule.yaml": b"id: a", **more}
    )
    found = read_wheel(path)
    assert found.version == "2026.12.1"
    assert found.sha256 == hashlib.sha256(path.read_bytes()).hexdigest()
    assert found.files == {"knowledge.yaml": b'version: "2026.12.1"\n', "gpu/a-rule.yaml": b"id: a"}


@pytest.mark.parametrize(
    "name",
    [
        "../outside.yaml",
        "/etc/outside.yaml",
        f"{FOLDER}/rules/../../outside.yaml",
        f"{FOLDER}/rules/gpu/../../../outside.yaml",
        f"{FOLDER}/rules/gpu/deeper/a-rule.yaml",
        f"{FOLDER}/rules/gpu\\a-rule.yaml",
        f"{FOLDER}/rules/gpu/a-rule.py",
        f"{FOLDER}/__init__.py",
        f"{FOLDER}/rules/gpu/.hidden.yaml",
        f"{FOLDER}/rules/gpu/a-rule.yaml\n",
        f"{FOLDER}/rules/gpu/A\x1b[31m.yaml",
        "fadoctor/interfaces/cli/app.py",
        "evil.pth",
        "sitecustomize.py",
        f"{INFO}/entry_points.txt",
        f"{FOLDER}-1.2026.12.1.data/scripts/fadoctor",
    ],
)
def test_a_name_that_has_no_place_in_a_release_is_refused(tmp_path: Path, name: str) -> None:
    assert "holds no such file" in refused(write(tmp_path / "a.whl", {**plain(), name: b"x"}))


@pytest.mark.parametrize("kind", [stat.S_IFLNK, stat.S_IFCHR, stat.S_IFIFO, stat.S_IFDIR])
def test_links_and_devices_are_refused(tmp_path: Path, kind: int) -> None:
    path = tmp_path / "a.whl"
    path.write_bytes(with_mode(f"{FOLDER}/rules/gpu/a-rule.yaml", kind | 0o777, b"/etc/passwd"))
    assert "a link or a device" in refused(path)


def test_what_is_compressed_in_a_rare_way_or_locked_is_refused(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "a.whl", "w", zipfile.ZIP_LZMA) as opened:
        for name, content in plain().items():
            opened.writestr(name, content)
    assert "compressed in a way" in refused(tmp_path / "a.whl")
    path = write(tmp_path / "b.whl", plain())
    data = bytearray(path.read_bytes())
    data[data.index(b"PK\x01\x02") + 8] |= 1  # the flag of encryption
    data[6] |= 1
    path.write_bytes(data)
    assert "not a wheel that can be read" in refused(path)


def test_sizes_are_bounded_by_what_comes_out_not_by_what_is_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    bomb = write(tmp_path / "a.whl", plain(**{"rules/gpu/a-rule.yaml": b" " * 3_000_000}))
    assert bomb.stat().st_size < 10_000
    monkeypatch.setattr(archive, "SIZE_LIMIT", 2_000_000)
    assert "larger than" in refused(bomb)
    monkeypatch.undo()
    assert read_wheel(bomb).version
    monkeypatch.setattr(archive, "TOTAL_LIMIT", 1_000_000)
    assert "larger than" in refused(bomb)
    monkeypatch.undo()
    monkeypatch.setattr(archive, "ARCHIVE_LIMIT", 100)
    assert "no file of a sane size" in refused(bomb)
    monkeypatch.undo()
    monkeypatch.setattr(archive, "COUNT_LIMIT", 2)
    assert "too many" in refused(bomb)


def test_a_name_that_comes_twice_is_refused(tmp_path: Path) -> None:
    path = write(tmp_path / "a.whl", plain())
    with warnings.catch_warnings(), zipfile.ZipFile(path, "a") as opened:
        warnings.simplefilter("ignore")
        opened.writestr(KNOWLEDGE, b"version: other")
    assert "one twice" in refused(path)


@pytest.mark.parametrize(
    ("content", "text"),
    [
        (b"{", "is not right"),
        (b"[" * 100_000, "is not right"),
        (b'{"version": "2026.12.1"}', "is not right"),
        (said("latest"), "not a version of rules"),
        (said("2026.12.1/../../x"), "not a version of rules"),
        (said("2026.12.1", FORMAT + 1), "a newer fadoctor reads them"),
        (said("2026.12.1", 0), "they are too old"),
    ],
)
def test_what_a_release_says_of_itself_must_be_understood(
    tmp_path: Path, content: bytes, text: str
) -> None:
    assert text in refused(write(tmp_path / "a.whl", {**plain(), SAID: content}))


def test_what_is_no_archive_or_holds_no_rules_is_refused(tmp_path: Path) -> None:
    assert "no file of a sane size" in refused(tmp_path / "missing.whl")
    assert "no file of a sane size" in refused(tmp_path)
    os.mkfifo(tmp_path / "pipe.whl")
    assert "no file of a sane size" in refused(tmp_path / "pipe.whl")
    (tmp_path / "text.whl").write_text("hello")
    assert "not a wheel that can be read" in refused(tmp_path / "text.whl")
    assert "holds no rules" in refused(write(tmp_path / "a.whl", {SAID: said()}))


@given(place=st.integers(0, 10_000), byte=st.integers(0, 255), cut=st.booleans())
@pytest.mark.property
def test_a_damaged_archive_is_refused_or_read_and_nothing_else(
    tmp_path_factory: pytest.TempPathFactory, *, place: int, byte: int, cut: bool
) -> None:
    folder = tmp_path_factory.getbasetemp()
    data = bytearray(write(folder / "whole.whl", plain(**{"rules/a/b.yaml": b"x: 1"})).read_bytes())
    at = place % len(data)
    if cut:
        del data[at:]
    else:
        data[at] = byte
    (folder / "damaged.whl").write_bytes(data)
    try:
        found = read_wheel(folder / "damaged.whl")
    except ReleaseError:
        return
    assert found.version


def test_a_folder_that_an_installer_unpacked_is_read_the_same(tmp_path: Path) -> None:
    for name, data in plain(**{"rules/gpu/a-rule.yaml": b"id: a"}).items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
    (tmp_path / "other").mkdir()
    found = read_folder(tmp_path)
    assert sorted(found.files) == ["gpu/a-rule.yaml", "knowledge.yaml"]
    assert read_folder(tmp_path) == found
    (tmp_path / FOLDER / "rules" / "gpu" / "b-rule.yaml").symlink_to("/etc/passwd")
    with pytest.raises(ReleaseError, match="a link has no place"):
        read_folder(tmp_path)
    (tmp_path / FOLDER / "rules" / "gpu" / "b-rule.yaml").unlink()
    (tmp_path / FOLDER / "code.py").write_text("")
    with pytest.raises(ReleaseError, match="no such file"):
        read_folder(tmp_path)
    with pytest.raises(ReleaseError, match="cannot be read"):
        read_folder(tmp_path / "nowhere")


@pytest.mark.parametrize("name", ["rules", f"rules/{'gpu'}", "rules/gpu/a-rule.yaml", ""])
def test_a_folder_with_a_link_on_the_way_is_refused(tmp_path: Path, name: str) -> None:
    """The folder of rules itself could be a link to any folder."""
    real = tmp_path / "real" / FOLDER
    (real / "rules" / "gpu").mkdir(parents=True)
    (real / "release.json").write_bytes(said())
    (real / "rules" / "knowledge.yaml").write_text('version: "2026.12.1"\n')
    (real / "rules" / "gpu" / "a-rule.yaml").write_text("id: a")
    assert read_folder(tmp_path / "real").files
    moved = tmp_path / "elsewhere"
    (real / name).rename(moved)
    (tmp_path / "real" / FOLDER / name if name else real).symlink_to(moved)
    with pytest.raises(ReleaseError, match="a link has no place"):
        read_folder(tmp_path / "real")


def test_a_folder_with_a_pipe_in_it_is_refused(tmp_path: Path) -> None:
    (tmp_path / FOLDER / "rules").mkdir(parents=True)
    os.mkfifo(tmp_path / FOLDER / "rules" / "knowledge.yaml")
    with pytest.raises(ReleaseError, match="not a regular file"):
        read_folder(tmp_path)


@pytest.mark.parametrize("where", ["checksum", "local name", "signature", "directory", "offset"])
def test_an_archive_whose_parts_contradict_each_other_is_refused(
    tmp_path: Path, where: str
) -> None:
    path = tmp_path / "a.whl"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_STORED) as opened:
        for name, content in plain().items():
            opened.writestr(name, content)
    data = bytearray(path.read_bytes())
    central, end = data.index(b"PK\x01\x02"), data.index(b"PK\x05\x06")
    place, byte = {
        "checksum": (data.index(b"2026.12.1"), 0x39),
        "local name": (30, 0x78),
        "signature": (2, 0x63),
        "directory": (central + 2, 0x63),
        "offset": (end + 16, 0x01),
    }[where]
    data[place] = byte
    path.write_bytes(data)
    assert "not a wheel that can be read" in refused(path)


def test_members_that_share_their_bytes_are_bounded_together(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Many entries of the directory may lead to one small member: a bomb without a large part."""
    members = {f"{FOLDER}/rules/gpu/r{n}.yaml": b" " * 900_000 for n in range(8)}
    bomb = write(tmp_path / "a.whl", {**plain(), **members})
    monkeypatch.setattr(archive, "TOTAL_LIMIT", 3_000_000)
    assert "larger than a release" in refused(bomb)
