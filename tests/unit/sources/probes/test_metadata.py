"""The readers of metadata text and of the import path, and what a requirement means elsewhere."""

from __future__ import annotations

import os
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st

from fadoctor.model.fact import Fact, Known
from fadoctor.sources.probes.import_path import (
    MAX_NAMES,
    editable_folders,
    find_package,
    list_names,
    read_import_path,
    real_path,
)
from fadoctor.sources.probes.metadata import (
    DirectUrl,
    clean_url,
    is_version,
    normalise_name,
    parse_direct_url,
    parse_headers,
    record_paths,
)
from fadoctor.sources.probes.requires import egg_requirements, marker_target, read_requirements
from tests.unit.sources.probes.dist_info import LINUX, put, world_of
from tests.work import examples


def required(*lines: str, **facts: Fact) -> dict[str, str] | str:
    needs = read_requirements(lines, marker_target({**LINUX, **facts}))
    return needs.undecided or needs.specifiers


def test_headers_end_at_the_first_empty_line() -> None:
    headers = parse_headers("Name: x\nSummary: a\n   b\nLICENSE: MIT\n\nName: y\n")
    assert headers.lines == (("name", "x"), ("summary", "a b"), ("license", "MIT"))
    assert headers.first("version") == ""


def test_names_are_normalised() -> None:
    assert normalise_name("Flash_Attn") == normalise_name("flash.-_attn") == "flash-attn"


def test_versions_are_told_from_junk() -> None:
    assert is_version("2.6.0a0+ecf3bae40a.nv25.01")
    assert not is_version("")
    assert not is_version("2.6.0; rm -rf")
    assert not is_version("1" * 200)


def test_direct_url_of_a_checkout_names_the_commit() -> None:
    text = (
        '{"url": "ssh://git@example.org/fa.git",'
        ' "vcs_info": {"vcs": "git", "commit_id": "0251105a"}}'
    )
    assert parse_direct_url(text) == DirectUrl(
        "git+ssh://example.org/fa.git@0251105a", editable=False
    )


def test_urls_lose_all_that_can_be_secret() -> None:
    assert clean_url("https://u:p@ss@h/x.whl?sig=1#y") == "https://h/x.whl"
    assert clean_url("https://h/a@b.whl") == "https://h/a@b.whl"
    assert clean_url("file:///srv/a%2Bb.whl") == "file:///srv/a+b.whl"
    assert clean_url("file:///C:/x.whl") == "file://C:/x.whl"
    assert "hf_" not in clean_url("https://h/hf_" + "a1B2" * 8 + "/x.whl")


def test_record_paths_never_leave_the_folder() -> None:
    bad = "../x,,\n/etc/passwd,,\n\\\\host\\share,,\nc:\\x,,\na/../../b,,\nx\0y,,\n,,\n\n"
    assert record_paths(bad + "good/file.py,,\n") == ["good/file.py"]


def test_markers_are_judged_for_the_target() -> None:
    line = 'triton>=3.0.0; platform_system == "Linux" and python_version < "3.12"'
    assert required(line) == {"triton": ">=3.0.0"}
    assert required(line, **{"python.version": Known("3.12.1", "x")}) == {}
    assert required(line, **{"host.os": Known("windows", "x")}) == {}


def test_windows_machines_are_spelt_as_windows_does() -> None:
    windows: dict[str, Fact] = {
        "host.os": Known("windows", "x"),
        "host.machine": Known("amd64", "x"),
    }
    line = 'x; sys_platform == "win32" and platform_machine == "AMD64"'
    assert required(line, **windows) == {"x": ""}


def test_a_part_that_is_surely_false_decides_without_the_rest() -> None:
    nothing = marker_target({"host.os": Known("linux", "x")})
    line = 'x; platform_system == "Windows" and python_version < "3.12"'
    assert read_requirements([line], nothing).specifiers == {}
    other = 'x; platform_system == "Linux" and python_version < "3.12"'
    assert read_requirements([other], nothing).undecided == other
    either = 'x; platform_system == "Windows" or python_version < "3.12"'
    assert read_requirements([either], nothing).undecided == either


def test_extras_are_not_requested() -> None:
    lines = (
        "a>=1; extra == 'x'",
        'b; python_version >= "3.8" and extra == "x"',
        'c; extra == "x" or extra == "y"',
        "d[extra]>=2",
        'e; extra == "x" or python_version >= "3.8"',
    )
    assert required(*lines) == {"d": ">=2", "e": ""}


def test_lines_for_one_name_are_joined() -> None:
    lines = ("numpy>=1.21", 'NumPy<3; python_version >= "3.11"', 'numpy>=9; python_version < "3"')
    assert required(*lines) == {"numpy": "<3,>=1.21"}


def test_requirements_that_are_bad_are_skipped() -> None:
    lines = ("!!", "_memory_saver===", "x @ https://h/x.whl", "y; nonsense > 1", "(" * 5_000, "z")
    assert required(*lines) == {"x": "", "z": ""}


