"""Environments on disk, read without running anything."""

from __future__ import annotations

from pathlib import Path

import pytest

from fadoctor.model.errors import TargetError
from fadoctor.sources.targets.layout import (
    find_python,
    is_conda_base,
    is_environment,
    is_tool_environment,
    prefix_of_python,
    require_present,
    same_folder,
    site_folders,
)


def make(folder: Path, *files: str) -> Path:
    """Make empty files below a folder; a name that ends with a slash is a folder."""
    for name in files:
        path = folder / name
        (path if name.endswith("/") else path.parent).mkdir(parents=True, exist_ok=True)
        if not name.endswith("/"):
            path.touch()
    return folder


def venv(folder: Path, config: str, *files: str) -> Path:
    make(folder, "bin/python", *files)
    (folder / "pyvenv.cfg").write_text(config)
    return folder


def names(folders: tuple[str, ...], base: Path) -> list[str]:
    return [str(Path(folder).relative_to(base)) for folder in folders]


@pytest.mark.parametrize(
    "file", ["pyvenv.cfg", "conda-meta/history", "lib/python3.12/os.py", "Lib/os.py"]
)
def test_environments_are_known_by_their_files(tmp_path: Path, file: str) -> None:
    assert is_environment(make(tmp_path, file))


def test_a_folder_with_packages_alone_is_no_environment(tmp_path: Path) -> None:
    assert not is_environment(make(tmp_path, "lib/python3.12/site-packages/", "bin/python"))


@pytest.mark.parametrize("file", ["uv-receipt.toml", "pipx_metadata.json"])
def test_installed_tools_are_known_by_their_receipts(tmp_path: Path, file: str) -> None:
    assert is_tool_environment(make(tmp_path, file))


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("/home/u/.cache/uv/archive-v0/e6xnn1oF", True),
        ("/home/u/.cache/uv/builds-v0/.tmphTl02K", True),
        ("/home/u/my-archive-v0-copy/venv", False),
        ("/home/u/project/.venv", False),
    ],
)
def test_caches_of_uv_are_known_by_a_part_of_the_path(path: str, expected: bool) -> None:  # noqa: FBT001
    assert is_tool_environment(path) is expected


def test_conda_base_holds_the_other_environments(tmp_path: Path) -> None:
    base = make(tmp_path / "conda", "conda-meta/history", "condabin/conda")
    other = make(base / "envs" / "llm", "conda-meta/history")
    assert is_conda_base(base)
    assert not is_conda_base(other)
    assert not is_conda_base(make(tmp_path / "venv", "envs/", "pyvenv.cfg"))


def test_the_interpreter_is_found_where_each_kind_keeps_it(tmp_path: Path) -> None:
    for name in ("bin/python3", "Scripts/python.exe", "python.exe"):
        prefix = make(tmp_path / name.replace("/", "-"), name)
        assert find_python(prefix) == prefix / name


def test_a_dangling_interpreter_is_none(tmp_path: Path) -> None:
    make(tmp_path, "bin/")
    (tmp_path / "bin" / "python").symlink_to("/nonexistent/python3.11")
    assert find_python(tmp_path) is None


def test_only_a_program_named_python_stands_for_its_environment(tmp_path: Path) -> None:
    prefix = venv(tmp_path / "venv", "home = /usr/bin\n", "bin/pip", "bin/python3.13t")
    assert prefix_of_python(prefix / "bin" / "python3.13t") == prefix
    assert prefix_of_python(prefix / "bin" / "pip") is None
    assert prefix_of_python(Path("/usr/bin/python3")) is None


def test_site_packages_of_a_virtual_environment(tmp_path: Path) -> None:
    prefix = venv(tmp_path, "version = 3.11.7\n", "lib/python3.11/site-packages/")
    (prefix / "lib64").symlink_to("lib")
    assert names(site_folders(prefix), tmp_path) == ["lib/python3.11/site-packages"]


def test_lib64_counts_where_it_is_another_folder(tmp_path: Path) -> None:
    folders = ("lib/python3.12/site-packages/", "lib64/python3.12/site-packages/")
    prefix = venv(tmp_path, "version = 3.12.1\n", *folders)
    assert names(site_folders(prefix), tmp_path) == [
        "lib/python3.12/site-packages",
        "lib64/python3.12/site-packages",
    ]


@pytest.mark.parametrize(
    "folder",
    ["lib/python3.13t/site-packages", "lib/pypy3.10/site-packages", "Lib/site-packages"],
)
def test_other_layouts(tmp_path: Path, folder: str) -> None:
    prefix = venv(tmp_path, "home = /usr/bin\n", f"{folder}/")
    assert names(site_folders(prefix), tmp_path) == [folder]


def test_the_version_of_pyvenv_cfg_chooses_among_folders(tmp_path: Path) -> None:
    folders = ("lib/python3.9/site-packages/", "lib/python3.11/site-packages/")
    prefix = venv(tmp_path, "version_info = 3.9.18.final.0\n", *folders)
    assert names(site_folders(prefix), tmp_path) == ["lib/python3.9/site-packages"]


