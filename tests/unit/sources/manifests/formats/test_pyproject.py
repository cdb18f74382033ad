from __future__ import annotations

import pytest

from fadoctor.model.errors import InputError
from fadoctor.model.place import Place
from fadoctor.sources.manifests.formats.pyproject import read, recognises
from tests.unit.sources.manifests.given import by_name, given, sample, wanted


def test_what_uv_would_install() -> None:
    manifest = read(sample("pyproject.uv.pyproject.toml"))
    assert wanted(manifest) == {
        "torch": "==2.7.1", "transformers": ">=4.51", "flash-attn": "==2.8.3", "numpy": "<2",
        "trl": "", "pytest": ">=8", "ruff": "",
    }  # fmt: skip
    assert manifest.python is not None
    assert manifest.python.value == ">=3.10,<3.13"
    found = by_name(manifest)
    assert found["flash-attn"].marker == 'sys_platform == "linux"'
    assert found["flash-attn"].place == Place("pyproject.uv.pyproject.toml", 8, 5)
    assert found["transformers"].extras == ("torch",)
    assert found["trl"].url == "git+https://github.com/huggingface/trl@v0.18.0"
    assert {each.name: each.specifier for each in manifest.constraints} == {
        "triton": "<3.5",
        "sympy": "==1.13.1",
    }
    assert not manifest.is_complete


def test_uv_takes_a_package_from_another_index_on_each_platform() -> None:
    manifest = read(sample("pyproject.uv.pyproject.toml"))
    torch = [(each.index, each.marker) for each in manifest.requirements if each.name == "torch"]
    assert torch == [
        ("https://download.pytorch.org/whl/cu128", "sys_platform == 'linux'"),
        ("https://download.pytorch.org/whl/cpu", "sys_platform == 'darwin'"),
        ("", "sys_platform != 'linux' and sys_platform != 'darwin'"),
    ]


def test_explicit_indexes_serve_nothing_else_and_credentials_are_gone() -> None:
    manifest = read(sample("pyproject.uv.pyproject.toml"))
    assert [each.value for each in manifest.indexes] == ["https://example.org/simple"]
    assert "secret" not in repr(manifest)
    assert "token@" not in repr(manifest)


def test_what_must_be_asked_for_is_noted() -> None:
    notes = " ".join(read(sample("pyproject.uv.pyproject.toml")).notes)
    assert "the extra serve is not asked for by default: vllm" in notes
    assert "the group docs is not asked for by default: sphinx" in notes


def test_groups_are_not_installed_where_no_tool_does() -> None:
    manifest = read(given("[dependency-groups]\ndev = ['pytest']\n"))
    assert manifest.requirements == ()
    none = read(given("[dependency-groups]\ndev = ['pytest']\n[tool.uv]\ndefault-groups = []\n"))
    assert none.requirements == ()
    everything = read(given("[dependency-groups]\na = ['x']\n[tool.uv]\ndefault-groups = 'all'\n"))
    assert wanted(everything) == {"x": ""}


def test_what_poetry_would_install() -> None:
    manifest = read(sample("poetry.pyproject.toml"))
    assert manifest.python is not None
    assert manifest.python.value == ">=3.11,<4.0"
    found = by_name(manifest)
    assert found["torch"].specifier == ">=2.6,<3.0"
    assert found["torch"].index == "https://download.pytorch.org/whl/cu126"
    assert found["torch"].place == Place("poetry.pyproject.toml", 8, 21)
    assert found["transformers"].specifier == ">=4.51,<4.52"
    assert found["transformers"].extras == ("accelerate", "torch")
    assert found["flash-attn"].url.endswith("cxx11abiFALSE-cp311-cp311-linux_x86_64.whl")
    assert found["flash-attn"].specifier == "==2.7.4.post1+cu12torch2.6cxx11abiFALSE"
    assert found["peft"].url == "git+https://github.com/huggingface/peft.git@v0.15.2"
    assert found["pytest"].specifier == ">=8.0,<9.0"
    numpy = [
        (each.specifier, each.marker) for each in manifest.requirements if each.name == "numpy"
    ]
    assert numpy == [("<2", "python_version < '3.12'"), (">=2", "python_version >= '3.12'")]
    assert "vllm" not in found
    assert "sphinx" not in found
    assert [each.value for each in manifest.indexes] == ["https://example.org/simple"]


def test_poetry_adds_sources_to_the_standard_dependencies() -> None:
    text = """[project]
dependencies = ["torch==2.7.1"]
[tool.poetry.dependencies]
torch = {source = "cu128"}
[[tool.poetry.source]]
name = "cu128"
url = "https://example.org/cu128"
priority = "explicit"
"""
    manifest = read(given(text))
    assert [(each.specifier, each.index) for each in manifest.requirements] == [
        ("==2.7.1", "https://example.org/cu128")
    ]


def test_what_pdm_would_install() -> None:
    manifest = read(sample("pdm.pyproject.toml"))
    found = by_name(manifest)
    assert wanted(manifest) == {"torch": "==2.6.0", "flash-attn": "", "pytest": ">=8"}
    assert found["torch"].place.line == 10
    assert [each.name for each in manifest.constraints] == ["numpy"]
    assert manifest.groups == ("test",)


