"""The probe of flash-attn: its files, and what names say of the wheel."""

from __future__ import annotations

from typing import TYPE_CHECKING
from urllib.parse import quote

import pytest

from fadoctor.model.catalogue import build_catalogue
from fadoctor.model.fact import Absent, Fact, Unknown
from fadoctor.sources.probes import packages
from fadoctor.sources.probes.flash_attn import probe
from tests.unit.sources.probes.dist_info import LINUX, add, put, value, world_of

if TYPE_CHECKING:
    from pathlib import Path

OFFICIAL = "https://github.com/Dao-AILab/flash-attention/releases/download/v2.8.3/"
COMMUNITY = "https://github.com/mjun0812/flash-attention-prebuild-wheels/releases/download/v0.4.1/"
EXTENSION = "flash_attn_2_cuda.cpython-311-x86_64-linux-gnu.so"


def read(*sites: Path) -> dict[str, Fact]:
    world = world_of(*sites)
    facts = LINUX | packages.probe(world, LINUX)
    return probe(world, facts)


def wheel(facts: dict[str, Fact]) -> dict[str, object]:
    names = ("origin", "torch", "cuda", "cuda_major", "cxx11_abi", "python")
    found = {name: facts[f"flash_attn.wheel.{name}"] for name in names}
    return {name: value({"x": f}, "x") for name, f in found.items() if not isinstance(f, Absent)}


def install(site: Path, version: str = "2.8.3", url: str = "", tag: str = "") -> None:
    files = {"direct_url": f'{{"url": "{url}", "archive_info": {{}}}}'} if url else {}
    if tag:
        files["WHEEL"] = f"Tag: {tag}\n"
    add(site, "flash_attn", version, **files)
    put(site / "flash_attn" / "__init__.py")
    put(site / "flash_attn" / "flash_attn_interface.py")
    put(site / EXTENSION)


def test_every_fact_of_the_catalogue_is_provided(tmp_path: Path) -> None:
    names = {n for n, spec in build_catalogue().items() if spec.provider == "flash_attn"}
    assert read(tmp_path).keys() == names
    install(tmp_path)
    assert read(tmp_path).keys() == names


def test_the_files_are_found(tmp_path: Path) -> None:
    install(tmp_path)
    facts = read(tmp_path)
    assert value(facts, "flash_attn.extension") == EXTENSION
    assert value(facts, "flash_attn.interface") is True
    assert value(facts, "flash_attn.namespace_only") is False


def test_without_flash_attn_all_is_absent(tmp_path: Path) -> None:
    tmp_path.joinpath("unrelated").mkdir()
    assert all(isinstance(fact, Absent) for fact in read(tmp_path).values())


def test_flash_attn_4_leaves_a_namespace(tmp_path: Path) -> None:
    add(tmp_path, "flash_attn_4", "4.0.0b36")
    put(tmp_path / "flash_attn" / "cute" / "__init__.py")
    facts = read(tmp_path)
    assert value(facts, "flash_attn.namespace_only") is True
    assert value(facts, "flash_attn.interface") is False
    assert isinstance(facts["flash_attn.extension"], Absent)
    assert isinstance(facts["flash_attn.wheel.torch"], Absent)


@pytest.mark.parametrize("plus", ["+", "%2B"])
def test_an_official_wheel_is_known_by_its_url(tmp_path: Path, plus: str) -> None:
    name = f"flash_attn-2.8.3{plus}cu12torch2.4cxx11abiFALSE-cp311-cp311-linux_x86_64.whl"
    install(tmp_path, url=OFFICIAL + name)
    assert wheel(read(tmp_path)) == {
        "origin": "official",
        "torch": "2.4",
        "cuda": "cu12",
        "cuda_major": "12",
        "cxx11_abi": False,
        "python": "cp311",
    }


def test_a_community_wheel_is_known_by_its_url(tmp_path: Path) -> None:
    name = "flash_attn-2.8.3+cu128torch2.10-cp311-cp311-linux_x86_64.whl"
    install(tmp_path, "2.8.3+cu128torch2.10", COMMUNITY + name)
    assert wheel(read(tmp_path)) == {
        "origin": "community",
        "torch": "2.10",
        "cuda": "cu128",
        "cuda_major": "12",
        "python": "cp311",
    }


def test_a_community_wheel_is_known_by_its_local_version(tmp_path: Path) -> None:
    install(tmp_path, "2.7.4.post1+cu130torch2.9.1cxx11abitrue")
    assert wheel(read(tmp_path)) == {
        "origin": "community",
        "torch": "2.9",
        "cuda": "cu130",
        "cuda_major": "13",
        "cxx11_abi": True,
        "python": "cp311",
    }