def test_sections_of_an_egg_become_markers() -> None:
    text = '# c\ntorch\n[:python_version<"3.9"]\nold>1\n[dev:os_name=="nt"]\nx\n'
    assert egg_requirements(text) == ["torch", 'old>1; python_version<"3.9"']


def test_pth_files_add_paths_and_run_nothing(tmp_path: Path) -> None:
    site, other = tmp_path / "site", tmp_path / "other"
    (site / "sub").mkdir(parents=True)
    other.mkdir()
    put(site / "b.pth", f"# {site}\n\nimport os; os.mkdir('{tmp_path}/owned')\nsub\n{other}\n")
    put(site / "a.pth", b"\xff\xfe\0\nno-such-folder\n")
    put(site / ".hidden.pth", f"{tmp_path}\n")
    path = read_import_path(world_of(site))
    assert [folder.path for folder in path.folders] == [str(site), str(site / "sub"), str(other)]
    assert path.problem == ""
    assert not (tmp_path / "owned").exists()


def test_pth_files_that_lead_in_a_circle_end(tmp_path: Path) -> None:
    a, b = tmp_path / "a", tmp_path / "b"
    put(a / "x.pth", f"{b}\n.\n../a\n")
    put(b / "x.pth", f"{a}\n")
    (tmp_path / "twin").symlink_to(a)
    path = read_import_path(world_of(a, tmp_path / "twin", b))
    assert [folder.path for folder in path.folders] == [str(a), str(b)]


def test_a_pth_adds_no_more_folders_than_the_bound(tmp_path: Path) -> None:
    lines = [f"d{number}" for number in range(300)]
    for line in lines:
        (tmp_path / line).mkdir()
    put(tmp_path / "x.pth", "\n".join(lines))
    path = read_import_path(world_of(tmp_path))
    assert len(path.folders) == 256
    assert path.problem == "the import path has more than 256 folders"


def test_more_pth_files_than_are_read_are_told(tmp_path: Path) -> None:
    for number in range(501):
        put(tmp_path / f"{number}.pth")
    assert read_import_path(world_of(tmp_path)).problem.endswith("has more than 500 .pth files")


def test_a_site_folder_that_is_a_loop_of_links_is_told(tmp_path: Path) -> None:
    (tmp_path / "loop").symlink_to(tmp_path / "loop")
    (tmp_path / "site").mkdir()
    put(tmp_path / "site" / "x.pth", "../loop\n\0\n")
    path = read_import_path(world_of(tmp_path / "site"))
    assert path.problem == ""
    path = read_import_path(world_of(tmp_path / "loop", tmp_path / "site"))
    assert "loop cannot be read: Too many levels" in path.problem


def test_names_are_listed_up_to_the_bound(tmp_path: Path) -> None:
    for name in "cab":
        put(tmp_path / name)
    assert list_names(str(tmp_path), 3) == (("a", "b", "c"), "")
    names, problem = list_names(str(tmp_path), 2)
    assert (len(names), problem) == (2, "has more than 2 entries")
    assert list_names(str(tmp_path / "gone"), MAX_NAMES)[1].startswith("cannot be listed")


def test_a_regular_package_beats_portions_of_a_namespace(tmp_path: Path) -> None:
    put(tmp_path / "a" / "flash_attn" / "cute" / "x.py")
    put(tmp_path / "b" / "flash_attn" / "__init__.py")
    both = read_import_path(world_of(tmp_path / "a", tmp_path / "b"))
    package = find_package(both, "flash_attn")
    assert package is not None
    assert package.folders == (str(tmp_path / "b" / "flash_attn"),)
    only = find_package(read_import_path(world_of(tmp_path / "a")), "flash_attn")
    assert only is not None
    assert not only.regular


def test_named_paths_lead_back(tmp_path: Path) -> None:
    world = world_of(tmp_path / "site", home=tmp_path)
    for path in (tmp_path / "site" / "x", tmp_path / "y", tmp_path / "site", Path("/usr/lib")):
        assert real_path(world, world.name(path)) == str(path)
    facts: dict[str, Fact] = {
        "torch.direct_url": Known("file://~/src", "x"),
        "torch.editable": Known(True, "x"),
    }
    source = f"{tmp_path}/src"
    assert editable_folders(world, facts, "torch") == (source, f"{source}/src")
    assert editable_folders(world, facts, "peft") == ()


def test_a_pipe_among_the_pth_files_does_not_block(tmp_path: Path) -> None:
    if hasattr(os, "mkfifo"):
        os.mkfifo(tmp_path / "x.pth")
    assert len(read_import_path(world_of(tmp_path)).folders) == 1


@settings(max_examples=examples(60))
@given(st.text(max_size=300))
def test_no_text_breaks_a_reader(text: str) -> None:
    parse_headers(text)
    parse_direct_url(text)
    assert not any(path.startswith("/") or ".." in path for path in record_paths(text))
    read_requirements([text, f"x; {text}"], marker_target(LINUX))
    assert "s3cret" not in clean_url(f"https://user:s3cret@{text}")