def test_pixi_can_stand_in_it() -> None:
    text = "[tool.pixi.dependencies]\npytorch = '2.5.*'\n[tool.pixi.workspace]\nchannels = ['c']\n"
    (torch,) = read(given(text)).requirements
    assert (torch.name, torch.specifier, torch.manager, torch.index) == (
        "torch", "==2.5.*", "conda", "c",
    )  # fmt: skip


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("[project]\ndependencies = ['torch=2']", "given:2 at `project.dependencies\\[0\\]`"),
        ("[project]\ndependencies = 'torch'", "at `project.dependencies`: should be a list"),
        ("[project]\n\nrequires-python = 3.11", "given:3 at `project.requires-python`: should be"),
        ("[project]\nrequires-python = 'any'", "given:2 at `project.requires-python`: 'any' is no"),
        ("[project]\nname = \n", "given:2: no TOML: expected a value"),
        ("[dependency-groups]\na = [{include-group = 'b'}]", "includes a group that is not there"),
        (
            "[dependency-groups]\na=[{include-group='b'}]\nb=[{include-group='a'}]",
            "given:[23] at `dependency-groups.[ab]`: includes itself",
        ),
        ("[tool.poetry.dependencies]\ntorch = '^x'", "at `tool.poetry.dependencies.torch`: '"),
        ("[tool.poetry.dependencies]\ntorch = 2", "at `tool.poetry.dependencies.torch`: should be"),
        ("[tool.poetry.dependencies]\nt = {source='x', version='1'}", "there is no source named x"),
        ("[tool.poetry.dependencies]\nt = {version='1', markers='x'}", "'x' is not a marker"),
        ("[project]\ndependencies=['t']\n[tool.uv.sources]\nt={index='x'}", "no index named x"),
        ("[[tool.uv.index]]\nname = 'x'", "an index without a url"),
        ("[tool.pdm.resolution.overrides]\nx = 'y z'", "'y z' is not a version range"),
        ("[tool]\nuv = 3", "given:2 at `tool.uv`: should be a table"),
    ],
)  # fmt: skip
def test_a_fault_names_line_and_key(text: str, problem: str) -> None:
    with pytest.raises(InputError, match=problem):
        read(given(text))


def test_dynamic_dependencies_are_noted_where_nothing_else_says_them() -> None:
    text = "[project]\ndynamic = ['dependencies']\n"
    assert "a build computes them" in read(given(text)).notes[0]
    assert read(given(text + "[tool.poetry.dependencies]\ntorch = '2.7.1'\n")).notes == ()


def test_it_is_known_by_its_name() -> None:
    assert recognises("pyproject.toml", "")
    assert not recognises("other.toml", "[project]")


PROJECT = "[project]\nname = 'x'\nversion = '0'\ndependencies = ['torch==2.6.0', 'peft']\n"


PYTORCH = "https://download.pytorch.org/whl/"
NAMED = (
    "[tool.uv.sources]\ntorch = {index = 'a'}\n[[tool.uv.index]]\nname = 'a'\n"
    "url = 'https://download.pytorch.org/whl/cu126'\nexplicit = true\n"
)


@pytest.mark.parametrize(
    ("settings", "build", "only"),
    [
        ("[tool.uv.pip]\ntorch-backend = 'cu118'\n", "cu118", True),
        ("[tool.uv.pip]\ntorch-backend = 'auto'\n", "", False),
        (f"{NAMED}[tool.uv.pip]\ntorch-backend = 'cu118'\n", "cu126", True),
        (f"[tool.uv.pip]\nextra-index-url = ['{PYTORCH}cu124']\n", "cu124", True),
    ],
)
def test_what_uv_pip_is_told_counts(*, settings: str, build: str, only: bool) -> None:
    found = by_name(read(given(PROJECT + settings)))
    index = f"{PYTORCH}{build}" if build else ""
    assert (found["torch"].index, found["torch"].is_only_index) == (index, only)
    assert not found["peft"].index


def test_isolation_is_off_for_all_that_ask_for_torch() -> None:
    project = PROJECT.replace("peft", "axolotl==0.10.0")
    assert by_name(read(given(project)))["axolotl"].is_isolated
    off = read(given(f"{project}[tool.uv]\nno-build-isolation = true\n"))
    assert not by_name(off)["axolotl"].is_isolated


def test_a_source_for_another_machine_loses_no_pin() -> None:
    text = PROJECT + (
        "[tool.uv.sources]\ntorch = [{index = 'cu', marker = \"sys_platform == 'linux' and "
        "(platform_machine == 'aarch64')\"}]\n[[tool.uv.index]]\nname = 'cu'\n"
        "url = 'https://download.pytorch.org/whl/cu128'\nexplicit = true\n"
    )
    torch = [each for each in read(given(text)).requirements if each.name == "torch"]
    assert [each.marker for each in torch if not each.index] == [
        "sys_platform != 'linux' or platform_machine != 'aarch64'"
    ]


def test_poetrys_older_table_is_the_group_dev() -> None:
    text = (
        "[tool.poetry.dependencies]\ntorch = '2.1.2'\n[tool.poetry.dev-dependencies]\nruff = '*'\n"
    )
    assert "dev" in read(given(text)).groups