@pytest.mark.parametrize(
    "url",
    [
        "file:///home/me/flash_attn-2.8.3.tar.gz",
        "file:///home/me/flash-attention",
        "https://example.org/flash_attn-2.8.3.tar.gz",
    ],
)
def test_what_was_built_here_is_local(tmp_path: Path, url: str) -> None:
    install(tmp_path, url=url)
    assert wheel(read(tmp_path)) == {"origin": "local", "python": "cp311"}


def test_a_wheel_file_is_local_and_its_name_is_read(tmp_path: Path) -> None:
    name = "flash_attn-2.8.3+cu12torch2.6cxx11abiTRUE-cp311-cp311-linux_x86_64.whl"
    install(tmp_path, url="file:///srv/wheels/" + quote(name))
    found = wheel(read(tmp_path))
    assert (found["origin"], found["torch"], found["cxx11_abi"]) == ("local", "2.6", True)


def test_without_a_record_the_origin_is_absent(tmp_path: Path) -> None:
    install(tmp_path, "2.8.3+mine")
    assert wheel(read(tmp_path)) == {"python": "cp311"}


def test_an_unreadable_record_leaves_the_origin_unknown(tmp_path: Path) -> None:
    install(tmp_path)
    put(tmp_path / "flash_attn-2.8.3.dist-info" / "direct_url.json", "{")
    facts = read(tmp_path)
    assert isinstance(facts["flash_attn.wheel.origin"], Unknown)
    assert isinstance(facts["flash_attn.wheel.torch"], Unknown)
    assert value(facts, "flash_attn.wheel.python") == "cp311"


def test_a_wheel_without_extension_is_known_by_its_tag(tmp_path: Path) -> None:
    install(tmp_path, tag="py3-none-any")
    (tmp_path / EXTENSION).unlink()
    facts = read(tmp_path)
    assert isinstance(facts["flash_attn.extension"], Absent)
    assert value(facts, "flash_attn.wheel.python") == "py3"


def test_the_recorded_file_name_is_the_last_word_on_the_python(tmp_path: Path) -> None:
    name = "flash_attn-2.8.3+cu12torch2.4cxx11abiFALSE-cp311-cp311-linux_x86_64.whl"
    install(tmp_path, url=OFFICIAL + name)
    (tmp_path / EXTENSION).unlink()
    assert value(read(tmp_path), "flash_attn.wheel.python") == "cp311"


@pytest.mark.parametrize(
    ("name", "tag"),
    [
        ("flash_attn_2_cuda.cp310-win_amd64.pyd", "cp310"),
        ("flash_attn_2_cuda.cpython-313t-x86_64-linux-gnu.so", "cp313t"),
    ],
)
def test_the_extension_names_its_python(tmp_path: Path, name: str, tag: str) -> None:
    install(tmp_path, tag="cp311-cp311-linux_x86_64")
    (tmp_path / EXTENSION).unlink()
    put(tmp_path / name)
    assert value(read(tmp_path), "flash_attn.wheel.python") == tag


def test_of_several_extensions_the_one_for_the_interpreter_counts(tmp_path: Path) -> None:
    install(tmp_path)
    put(tmp_path / "flash_attn_2_cuda.cpython-310-x86_64-linux-gnu.so")
    (tmp_path / "flash_attn_2_cuda.so").mkdir()
    assert value(read(tmp_path), "flash_attn.extension") == EXTENSION


def test_an_editable_build_is_found_in_its_source(tmp_path: Path) -> None:
    site, source = tmp_path / "site", tmp_path / "src"
    direct_url = f'{{"url": "{source.as_uri()}", "dir_info": {{"editable": true}}}}'
    add(site, "flash_attn", "2.8.3", direct_url=direct_url)
    put(source / EXTENSION)
    put(source / "flash_attn" / "__init__.py")
    facts = read(site)
    assert value(facts, "flash_attn.extension") == EXTENSION
    assert value(facts, "flash_attn.interface") is False
    assert value(facts, "flash_attn.wheel.origin") == "local"


@pytest.mark.parametrize(
    "label", ["", "\x1b[31mcu12", "torch" * 200, "cu1torch2", "xcu128torch12.345.6"]
)
def test_odd_labels_say_nothing_or_what_they_say(tmp_path: Path, label: str) -> None:
    install(tmp_path, url=f"https://example.org/flash_attn-2.8.3+{quote(label)}-cp311-x-y.whl")
    assert not {"cuda", "cxx11_abi"} & wheel(read(tmp_path)).keys()


def test_a_path_that_is_not_whole_leaves_absence_unknown(tmp_path: Path) -> None:
    put(tmp_path / "endless.pth", "#\n" * 2_000)
    facts = read(tmp_path)
    assert all(isinstance(fact, Unknown) for fact in facts.values())