def test_an_upgraded_environment_whose_pyvenv_cfg_was_not_still_has_its_folder(
    tmp_path: Path,
) -> None:
    prefix = venv(tmp_path, "version = 3.10.1\n", "lib/python3.11/site-packages/")
    assert names(site_folders(prefix), tmp_path) == ["lib/python3.11/site-packages"]


def test_conda_keeps_a_link_with_a_shorter_name(tmp_path: Path) -> None:
    """conda makes lib/python3.1 -> python3.11: read as a version it would win or lose wrongly."""
    folders = ("lib/python3.11/site-packages/", "lib/python3.9/site-packages/")
    make(tmp_path, "conda-meta/history", "bin/python3.9", *folders)
    (tmp_path / "lib" / "python3.1").symlink_to("python3.11")
    (tmp_path / "bin" / "python").symlink_to("python3.9")
    assert names(site_folders(tmp_path), tmp_path) == ["lib/python3.9/site-packages"]


def test_system_packages_follow_where_the_environment_sees_them(tmp_path: Path) -> None:
    base = make(
        tmp_path / "usr",
        "bin/python3",
        "lib/python3.11/os.py",
        "local/lib/python3.11/dist-packages/",
        "lib/python3/dist-packages/",
    )
    home = make(tmp_path / "home", ".local/lib/python3.11/site-packages/")
    config = f"home = {base}/bin\nInclude-System-Site-Packages = True\nversion = 3.11.2\n"
    prefix = venv(tmp_path / "venv", config, "lib/python3.11/site-packages/")
    assert names(site_folders(prefix, str(home)), tmp_path) == [
        "venv/lib/python3.11/site-packages",
        "home/.local/lib/python3.11/site-packages",
        "usr/local/lib/python3.11/dist-packages",
        "usr/lib/python3/dist-packages",
    ]


def test_system_packages_stay_away_otherwise(tmp_path: Path) -> None:
    config = "home = /usr/bin\ninclude-system-site-packages = false\nversion = 3.11.2\n"
    prefix = venv(tmp_path, config, "lib/python3.11/site-packages/")
    assert names(site_folders(prefix), tmp_path) == ["lib/python3.11/site-packages"]


@pytest.mark.parametrize("junk", [b"\0\xff\xfe" * 5000, b"=\n" * 9000, b"home = \0\nversion = x"])
def test_a_pyvenv_cfg_of_junk_hides_no_folder(tmp_path: Path, junk: bytes) -> None:
    prefix = venv(tmp_path, "", "lib/python3.11/site-packages/")
    (prefix / "pyvenv.cfg").write_bytes(junk + b"\ninclude-system-site-packages = true\n")
    assert names(site_folders(prefix), tmp_path) == ["lib/python3.11/site-packages"]


def test_only_the_head_of_a_huge_pyvenv_cfg_is_read(tmp_path: Path) -> None:
    prefix = venv(tmp_path, "", "lib/python3.11/site-packages/")
    with (prefix / "pyvenv.cfg").open("wb") as file:
        file.write(b"version = 3.11.7\n")
        file.truncate(100_000_000)
    assert names(site_folders(prefix), tmp_path) == ["lib/python3.11/site-packages"]


def test_a_pipe_in_place_of_pyvenv_cfg_does_not_block(tmp_path: Path) -> None:
    import os  # noqa: PLC0415

    make(tmp_path, "lib/python3.11/site-packages/")
    os.mkfifo(tmp_path / "pyvenv.cfg")
    assert names(site_folders(tmp_path), tmp_path) == ["lib/python3.11/site-packages"]


def test_nothing_is_found_in_nothing(tmp_path: Path) -> None:
    assert site_folders(tmp_path / "missing") == ()


@pytest.mark.parametrize(
    ("path", "words"),
    [
        ("missing", "does not exist"),
        ("dangling", "a broken symbolic link"),
        ("loop", "symbolic links that go in circles"),
        ("x" * 5000, "cannot be read: File name too long"),
        ("a\0b", "not a path"),
    ],
)
def test_what_is_wrong_with_a_path_is_said_in_words(tmp_path: Path, path: str, words: str) -> None:
    (tmp_path / "dangling").symlink_to("nowhere")
    (tmp_path / "loop").symlink_to("loop")
    with pytest.raises(TargetError, match=f"^--python x: {words}$"):
        require_present(tmp_path / path, "--python x")


def test_a_device_is_no_target() -> None:
    with pytest.raises(TargetError, match="neither a folder nor a program"):
        require_present(Path("/dev/null"), "--python /dev/null")


def test_the_same_folder_by_another_name(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(tmp_path)
    assert same_folder(tmp_path, tmp_path / "link")
    assert not same_folder(tmp_path, tmp_path / "missing")
