"""The probe of torch's own files, on trees with the contents of real releases."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest

from fadoctor.model.fact import Absent, Fact, Known, Unknown
from fadoctor.sources.probes import packages
from fadoctor.sources.probes.torch import parse_version_file, probe
from fadoctor.sources.probes.torch_build import cuda_label
from tests.binaries.elf_writer import Spec, Symbol, elf_file
from tests.unit.sources.probes.dist_info import LINUX, add, put, value, world_of

if TYPE_CHECKING:
    from pathlib import Path

VERSION_PY = """from typing import Optional

__all__ = ['__version__', 'debug', 'cuda', 'git_version', 'hip', 'xpu']
__version__ = '{version}'
debug = False
cuda: Optional[str] = {cuda}
git_version = 'a1cb3cc05d46d198467bebbb6e8fba50a325d4e7'
hip: Optional[str] = {hip}
xpu: Optional[str] = {xpu}
"""
CONSTRUCTOR = "_ZN3c105ErrorC2ENS_14SourceLocation"
NEW = CONSTRUCTOR + "ENSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEEE"
OLD = CONSTRUCTOR + "ESs"


def version_py(version: str, cuda: str = "None", hip: str = "None", xpu: str = "None") -> str:
    text = VERSION_PY
    for name, said in (("version", version), ("cuda", cuda), ("hip", hip), ("xpu", xpu)):
        text = text.replace(f"{{{name}}}", said)
    return text


def install(
    site: Path, metadata: str, version_file: str | bytes, *, installer: str = "pip", **files: str
) -> None:
    if metadata:
        add(site, "torch", metadata, INSTALLER=installer, **files)
    put(site / "torch" / "__init__.py", "raise SystemExit('imported')\n")
    put(site / "torch" / "version.py", version_file)


def read(*sites: Path) -> dict[str, Fact]:
    world = world_of(*sites)
    facts = LINUX | packages.probe(world, LINUX)
    return facts | probe(world, facts)


def test_a_release_from_pypi_has_its_label_in_version_py_only(tmp_path: Path) -> None:
    install(tmp_path, "2.8.0", version_py("2.8.0+cu128", "'12.8'"))
    facts = read(tmp_path)
    assert facts["torch.cuda"] == Known("12.8", "$site/torch/version.py: cuda = '12.8'")
    assert facts["torch.hip"] == Absent("$site/torch/version.py: hip = None")
    assert value(facts, "torch.git") == "a1cb3cc05d46d198467bebbb6e8fba50a325d4e7"
    assert value(facts, "torch.build") == "pypi"
    assert value(facts, "torch.version") == "2.8.0"


@pytest.mark.parametrize(
    ("metadata", "version", "cuda", "build"),
    [
        ("2.6.0+cu126", "2.6.0+cu126", "'12.6'", "cu126"),
        ("2.0.1+cu118.with.pypi.cudnn", "2.0.1+cu118.with.pypi.cudnn", "'11.8'", "cu118"),
        ("2.13.0+cpu", "2.13.0+cpu", "None", "cpu"),
        ("2.8.0", "2.8.0", "None", "cpu"),
        ("2.6.0a0+ecf3bae40a.nv25.01", "2.6.0a0+ecf3bae40a.nv25.01", "'12.8'", "other"),
        ("2.9.0.dev20250901+cu128", "2.9.0.dev20250901+cu128", "'12.8'", "other"),
        ("2.9.0rc1+cu128", "2.9.0rc1+cu128", "'12.8'", "other"),
        ("2.5.0a0+gitb465a58", "2.5.0a0+gitb465a58", "'12.4'", "other"),
        ("2.8.0", "2.8.0", "'12.6'", "other"),
    ],
)
def test_builds_are_told_apart(
    tmp_path: Path, metadata: str, version: str, cuda: str, build: str
) -> None:
    install(tmp_path, metadata, version_py(version, cuda))
    assert value(read(tmp_path), "torch.build") == build


def test_rocm_and_xpu_builds(tmp_path: Path) -> None:
    install(tmp_path / "a", "2.6.0+rocm6.2.4", version_py("x", hip="'6.2.41134-65d174c3e'"))
    facts = read(tmp_path / "a")
    assert value(facts, "torch.hip") == "6.2.41134"
    assert isinstance(facts["torch.build"], Unknown)  # its two versions differ
    install(tmp_path / "b", "2.6.0", version_py("2.6.0", hip="'6.2.41134-65d174c3e'"))
    assert value(read(tmp_path / "b"), "torch.build") == "rocm"
    install(tmp_path / "c", "2.6.0+xpu", version_py("2.6.0+xpu", xpu="'20250101'"))
    assert value(read(tmp_path / "c"), "torch.build") == "other"


@pytest.mark.parametrize(
    ("installer", "build"), [("uv", "pypi"), ("Poetry 1.8.2", "pypi"), ("conda", "other")]
)
def test_who_installed_it_tells_pypi_from_conda(tmp_path: Path, installer: str, build: str) -> None:
    install(tmp_path, "2.8.0", version_py("2.8.0+cu128", "'12.8'"), installer=installer)
    assert value(read(tmp_path), "torch.build") == build


def test_a_release_of_pypi_installed_from_a_file_is_still_one(tmp_path: Path) -> None:
    said = version_py("2.8.0+cu128", "'12.8'")
    install(tmp_path, "2.8.0", said, direct_url='{"url": "file:///x/torch-2.8.0.whl"}')
    assert value(read(tmp_path), "torch.build") == "pypi"


def test_without_installer_or_cuda_the_build_is_not_called_pypi(tmp_path: Path) -> None:
    install(tmp_path / "a", "2.8.0", version_py("2.8.0+cu128", "'12.8'"), installer="\n")
    assert value(read(tmp_path / "a"), "torch.build") == "other"
    install(tmp_path / "b", "2.8.0", version_py("2.8.0+cu128", "'12'"))
    assert isinstance(read(tmp_path / "b")["torch.build"], Unknown)


def test_two_torches_unpacked_over_each_other_are_not_guessed(tmp_path: Path) -> None:
    install(tmp_path, "2.6.0", version_py("2.5.1+cu124", "'12.4'"))
    assert read(tmp_path)["torch.build"] == Unknown(
        "metadata says 2.6.0, version.py says 2.5.1+cu124: two torches are mixed",
        "$site/torch/version.py",
    )


@pytest.mark.parametrize(
    ("local", "cuda"), [("cu124", "'12.1'"), ("cu124", "None"), ("cpu", "'12.1'")]
)
def test_a_label_against_version_py_is_not_guessed(tmp_path: Path, local: str, cuda: str) -> None:
    install(tmp_path, f"2.6.0+{local}", version_py(f"2.6.0+{local}", cuda))
    fact = read(tmp_path)["torch.build"]
    assert isinstance(fact, Unknown)
    assert fact.reason.startswith(f"its label is {local}")


def test_a_checkout_without_metadata_is_understood(tmp_path: Path) -> None:
    install(tmp_path, "", version_py("2.9.0a0+gitabc", "'12.8'"))
    facts = read(tmp_path)
    source = "$site/torch/version.py: __version__ = '2.9.0a0+gitabc'"
    assert facts["torch.version"] == Known("2.9.0a0+gitabc", source)
    assert value(facts, "torch.build") == "other"


def test_a_checkout_in_front_of_the_installed_torch_is_what_counts(tmp_path: Path) -> None:
    install(tmp_path / "src", "", version_py("2.9.0a0+gitabc", "'12.8'"))
    install(tmp_path / "site", "2.8.0", version_py("2.8.0+cu128", "'12.8'"))
    facts = read(tmp_path / "src", tmp_path / "site")
    assert value(facts, "torch.version") == "2.9.0a0+gitabc"
    assert value(facts, "torch.build") == "other"


def test_an_editable_torch_is_found_in_its_source(tmp_path: Path) -> None:
    source = tmp_path / "src"
    install(source, "", version_py("2.9.0a0+gitabc", "'12.8'"))
    direct_url = f'{{"url": "{source.as_uri()}", "dir_info": {{"editable": true}}}}'
    add(tmp_path / "site", "torch", "2.9.0a0+gitabc", direct_url=direct_url)
    facts = read(tmp_path / "site")
    assert value(facts, "torch.cuda") == "12.8"
    assert value(facts, "torch.version") == "2.9.0a0+gitabc"


def test_two_records_are_settled_by_version_py(tmp_path: Path) -> None:
    add(tmp_path, "torch", "2.5.1")
    install(tmp_path, "2.8.0", version_py("2.8.0+cu128", "'12.8'"))
    facts = read(tmp_path)
    assert value(facts, "torch.version") == "2.8.0+cu128"
    assert isinstance(facts["torch.build"], Unknown)


def test_hostile_code_has_no_effect(tmp_path: Path) -> None:
    hostile = (
        f"__version__ = __import__('os').mkdir({str(tmp_path / 'owned')!r}) or '2.6.0'\n"
        "cuda = '12.4'; raise SystemExit\n"
        "hip = '\\x1b[31m'\n"
        "git_version = 'a\x1b]0;owned\x07'\n"
        "xpu = " + "(" * 10_000 + "\n"
    )
    install(tmp_path, "2.6.0", hostile)
    facts = read(tmp_path)
    assert isinstance(facts["torch.cuda"], Unknown)
    assert isinstance(facts["torch.hip"], Unknown)
    assert value(facts, "torch.git") == "a?]0;owned?"
    assert value(facts, "torch.version") == "2.6.0"
    assert not (tmp_path / "owned").exists()


def test_what_is_assigned_twice_is_unknown(tmp_path: Path) -> None:
    install(tmp_path, "2.6.0+cu124", version_py("2.6.0+cu124", "'12.4'") + "cuda = '11.8'\n")
    facts = read(tmp_path)
    assert isinstance(facts["torch.cuda"], Unknown)
    assert value(facts, "torch.build") == "cu124"


def test_lines_of_old_and_new_releases_are_read() -> None:
    text = "cuda = '11.7'\r\nhip: Final[str | None] = None  # x\ngit_version=\"abc\"\n  xpu = '1'\n"
    assert parse_version_file(text).values == {"cuda": "11.7", "hip": None, "git_version": "abc"}


@pytest.mark.parametrize("content", [b"", b"#" * 70_000, b"\0\xff" * 100, b"cuda = 'twelve'\n"])
def test_a_version_file_that_says_nothing_is_unknown(tmp_path: Path, content: bytes) -> None:
    install(tmp_path, "2.6.0", content)
    assert isinstance(read(tmp_path)["torch.cuda"], Unknown)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no named pipes here")
def test_a_pipe_named_version_py_does_not_block(tmp_path: Path) -> None:
    add(tmp_path, "torch", "2.6.0")
    put(tmp_path / "torch" / "__init__.py")
    os.mkfifo(tmp_path / "torch" / "version.py")
    fact = read(tmp_path)["torch.cuda"]
    assert fact == Unknown("version.py is not a regular file", "$site/torch/version.py")


def test_without_torch_its_facts_are_absent(tmp_path: Path) -> None:
    (tmp_path / "torch" / "lib").mkdir(parents=True)
    facts = read(tmp_path)
    for name in ("cuda", "hip", "git", "build", "cxx11_abi", "libraries"):
        assert isinstance(facts[f"torch.{name}"], Absent), name


def test_metadata_without_the_folder_is_no_torch_that_can_be_read(tmp_path: Path) -> None:
    add(tmp_path, "torch", "2.6.0")
    facts = read(tmp_path)
    assert isinstance(facts["torch.cuda"], Unknown)
    assert isinstance(facts["torch.build"], Unknown)
    put(tmp_path / "torch" / "__init__.py")
    assert read(tmp_path)["torch.cuda"] == Unknown(
        "version.py is not there", "$site/torch/version.py"
    )


@pytest.mark.parametrize(("flag", "abi"), [("0", False), ("1", True)])
def test_the_abi_is_recorded_for_cmake(tmp_path: Path, flag: str, *, abi: bool) -> None:
    install(tmp_path, "2.6.0", version_py("2.6.0+cu124", "'12.4'"))
    cmake = tmp_path / "torch" / "share" / "cmake" / "Torch" / "TorchConfig.cmake"
    put(cmake, f'  set(TORCH_CXX_FLAGS "-D_GLIBCXX_USE_CXX11_ABI={flag}")\n')
    assert value(read(tmp_path), "torch.cxx11_abi") is abi


@pytest.mark.parametrize(
    ("exports", "abi"), [((NEW,), True), ((OLD,), False), ((OLD, NEW), None), ((), None)]
)
def test_the_abi_is_read_from_the_exported_constructor(
    tmp_path: Path, exports: tuple[str, ...], *, abi: bool | None
) -> None:
    install(tmp_path, "2.8.0", version_py("2.8.0+cu128", "'12.8'"))
    symbols = tuple(Symbol(name) for name in exports)
    put(tmp_path / "torch" / "lib" / "libc10.so", elf_file(Spec(exports=symbols)))
    fact = read(tmp_path)["torch.cxx11_abi"]
    assert isinstance(fact, Unknown) if abi is None else value({"x": fact}, "x") is abi


def test_other_systems_have_no_choice_of_abi(tmp_path: Path) -> None:
    install(tmp_path, "2.8.0", version_py("2.8.0+cpu"))
    put(tmp_path / "torch" / "lib" / "c10.dll")
    assert isinstance(read(tmp_path)["torch.cxx11_abi"], Absent)


def test_a_library_that_cannot_be_read_leaves_the_abi_unknown(tmp_path: Path) -> None:
    install(tmp_path, "2.8.0", version_py("2.8.0+cu128", "'12.8'"))
    assert isinstance(read(tmp_path)["torch.cxx11_abi"], Unknown)
    assert isinstance(read(tmp_path)["torch.libraries"], Absent)


def test_too_many_libraries_are_not_half_listed(tmp_path: Path) -> None:
    install(tmp_path, "2.8.0", version_py("2.8.0+cu128", "'12.8'"))
    for number in range(2_001):
        put(tmp_path / "torch" / "lib" / f"x{number}.so")
    assert read(tmp_path)["torch.libraries"] == Unknown(
        "has more than 2,000 entries", "$site/torch/lib"
    )


def test_a_path_that_is_not_whole_leaves_absence_unknown(tmp_path: Path) -> None:
    put(tmp_path / "endless.pth", "#\n" * 2_000)
    assert all(isinstance(read(tmp_path)[f"torch.{name}"], Unknown) for name in ("cuda", "build"))


def test_libraries_are_listed_by_name(tmp_path: Path) -> None:
    install(tmp_path, "2.8.0", version_py("2.8.0+cu128", "'12.8'"))
    for name in ("libtorch_cuda.so", "libgomp-98b21ff3.so.1", "c10.dll", "notes.txt", "x\x1b.so"):
        put(tmp_path / "torch" / "lib" / name)
    libraries = ("c10.dll", "libgomp-98b21ff3.so.1", "libtorch_cuda.so")
    assert value(read(tmp_path), "torch.libraries") == libraries


def test_cuda_labels() -> None:
    assert (cuda_label("12.8"), cuda_label("13.0"), cuda_label("11.8.89")) == (
        "cu128",
        "cu130",
        "cu118",
    )
