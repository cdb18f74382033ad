"""The whole way, on a tiny index."""

from __future__ import annotations

import io
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from fadoctor.knowledge.matrix.yaml_reader import read_yaml
from tests.tools.tiny_index import OLD_STRING, metadata, packed, torch_wheel
from tools.refresh.cli import main

if TYPE_CHECKING:
    from tests.tools.tiny_index import TinyIndex

ROOT = Path(__file__).parents[2]

TORCH = """\
table: torch-releases
doc: What torch wheels are.
keys: {version: release, platform: word}
columns: {pypi_cuda: version, triton: text, triton_marker: text, python: list, glibc: version}
references:
  - {type: EVIDENCE, url: "pkg:pypi/torch@90.0.0"}
rows:
  # kept
  - {version: 90.0.0,    platform: linux_x86_64, pypi_cuda: "99.0", triton: "==9.0.0",
     python: "3.11", glibc: "2.28", triton_marker: 'platform_system == "Linux"'}
"""
BUILDS = """\
table: torch-builds
doc: Builds.
keys: {version: release, build: word, platform: word}
columns: {cuda: version, sm: list, ptx: version, cxx11_abi: boolean}
references:
  - {type: EVIDENCE, url: "pkg:pypi/torch@90.0.0"}
rows:
  - {build: pypi cu990, platform: linux_x86_64, version: 90.0.0,
     cuda: "99.0", sm: 7.0 7.5, cxx11_abi: false}
"""
OLD = {"cuda": "99.0", "flags": "sm_70 sm_75", "constructor": OLD_STRING}


@pytest.fixture
def tables(tmp_path: Path) -> Path:
    folder = tmp_path / "matrix"
    folder.mkdir()
    (folder / "torch-releases.yaml").write_text(TORCH, "utf-8")
    (folder / "torch-builds.yaml").write_text(BUILDS, "utf-8")
    return folder


def run(index: TinyIndex, tables: Path, *options: str) -> tuple[int, str, str]:
    out, err = io.StringIO(), io.StringIO()
    base = ["--index-url", index.url, "--cache", str(index.folder / "c"), "--tables", str(tables)]
    code = main([*base, *options], out, err)
    return code, out.getvalue(), err.getvalue()


def old_torch(**changes: str) -> tuple[str, bytes]:
    pin = 'triton==9.0.0; platform_system == "Linux"'
    return torch_wheel("90.0.0", **{**OLD, "triton": pin, **changes})


def test_a_new_release_is_shown_as_a_diff_then_written_then_known(
    index: TinyIndex, tables: Path
) -> None:
    index.add("torch", old_torch(), torch_wheel("90.1.0"))
    code, diff, told = run(index, tables)
    assert code == 0
    assert '+  - {version: 90.1.0,    platform: linux_x86_64, pypi_cuda: "99.1"' in diff
    assert '+     python: "3.11", glibc: "2.28", triton_marker: ' in diff
    assert "+  - {build: pypi cu991, platform: linux_x86_64, version: 90.1.0" in diff
    assert "sm: 7.5 9.0 10.0, cxx11_abi: true}" in diff
    assert "--- a/rules/matrix/torch-releases.yaml" in diff
    assert "change: torch-releases: torch 90.1.0 linux_x86_64: a row of its own" in told
    assert (tables / "torch-releases.yaml").read_text("utf-8") == TORCH
    assert run(index, tables, "--write")[1] == diff
    asked = len(index.asked)
    assert run(index, tables, "--write")[:2] == (0, "")
    assert run(index, tables, "--offline")[:2] == (0, "")
    assert len(index.asked) == asked
    data = read_yaml((tables / "torch-releases.yaml").read_text("utf-8"), "t").data
    assert [row["version"] for row in data["rows"]] == ["90.0.0", "90.1.0"]
    assert not list(tables.glob(".*"))


def test_a_contradiction_is_loud_and_stays_until_it_is_overruled(
    index: TinyIndex, tables: Path
) -> None:
    index.add("torch", old_torch(cuda="98.7"))
    code, diff, told = run(index, tables, "--write")
    assert (code, diff) == (1, "")
    assert "CONTRADICTION: torch-releases: torch 90.0.0 linux_x86_64: pypi_cuda is 99.0" in told
    code, diff, _ = run(index, tables, "--write", "--overrule", "--table", "torch-releases")
    assert (code, 'pypi_cuda: "98.7"' in diff) == (0, True)
    assert run(index, tables, "--table", "torch-releases")[:2] == (0, "")


