"""The probe of installed distributions, on small trees, hostile ones among them."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest

from fadoctor.model.catalogue import build_catalogue, find_spec
from fadoctor.model.fact import Absent, Fact, Known, Unknown
from fadoctor.model.packages import PACKAGES
from fadoctor.sources.probes.package_facts import NAMES
from fadoctor.sources.probes.packages import probe
from tests.unit.sources.probes.dist_info import LINUX, add, put, value, world_of

if TYPE_CHECKING:
    from pathlib import Path

TORCH_REQUIRES = (
    "Requires-Dist: filelock\n"
    'Requires-Dist: triton==3.2.0; platform_system == "Linux" and platform_machine == "x86_64"\n'
    'Requires-Dist: setuptools; python_version >= "3.12"\n'
    "Requires-Dist: opt-einsum (>=3.3) ; extra == 'opt-einsum'\n"
)


def read(*sites: Path, **facts: Fact) -> dict[str, Fact]:
    return probe(world_of(*sites), {**LINUX, **facts})


def test_what_is_recorded_of_a_package_is_read(tmp_path: Path) -> None:
    headers = f"Requires-Python: >=3.9\n{TORCH_REQUIRES}"
    add(tmp_path, "torch", "2.6.0", headers, INSTALLER="pip\n", WHEEL="Tag: cp311-cp311-linux\n")
    facts = read(tmp_path)
    assert facts["torch.version"] == Known(
        "2.6.0", "$site/torch-2.6.0.dist-info/METADATA: Version: 2.6.0"
    )
    assert value(facts, "torch.requires") == {"filelock": "", "triton": "==3.2.0"}
    assert value(facts, "torch.requires_python") == ">=3.9"
    assert value(facts, "torch.installer") == "pip"
    assert value(facts, "torch.wheel.tags") == ("cp311-cp311-linux",)
    assert value(facts, "torch.location") == "$site"
    assert value(facts, "torch.editable") is False
    assert isinstance(facts["torch.direct_url"], Absent)


def test_every_fact_of_the_catalogue_is_provided(tmp_path: Path) -> None:
    add(tmp_path, "torch", "2.6.0")
    facts = read(tmp_path)
    catalogue = build_catalogue()
    assert all(find_spec(catalogue, name) is not None for name in facts)
    assert {f"torch.{name}" for name in NAMES} <= facts.keys()
    assert {f"{key}.version" for key in PACKAGES} <= facts.keys()
    assert {name for name, spec in catalogue.items() if spec.provider == "packages"} >= facts.keys()


def test_a_package_that_is_not_there_is_absent(tmp_path: Path) -> None:
    add(tmp_path, "numpy", "2.1.0")
    facts = read(tmp_path)
    assert facts["torch.version"] == Absent("metadata folders in $site: no torch")
    assert "torch.requires" not in facts


def test_all_distributions_are_listed_by_their_folder_names(tmp_path: Path) -> None:
    add(tmp_path, "Typing_Extensions", "4.12.2")
    add(tmp_path, "jaraco.classes", "3.4.0")
    add(tmp_path, "nvidia_cublas_cu12", "12.4.5.8")
    put(tmp_path / "PyYAML-6.0.1-py3.11.egg-info", "Name: PyYAML\nVersion: 6.0.1\n")
    put(tmp_path / "oldlib-1.2-py3.11.egg-info" / "PKG-INFO", "Name: oldlib\nVersion: 1.2\n")
    facts = read(tmp_path)
    assert value(facts, "packages.installed") == {
        "jaraco-classes": "3.4.0",
        "nvidia-cublas-cu12": "12.4.5.8",
        "oldlib": "1.2",
        "pyyaml": "6.0.1",
        "typing-extensions": "4.12.2",
    }
    assert value(facts, "packages.nvidia") == {"nvidia-cublas-cu12": "12.4.5.8"}
    assert value(facts, "packages.broken") == {}


def test_a_package_is_known_by_any_of_its_distributions(tmp_path: Path) -> None:
    add(tmp_path, "pytorch_triton", "3.2.0+git0d4682f0")
    facts = read(tmp_path)
    assert value(facts, "triton.distribution") == "pytorch-triton"
    assert value(facts, "triton.version") == "3.2.0+git0d4682f0"


def test_the_first_folder_of_the_path_wins_without_alarm(tmp_path: Path) -> None:
    add(tmp_path / "venv", "torch", "2.6.0")
    add(tmp_path / "system", "torch", "2.1.0")
    add(tmp_path / "system", "torch", "2.0.0")
    facts = read(tmp_path / "venv", tmp_path / "system")
    assert value(facts, "torch.version") == "2.6.0"
    assert value(facts, "packages.duplicated") == {}


def test_two_versions_in_one_folder_leave_the_version_unknown(tmp_path: Path) -> None:
    add(tmp_path, "torch", "2.6.0")
    add(tmp_path, "Torch", "2.5.1")
    facts = read(tmp_path)
    assert value(facts, "packages.duplicated") == {"torch": "2.5.1, 2.6.0"}
    assert facts["torch.version"] == Unknown("one folder records 2 versions: 2.5.1, 2.6.0", "$site")
    assert isinstance(facts["torch.requires"], Unknown)


def test_an_egg_info_beside_its_dist_info_is_no_duplicate(tmp_path: Path) -> None:
    add(tmp_path, "torch", "2.5.1")
    put(tmp_path / "torch-2.5.1-py3.11.egg-info" / "PKG-INFO", "Name: torch\nVersion: 2.5.1\n")
    facts = read(tmp_path)
    assert value(facts, "packages.duplicated") == {}
    assert value(facts, "torch.version") == "2.5.1"


def test_the_version_in_metadata_outranks_the_folder_name(tmp_path: Path) -> None:
    folder = tmp_path / "torch-2.6.0.dist-info"
    put(folder / "METADATA", "Name: torch\r\nVersion: 2.6.0+cu124\r\n\r\nVersion: 9\r\n")
    assert value(read(tmp_path), "torch.version") == "2.6.0+cu124"


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (None, "there is no METADATA"),
        (b"", "METADATA is empty"),
        (b"Name: torch\n\nVersion: 2.6.0\n", "METADATA has no Version"),
        (b"Version: \x1b[31m2.6.0\n", "METADATA: Version is not a version: '\\x1b[31m2.6.0'"),
        (b"\x7fELF\x02\x01\x01\x00\x00Version: 2.6.0\n", "METADATA is not text"),
        (bytes(range(1, 256)) * 40, "METADATA has no Version"),
    ],
)
def test_a_record_that_cannot_be_used_is_broken(
    tmp_path: Path, content: bytes | None, reason: str
) -> None:
    folder = tmp_path / "torch-2.6.0.dist-info"
    folder.mkdir()
    if content is not None:
        put(folder / "METADATA", content)
    facts = read(tmp_path)
    assert value(facts, "packages.broken") == {"torch-2.6.0.dist-info": reason}
    assert facts["torch.version"] == Unknown(
        f"torch-2.6.0.dist-info: {reason}", "metadata folders in $site"
    )
    assert value(facts, "packages.installed") == {}


def test_metadata_of_100_megabytes_is_not_read(tmp_path: Path) -> None:
    file = put(tmp_path / "torch-2.6.0.dist-info" / "METADATA", "Version: 2.6.0\n")
    with file.open("r+b") as stream:
        stream.truncate(100 << 20)
    broken = value(read(tmp_path), "packages.broken")
    assert broken == {
        "torch-2.6.0.dist-info": "METADATA has 104,857,600 bytes, more than any metadata"
    }


@pytest.mark.parametrize("line", ["Classifier: x\n", "Classifier: " + "x" * 3_000 + "\n"])
def test_headers_without_end_are_broken(tmp_path: Path, line: str) -> None:
    put(tmp_path / "torch-2.6.0.dist-info" / "METADATA", "Version: 2.6.0\n" + line * 6_000)
    assert "torch-2.6.0.dist-info" in str(value(read(tmp_path), "packages.broken"))
    assert isinstance(read(tmp_path)["torch.version"], Unknown)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no named pipes here")
def test_a_pipe_named_metadata_does_not_block(tmp_path: Path) -> None:
    folder = tmp_path / "torch-2.6.0.dist-info"
    folder.mkdir()
    os.mkfifo(folder / "METADATA")
    broken = value(read(tmp_path), "packages.broken")
    assert broken == {"torch-2.6.0.dist-info": "METADATA is not a regular file"}


def test_a_dist_info_that_is_a_file_is_broken(tmp_path: Path) -> None:
    put(tmp_path / "torch-2.6.0.dist-info", "Version: 2.6.0\n")
    broken = value(read(tmp_path), "packages.broken")
    assert broken == {"torch-2.6.0.dist-info": "there is no METADATA"}


def test_a_loop_of_links_is_broken(tmp_path: Path) -> None:
    (tmp_path / "torch-2.6.0.dist-info").symlink_to(tmp_path / "torch-2.6.0.dist-info")
    broken = value(read(tmp_path), "packages.broken")
    assert isinstance(broken, dict)
    assert broken["torch-2.6.0.dist-info"].startswith("METADATA cannot be read: Too many levels")


def test_leftovers_of_an_interrupted_uninstall_are_broken(tmp_path: Path) -> None:
    add(tmp_path, "~orch", "2.6.0")
    (tmp_path / "~riton").mkdir()
    broken = value(read(tmp_path), "packages.broken")
    assert isinstance(broken, dict)
    assert list(broken) == ["~orch-2.6.0.dist-info", "~riton"]


def test_names_with_escape_sequences_reach_no_terminal(tmp_path: Path) -> None:
    (tmp_path / "\x1b]0;owned\x07-1.0.dist-info").mkdir()
    broken = value(read(tmp_path), "packages.broken")
    assert broken == {"?]0;owned?-1.0.dist-info": "its name is not the name of a distribution"}


def test_a_broken_record_in_front_does_not_hide_a_good_one(tmp_path: Path) -> None:
    (tmp_path / "user" / "torch-2.7.0.dist-info").mkdir(parents=True)
    add(tmp_path / "site", "torch", "2.6.0")
    facts = read(tmp_path / "user", tmp_path / "site")
    assert value(facts, "torch.version") == "2.6.0"
    assert "torch-2.7.0.dist-info" in str(value(facts, "packages.broken"))


def test_missing_files_are_counted_below_the_site_folder_only(tmp_path: Path) -> None:
    site = tmp_path / "site"
    record = (
        "torch/__init__.py,sha256=x,10\n"
        "torch/gone.py,sha256=x,10\n"
        '"torch/a, ""b"".py",sha256=x,10\n'
        "torch/__pycache__/gone.cpython-311.pyc,,\n"
        "../../../bin/torchrun,sha256=x,10\n"
        "/etc/no-such-file,,\n"
        "torch/../../no-such-file,,\n"
        "C:/no-such-file,,\n"
        "nonsense\n"
    )
    add(site, "torch", "2.6.0", RECORD=record)
    put(site / "torch" / "__init__.py")
    assert read(site)["torch.missing_files"] == Known(
        2,
        "$site/torch-2.6.0.dist-info/RECORD: 3 files were looked for, first missing: torch/gone.py",
    )


def test_of_a_long_record_2000_entries_are_looked_at(tmp_path: Path) -> None:
    add(tmp_path, "torch", "2.6.0", RECORD="torch/x.py,,\n" * 60_000)
    assert value(read(tmp_path), "torch.missing_files") == 2_000


def test_a_binary_record_is_unknown(tmp_path: Path) -> None:
    add(tmp_path, "torch", "2.6.0", RECORD="a\0b,,\n")
    assert isinstance(read(tmp_path)["torch.missing_files"], Unknown)


def test_credentials_of_a_direct_url_are_removed(tmp_path: Path) -> None:
    url = "https://me:s3cret@example.org/torch-2.6.0.whl?token=abc#sha256=0"
    add(tmp_path, "torch", "2.6.0", direct_url=f'{{"url": "{url}", "archive_info": {{}}}}')
    assert value(read(tmp_path), "torch.direct_url") == "https://example.org/torch-2.6.0.whl"


def test_an_editable_install_names_its_source_below_home(tmp_path: Path) -> None:
    url = (tmp_path / "home" / "my src").as_uri()
    direct_url = f'{{"url": "{url}", "dir_info": {{"editable": true}}}}'
    add(tmp_path / "site", "peft", "0.17.0", direct_url=direct_url)
    facts = probe(world_of(tmp_path / "site", home=tmp_path / "home"), LINUX)
    assert value(facts, "peft.direct_url") == "file://~/my src"
    assert value(facts, "peft.editable") is True


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"url": 3}', "[" * 50_000, "{\0}"])
def test_an_odd_direct_url_is_unknown(tmp_path: Path, text: str) -> None:
    add(tmp_path, "torch", "2.6.0", direct_url=text)
    facts = read(tmp_path)
    assert isinstance(facts["torch.direct_url"], Unknown)
    assert isinstance(facts["torch.editable"], Unknown)
    assert value(facts, "torch.version") == "2.6.0"


def test_a_development_egg_is_found_through_its_pth(tmp_path: Path) -> None:
    site, source = tmp_path / "site", tmp_path / "src"
    put(site / "easy-install.pth", f"{source}\n")
    put(site / "flash-attn.egg-link", f"{source}\n.\n")
    egg = source / "flash_attn.egg-info"
    put(egg / "PKG-INFO", "Name: flash_attn\nVersion: 2.6.3\n")
    put(egg / "requires.txt", 'torch\neinops>=0.7\n[:python_version < "3.9"]\nold\n[dev]\npytest\n')
    facts = read(site)
    assert value(facts, "flash_attn.version") == "2.6.3"
    assert value(facts, "flash_attn.location") == str(source)
    assert value(facts, "flash_attn.editable") is True
    assert value(facts, "flash_attn.requires") == {"torch": "", "einops": ">=0.7"}


def test_an_egg_of_setup_py_install_is_found_through_its_pth(tmp_path: Path) -> None:
    egg = "flash_attn-2.5.6-py3.10-linux-x86_64.egg"
    put(tmp_path / "easy-install.pth", f"./{egg}\n")
    put(tmp_path / egg / "EGG-INFO" / "PKG-INFO", "Name: flash-attn\nVersion: 2.5.6\n")
    facts = read(tmp_path)
    assert value(facts, "flash_attn.version") == "2.5.6"
    assert value(facts, "flash_attn.location") == f"$site/{egg}"


def test_what_markers_need_and_nobody_knows_makes_requires_unknown(tmp_path: Path) -> None:
    add(tmp_path, "torch", "2.6.0", TORCH_REQUIRES)
    fact = read(tmp_path, **{"python.version": Unknown("no interpreter", "x")})["torch.requires"]
    assert isinstance(fact, Unknown)
    assert fact.reason.startswith("too many facts are unknown: setuptools")


def test_xformers_extension_is_the_main_one(tmp_path: Path) -> None:
    add(tmp_path, "xformers", "0.0.30")
    put(tmp_path / "xformers" / "__init__.py")
    put(tmp_path / "xformers" / "_C_flashattention3.so")
    assert isinstance(read(tmp_path)["xformers.extension"], Absent)
    put(tmp_path / "xformers" / "_C.so")
    assert value(read(tmp_path), "xformers.extension") == "_C.so"


def test_a_folder_that_cannot_be_looked_through_leaves_absence_unknown(tmp_path: Path) -> None:
    add(tmp_path, "torch", "2.6.0")
    put(tmp_path / "endless.pth", "#\n" * 2_000)
    facts = read(tmp_path)
    assert value(facts, "torch.version") == "2.6.0"
    assert facts["peft.version"] == Unknown(
        "endless.pth is too long to be followed", "metadata folders in $site"
    )
    assert isinstance(facts["packages.installed"], Unknown)


def test_without_any_folder_nothing_is_claimed(tmp_path: Path) -> None:
    for facts in (read(tmp_path / "gone"), read()):
        assert isinstance(facts["packages.installed"], Unknown)
        assert facts["torch.version"] == Unknown(
            "no package folder of the target is there", "metadata folders in no folder"
        )


def test_more_records_than_are_read_are_told(tmp_path: Path) -> None:
    for number in range(250):
        put(tmp_path / f"x{number}.egg-info", "Version: 1\n")
    facts = read(tmp_path)
    assert facts["packages.installed"] == Unknown(
        "there are more than 200 records to read", "metadata folders in $site"
    )


RECORD = "torch/__init__.py,,\ntorch/version.py,,\n"


def _gone(site: Path, **files: str) -> Fact:
    add(site, "torch", "2.8.0", RECORD=RECORD, **files)
    return read(site)["torch.gone"]


def test_a_package_without_its_folder_is_gone(tmp_path: Path) -> None:
    assert isinstance(found := _gone(tmp_path), Known)
    assert found.value is True


@pytest.mark.parametrize("left", ["torch/lib/libc10.so", "torch/__pycache__/x.pyc"])
def test_what_is_left_of_a_folder_is_no_package(tmp_path: Path, left: str) -> None:
    put(tmp_path / left)
    assert isinstance(found := _gone(tmp_path), Known)
    assert found.value is True


@pytest.mark.parametrize("there", ["torch/__init__.py", "torch/__init__.pyc", "torch.py"])
def test_what_can_be_imported_is_not_gone(tmp_path: Path, there: str) -> None:
    put(tmp_path / there)
    assert isinstance(found := _gone(tmp_path), Known)
    assert found.value is False


def test_code_in_another_folder_of_the_path_is_there(tmp_path: Path) -> None:
    add(tmp_path / "a", "torch", "2.8.0", RECORD=RECORD)
    put(tmp_path / "b" / "torch" / "__init__.py")
    assert value(read(tmp_path / "a", tmp_path / "b"), "torch.gone") is False


def test_without_a_list_of_files_or_editable_nobody_asks(tmp_path: Path) -> None:
    add(tmp_path, "triton", "3.4.0")
    editable = '{"url": "file:///src/torch", "dir_info": {"editable": true}}'
    assert isinstance(_gone(tmp_path, direct_url=editable), Absent)
    assert isinstance(read(tmp_path)["triton.gone"], Absent)