def test_a_later_upload_lengthens_the_list_of_pythons(index: TinyIndex, tables: Path) -> None:
    later = old_torch(python="cp312-cp312")
    index.add("torch", old_torch(), later)
    code, diff, _ = run(index, tables, "--package", "torch==90.0.0")
    assert (code, "python: 3.11 3.12," in diff) == (0, True)


def test_a_cpu_build_has_no_row_of_builds(index: TinyIndex, tables: Path) -> None:
    index.add("torch", torch_wheel("90.1.0", cuda=None, flags="", triton="filelock"))
    code, diff, _ = run(index, tables)
    assert (code, "torch-builds" in diff) == (0, False)
    assert "+  - {version: 90.1.0,    platform: linux_x86_64, python" in diff


def test_a_wheel_that_cannot_be_read_is_named_and_the_rest_goes_on(
    index: TinyIndex, tables: Path
) -> None:
    broken = "torch-90.1.0-cp311-cp311-manylinux_2_28_x86_64.whl"
    index.add("torch", old_torch(), (broken, b"x" * 1000), torch_wheel("90.2.0"))
    code, diff, told = run(index, tables)
    assert (code, "90.2.0" in diff, "90.1.0" in diff) == (3, True, False)
    assert "NOT READ: torch-releases: torch 90.1.0:" in told


def test_only_what_is_asked_for_is_looked_up(index: TinyIndex, tables: Path) -> None:
    index.add("torch", old_torch(), torch_wheel("90.1.0"))
    run(index, tables, "--package", "torch==90.0.0", "--table", "torch-builds")
    assert {path for path, _ in index.asked} == {
        "/simple/torch/",
        "/files/torch-90.0.0-cp311-cp311-manylinux_2_28_x86_64.whl",
    }


def test_what_is_older_than_a_table_costs_nothing(index: TinyIndex, tables: Path) -> None:
    index.add("torch", torch_wheel("80.0.0"), old_torch())
    assert run(index, tables)[0] == 0
    assert not any("torch-80" in path for path, _ in index.asked)


def test_a_release_or_a_package_that_is_not_there(index: TinyIndex, tables: Path) -> None:
    index.add("torch", old_torch())
    assert run(index, tables, "--package", "torch==1.0")[0] == 3
    assert run(index, tables, "--package", "left-pad")[0] == 2
    assert run(index, tables, "--package", "torch==x.y")[0] == 2
    assert run(index, tables, "--tables", str(tables / "no"))[0] == 2


def test_an_index_of_files(index: TinyIndex, tables: Path, tmp_path: Path) -> None:
    name, body = torch_wheel("90.1.0")
    folder = tmp_path / "simple" / "torch"
    folder.mkdir(parents=True)
    (folder / name).write_bytes(body)
    (folder / "index.html").write_text(f'<a href="{name}">x</a>', "utf-8")
    out = io.StringIO()
    url = folder.parent.as_uri()
    options = ["--index-url", url, "--cache", str(tmp_path / "c"), "--tables", str(tables)]
    assert main(options, out, io.StringIO()) == 0
    assert "+  - {version: 90.1.0" in out.getvalue()


def test_other_tables_from_other_packages(index: TinyIndex, tmp_path: Path) -> None:
    tables = tmp_path / "real"
    tables.mkdir()
    for name in ("xformers-releases", "transformers-flash-attn", "packages-glibc"):
        text = (ROOT / "rules" / "matrix" / f"{name}.yaml").read_text("utf-8")
        (tables / f"{name}.yaml").write_text(text, "utf-8")
    record = (
        b'{"version": {"cuda": 9901, "torch": "90.0.0"},'
        b' "env": {"TORCH_CUDA_ARCH_LIST": "8.0+PTX 9.0a"}}'
    )
    wheel = {
        "xformers/cpp_lib.json": record,
        "x-1.dist-info/METADATA": metadata("xformers", "90", "torch==90.0.0"),
    }
    index.add("xformers", ("xformers-90.0.0-py39-none-manylinux_2_28_x86_64.whl", packed(wheel)))
    source = (
        b"def is_flash_attn_2_available():\n    mapping = _package_distribution_mapping()\n"
        b'    return a >= version.parse("77.0")\n\ndef other():\n    pass\n'
    )
    wheel = {"transformers/utils/import_utils.py": source}
    index.add("transformers", ("transformers-90.0.0-py3-none-any.whl", packed(wheel)))
    index.add("vllm", ("vllm-90.0.0-cp38-abi3-manylinux_2_31_x86_64.whl", b""))
    code, diff, told = run(index, tables)
    assert code == 1
    assert "+  - {version: 90.0.0" in diff
    assert 'torch: "==90.0.0", cuda: "99.1"' in " ".join(diff.split())
    assert "flash_attn is >=2.3.3 in the table and >=77.0 in the package" in told
    assert '+  - {package: vllm,   version: ">=90.0.0,<90.1"' in diff


BESIDE = """\
table: torchvision-releases
keys: {version: release}
columns: {torch: text, with: version, python: list}
references:
  - {type: EVIDENCE, url: "pkg:pypi/torchvision@0.90.0"}
rows:
  - {version: 0.90.0, torch: "==90.0.0", with: 90.0.0, python: "3.11"}
"""


def test_torchvision_is_published_with_the_torch_that_it_pins(
    index: TinyIndex, tmp_path: Path
) -> None:
    """A wheel without a Python in its tags leaves that cell to people, a range the partner."""
    (tmp_path / "torchvision-releases.yaml").write_text(BESIDE, "utf-8")
    wheels = []
    for version, pin, tag in (
        ("0.90.0", "torch==90.0.0", "cp311-cp311"),
        ("0.91.0", "torch==91.0.0", "cp311-cp311"),
        ("0.92.0", "torch>=91.0.0", "py3-none"),
    ):
        members = {"x-1.dist-info/METADATA": metadata("torchvision", version, pin)}
        name = f"torchvision-{version}-{tag}-manylinux_2_28_x86_64.whl"
        wheels.append((name, packed(members)))
    index.add("torchvision", *wheels)
    code, diff, told = run(index, tmp_path, "--table", "torchvision-releases")
    assert code == 0, told
    assert '+  - {version: 0.91.0, torch: "==91.0.0", with: 91.0.0, python: "3.11"}' in diff
    assert '+  - {version: 0.92.0, torch: ">=91.0.0"' in diff
    assert "with: {unknown: not read from the package}" in diff


def test_a_new_flash_attn_is_found_on_the_page_alone(index: TinyIndex, tmp_path: Path) -> None:
    name = "flash-attn-releases.yaml"
    tables = tmp_path / "real"
    tables.mkdir()
    (tables / name).write_bytes((ROOT / "rules" / "matrix" / name).read_bytes())
    anchor = (
        '<a href="flash_attn-90.0.0.tar.gz" data-requires-python="&gt;=3.9"'
        ' data-upload-time="2030-01-31T10:00:00Z">x</a>'
    )
    index.files["/simple/flash-attn/"] = anchor.encode()
    code, diff, _ = run(index, tables, "--write")
    assert code == 0
    (line,) = [line for line in diff.splitlines() if line.startswith("+  - {version")]
    assert "on_pypi: true" in line
    assert 'published: "2030-01-31"' in line
    assert 'python: ">=3.9"' in line
    assert "tag: {unknown: not read from the package}" in line
    assert [path for path, _ in index.asked] == ["/simple/flash-attn/"]
    assert run(index, tables)[:2] == (0, "")


TRITON = """\
table: triton-releases
doc: Triton.
keys: {version: release}
columns: {torch: list, ptxas: version, python: text}
references: []
rows:
  - {version: 9.0.0, ptxas: "9.9", python: 3.11-3.13}
"""


def test_triton_learns_from_the_table_of_torch_which_release_pins_it(
    index: TinyIndex, tables: Path
) -> None:
    (tables / "triton-releases.yaml").write_text(TRITON, "utf-8")
    names = ("9.0.0-cp311-cp311", "9.0.0-cp312-abi3", "9.0.0-cp313-cp313t", "9.1.0-cp311-cp311")
    index.add("torch", old_torch(), torch_wheel("90.1.0"))
    wheels = [(f"triton-{name}-manylinux_2_27_x86_64.whl", b"") for name in names]
    index.add("triton", *wheels)
    code, diff, told = run(index, tables)
    assert code == 0
    assert '+  - {version: 9.0.0, ptxas: "9.9", python: 3.11-3.13, torch: 90.0.0}' in diff
    assert "+  - {version: 9.1.0, ptxas: {unknown: not read from the package}" in diff
    assert "torch: 90.1.0}" in diff
    assert "agrees: triton-releases: triton 9.0.0: python" in told


@pytest.mark.parametrize("source", [b"", b"def is_flash_attn_2_available():\n    return True\n"])
def test_a_transformers_without_the_bound_is_not_read(
    index: TinyIndex, tmp_path: Path, source: bytes
) -> None:
    name = "transformers-flash-attn.yaml"
    tables = tmp_path / "real"
    tables.mkdir()
    (tables / name).write_bytes((ROOT / "rules" / "matrix" / name).read_bytes())
    body = packed({"transformers/utils/import_utils.py": source})
    index.add("transformers", ("transformers-90.0.0-py3-none-any.whl", body))
    code, diff, told = run(index, tables)
    assert (code, diff) == (3, "")
    assert "no bound for flash-attn" in told


def test_pins_are_listed(index: TinyIndex, tables: Path) -> None:
    body = packed(
        {
            "b-1.dist-info/METADATA": metadata(
                "bitsandbytes", "90", "torch<3,>=2", 'transformers>=4; extra == "test"', "numpy"
            ),
            "bitsandbytes/libbitsandbytes_cuda991.so": b"",
            "bitsandbytes/libbitsandbytes_cuda992_nocublaslt.so": b"",
        }
    )
    index.add("bitsandbytes", ("bitsandbytes-90.0.0-py3-none-manylinux_2_24_x86_64.whl", body))
    code, _, told = run(index, tables, "--pins", "--package", "bitsandbytes")
    assert code == 0
    assert told.splitlines()[:5] == [
        "bitsandbytes 90.0.0:",
        "  torch: <3,>=2",
        '  transformers: >=4; extra == "test"',
        "  cuda libraries: 99.1",
        "  cuda libraries: 99.2",
    ]


def test_what_would_steer_a_terminal_is_not_printed(index: TinyIndex, tables: Path) -> None:
    name = "torch-90.1.0-cp311-cp311-manylinux_2_28_x86_64.%1b[31m_x86_64.whl"
    index.add("torch", old_torch(), (name, b""))
    assert "\x1b" not in run(index, tables)[2]


@pytest.mark.network
def test_a_real_release_agrees_with_its_row(tmp_path: Path) -> None:
    out, err = io.StringIO(), io.StringIO()
    options = ["--package", "xformers==0.0.35", "--cache", str(tmp_path)]
    assert main(options, out, err) == 0, err.getvalue()
    assert out.getvalue() == ""
    assert "agrees: xformers-releases: xformers 0.0.35: torch, cuda, sm" in err.getvalue()


FRAMEWORKS_TABLE = """\
table: framework-releases
keys: {package: word, version: release}
columns: {python: text, requires: list}
references:
  - {type: EVIDENCE, url: "pkg:pypi/verl@1.0"}
rows:
  - {package: verl, version: 1.0.0, python: absent, requires: "torch==9.0"}
"""


def test_frameworks_say_what_they_require_of_the_stack(index: TinyIndex, tmp_path: Path) -> None:
    """Without extras, other platforms and what is no part of it; a row for each change."""
    (tmp_path / "framework-releases.yaml").write_text(FRAMEWORKS_TABLE, "utf-8")
    wheels = []
    for version, *needs in (
        ("1.1.0", "torch", "transformers<5,>=4", 'peft<1; extra == "all"', "requests>=2"),
        ("1.2.0", "torch==9.1", 'numpy<2; sys_platform == "win32"', "x @ https://e.org/x.whl"),
    ):
        body = packed({"v-1.dist-info/METADATA": metadata("verl", version, *needs)})
        wheels.append((f"verl-{version}-py3-none-any.whl", body))
    index.add("verl", *wheels)
    index.add("lightning", ("lightning-3.0.0-py3-none-any.whl", packed(
        {"l-1.dist-info/METADATA": metadata("lightning", "3.0.0", "torch>=2")})))  # fmt: skip
    code, diff, told = run(index, tmp_path, "--table", "framework-releases")
    assert code == 3, told  # the others are in no index here
    assert '{package: verl, version: 1.1.0, requires: "torch transformers<5,>=4"}' in diff
    assert '{package: verl, version: 1.2.0, requires: "torch==9.1"}' in diff
    assert "package: lightning, version: 3.0.0" in diff
