"""Another build of torch, written where a project says which index it comes from."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import pytest

from fadoctor.model.environment import Environment, Target
from fadoctor.model.fact import Fact, Known
from fadoctor.model.packages import package_of
from fadoctor.model.plan import Action, ActionKind, Plan, PlanOutcome
from fadoctor.repair.resolution.lines import Lines, lines_of
from fadoctor.sources.manifests.chosen import ManifestRequest
from fadoctor.sources.manifests.read import read_source
from fadoctor.sources.manifests.source import open_source

if TYPE_CHECKING:
    from pathlib import Path

    from fadoctor.model.place import Place

tomllib = pytest.importorskip("tomllib")

ALONE = 'priority = "explicit"\n'
WHL = "https://download.pytorch.org/whl/"
PROJECT = (
    '[project]\nname = "a"\nversion = "1"\n'
    'dependencies = [\n    "torch~=2.8.0",\n    "torchvision",\n]\n'
)
LINUX: dict[str, Fact] = {
    "host.os": Known("linux", "test"),
    "host.machine": Known("x86_64", "test"),
}


def install(index: str, *items: str) -> Action:
    return Action(ActionKind.INSTALL, "", requirements=items, index=index)


def written(
    tmp_path: Path,
    text: str,
    action: Action,
    *,
    name: str = "pyproject.toml",
    facts: dict[str, Fact] | None = None,
    whole: bool = False,
    choice: ManifestRequest | None = None,
) -> Lines:
    """Return what becomes of a project whose lines are all found by its reader."""
    file = tmp_path / name
    file.write_text(text)
    read = read_source(open_source(str(file), choice))
    places: dict[str, tuple[Place, ...]] = {}
    for each in read.requirements:
        places[f"{package_of(each.name, each.name)}.version"] = (each.place,)
    target = Target("manifest", "x", "y")
    environment = Environment("0", target, LINUX | (facts or {}), places=places)
    plan = Plan(PlanOutcome.REPAIRS, target, "pip", (action,))
    opened = partial(open_source, choice=choice)
    return lines_of(plan, environment, [str(file)], opened, whole=whole)


def uv_sources(text: str) -> tuple[dict[str, object], dict[str, str]]:
    """Return the sources of a project, and the addresses of its indexes by name."""
    uv = tomllib.loads(text)["tool"]["uv"]
    return uv["sources"], {each["name"]: each["url"] for each in uv["index"]}


INDEX = f'[[tool.uv.index]]\nname = "{{0}}"\nurl = "{WHL}{{1}}"\nexplicit = true\n'


def test_an_index_of_another_build_gets_its_address_and_its_name(tmp_path: Path) -> None:
    """Regression: a label was put into a list that the index could not serve."""
    text = (
        PROJECT
        + '[tool.uv.sources]\ntorch = { index = "t-cu124" }\n'
        + 'torchvision = [{ index = "t-cu124" }]\n'
        + INDEX.format("t-cu124", "cu124")
    )
    found = written(tmp_path, text, install(WHL + "cu128", "torch==2.8.0+cu128"))
    sources, indexes = uv_sources(found.rewrites[0].text)
    assert sources == {"torch": {"index": "t-cu128"}, "torchvision": [{"index": "t-cu128"}]}
    assert indexes == {"t-cu128": WHL + "cu128"}
    assert '"torch~=2.8.0",' in found.rewrites[0].text
    assert [each.text for each in found.edits] == [""]


def test_the_sources_of_a_group_that_was_asked_for_move_with_its_index(tmp_path: Path) -> None:
    """Regression: an index was added, and the sources went on naming the old one."""
    text = (
        '[project]\nname = "a"\nversion = "1"\n'
        '[dependency-groups]\ntrain = [\n    "torch>=2.5.1",\n]\n'
        "[tool.uv.sources]\n"
        'torch = [{ index = "old-cu118", marker = "sys_platform == \'linux\'" }]\n'
        + INDEX.format("old-cu118", "cu118")
    )
    step = install(WHL + "cu124", "torch==2.5.1+cu124")
    found = written(tmp_path, text, step, choice=ManifestRequest(groups=("train",)))
    sources, indexes = uv_sources(found.rewrites[0].text)
    marker = "sys_platform == 'linux'"
    assert sources == {"torch": [{"index": "old-cu124", "marker": marker}]}
    assert indexes == {"old-cu124": WHL + "cu124"}


def test_a_build_for_the_cpu_stays_for_the_others(tmp_path: Path) -> None:
    mac = '{ index = "cpu", marker = "sys_platform == \'darwin\'" }'
    here = '{ index = "cpu", marker = "sys_platform != \'darwin\'" }'
    text = PROJECT + f"[tool.uv.sources]\ntorch = [{mac}, {here}]\n" + INDEX.format("cpu", "cpu")
    found = written(tmp_path, text, install(WHL + "cu129", "torch==2.8.0+cu129"))
    sources, indexes = uv_sources(found.rewrites[0].text)
    new = {"index": "pytorch-cu129", "marker": "sys_platform != 'darwin'"}
    assert sources["torch"] == [{"index": "cpu", "marker": "sys_platform == 'darwin'"}, new]
    assert sources["torchvision"] == [new]
    assert indexes == {"cpu": WHL + "cpu", "pytorch-cu129": WHL + "cu129"}


@pytest.mark.parametrize(
    ("machine", "marker"),
    [
        ("x86_64", "sys_platform == 'linux'"),
        ("aarch64", "sys_platform == 'linux' and platform_machine == 'aarch64'"),
    ],
)
def test_a_project_without_an_index_gets_one_for_this_platform(
    tmp_path: Path, machine: str, marker: str
) -> None:
    text = PROJECT + "[tool.uv]\npackage = false\n"
    facts: dict[str, Fact] = {"host.machine": Known(machine, "test")}
    step = install(WHL + "cu130", "torch==2.9.1+cu130")
    found = written(tmp_path, text, step, facts=facts)
    sources, indexes = uv_sources(found.rewrites[0].text)
    assert sources["torch"] == [{"index": "pytorch-cu130", "marker": marker}]
    assert indexes == {"pytorch-cu130": WHL + "cu130"}
    assert '"torch==2.9.1",' in found.rewrites[0].text


def test_a_mirror_stays_the_mirror(tmp_path: Path) -> None:
    url = "https://mirror.example.org/wheels/cu124"
    index = f'[[tool.uv.index]]\nname = "m"\nurl = "{url}"\n'
    text = PROJECT + '[tool.uv.sources]\ntorch = { index = "m" }\n' + index
    found = written(tmp_path, text, install(WHL + "cu128", "torch==2.8.0+cu128"))
    assert uv_sources(found.rewrites[0].text)[1] == {"m": "https://mirror.example.org/wheels/cu128"}


def test_an_index_for_all_packages_gets_the_address(tmp_path: Path) -> None:
    text = PROJECT + f'[tool.uv]\nextra-index-url = ["{WHL}cu121"]\n'
    found = written(tmp_path, text, install(WHL + "cu128", "torch==2.8.0+cu128"))
    assert tomllib.loads(found.rewrites[0].text)["tool"]["uv"] == {
        "extra-index-url": [WHL + "cu128"]
    }


def test_the_block_of_a_script_is_changed_within_its_comments(tmp_path: Path) -> None:
    text = '# /// script\n# dependencies = [\n#   "torch==2.6.0",\n# ]\n# ///\nimport torch\n'
    step = install(WHL + "cu128", "torch==2.7.1+cu128")
    [rewrite] = written(tmp_path, text, step, name="a.py").rewrites
    lines = rewrite.text.split("\n")
    assert lines[2] == '#   "torch==2.7.1",'
    assert lines[-3:] == ["# ///", "import torch", ""]
    assert all(line.startswith("#") for line in lines[:-2])
    assert f'# url = "{WHL}cu128"' in lines


def test_poetry_gets_a_source_beside_the_list_of_a_project(tmp_path: Path) -> None:
    text = PROJECT + '[build-system]\nbuild-backend = "poetry.core.masonry.api"\n'
    found = written(tmp_path, text, install(WHL + "cu128", "torch==2.8.0+cu128"))
    poetry = tomllib.loads(found.rewrites[0].text)["tool"]["poetry"]
    assert poetry == {
        "dependencies": {
            "torch": {"source": "pytorch-cu128"},
            "torchvision": {"source": "pytorch-cu128"},
        },
        "source": [{"name": "pytorch-cu128", "url": WHL + "cu128", "priority": "explicit"}],
    }


@pytest.mark.parametrize("known", [True, False])
def test_tables_of_poetry_name_release_and_source(tmp_path: Path, *, known: bool) -> None:
    """Regression: a source of the same address was added under another name."""
    source = f'[[tool.poetry.source]]\nname = "gpu"\nurl = "{WHL}cu128"\n{ALONE}' if known else ""
    mac = '{ version = "^2.2", markers = "sys_platform == \'darwin\'" }'
    here = '{ version = "2.6.0", markers = "sys_platform != \'darwin\'" }'
    text = (
        '[tool.poetry]\nname = "a"\n[tool.poetry.dependencies]\ntorchvision = "0.21.0"\n'
        f"torch = [\n  {mac},\n  {here}\n]\n{source}"
    )
    step = install(WHL + "cu128", "torch==2.7.1+cu128", "torchvision==0.22.1+cu128")
    found = written(tmp_path, text, step)
    poetry = tomllib.loads(found.rewrites[0].text)["tool"]["poetry"]
    name = "gpu" if known else "pytorch-cu128"
    assert [each["name"] for each in poetry["source"]] == [name]
    assert poetry["dependencies"]["torchvision"] == {"version": "0.22.1", "source": name}
    assert poetry["dependencies"]["torch"][0] == {
        "version": "^2.2",
        "markers": "sys_platform == 'darwin'",
    }


@pytest.mark.parametrize(
    "sources",
    [
        'torch = { git = "https://github.com/pytorch/pytorch" }\n',
        'torch = { index = "i", marker = "platform_release == \'5\'" }\n',
    ],
)
def test_what_cannot_be_decided_is_left_to_hands(tmp_path: Path, sources: str) -> None:
    text = PROJECT + f"[tool.uv.sources]\n{sources}" + INDEX.format("i", "cu124")
    found = written(tmp_path, text, install(WHL + "cu128", "torch==2.8.0+cu128"))
    assert not found.rewrites
    assert [each.text.endswith("name that index there for it") for each in found.edits] == [True]


def test_the_triton_of_a_torch_for_rocm_is_named_as_well(tmp_path: Path) -> None:
    """uv takes from such an index only what a project itself asks for."""
    text = PROJECT.replace("~=2.8.0", ">=2.5") + "[tool.uv]\npackage = false\n"
    step = install(WHL + "rocm6.4", "torch==2.9.1+rocm6.4")
    found = written(tmp_path, text, step)
    project = tomllib.loads(found.rewrites[0].text)
    triton = "pytorch-triton-rocm"
    assert f"{triton}; sys_platform == 'linux'" in project["project"]["dependencies"]
    sources = project["tool"]["uv"]["sources"]
    assert sources[triton] == sources["torch"] == sources["torchvision"]


def test_a_triton_that_no_table_names_is_told(tmp_path: Path) -> None:
    text = PROJECT.replace("~=2.8.0", ">=2.5") + "[tool.uv]\npackage = false\n"
    found = written(tmp_path, text, install(WHL + "rocm7.14", "torch==2.14.1+rocm7.14"))
    assert "requires a triton that" in found.edits[-1].text


def test_a_build_of_pypi_comes_from_the_index_that_has_it(tmp_path: Path) -> None:
    """Regression: poetry took torch from PyPI, and its companions from another CUDA's source."""
    source = f'[[tool.poetry.source]]\nname = "cu128"\nurl = "{WHL}cu128"\n{ALONE}'
    there = '{ version = "==2.7.1+cu128", source = "cu128" }'
    text = f'[tool.poetry]\nname = "a"\n[tool.poetry.dependencies]\ntorch = {there}\n{source}'
    facts: dict[str, Fact] = {"host.platform": Known("linux_x86_64", "test")}
    found = written(tmp_path, text, install("", "torch==2.7.1"), facts=facts)
    poetry = tomllib.loads(found.rewrites[0].text)["tool"]["poetry"]
    assert poetry["dependencies"]["torch"] == {"version": "2.7.1", "source": "cu126"}
    assert [each["url"] for each in poetry["source"]] == [WHL + "cu126"]


FILE = "https://example.com/d/{0}/flash_attn-{0}%2Bcu12torch2.8cxx11abiFALSE-cp311-cp311-linux_x86_64.whl"


@pytest.mark.parametrize(
    ("asked", "then"),
    [("flash-attn", "flash-attn"), ("flash-attn==2.8.3", "flash-attn==2.7.4.post1")],
)
def test_a_file_that_uv_is_told_of_gives_way_to_another_in_its_place(
    tmp_path: Path, asked: str, then: str
) -> None:
    """Regression: an address came into the list, and uv went on taking the file of its source."""
    source = f'[tool.uv.sources]\nflash-attn = {{ url = "{FILE.format("2.8.3")}" }}\n'
    text = f'[project]\nname = "a"\nversion = "1"\ndependencies = ["torch", "{asked}"]\n{source}'
    wanted = FILE.format("2.7.4.post1")
    found = written(tmp_path, text, install("", f"flash-attn @ {wanted}"))
    new = tomllib.loads(found.rewrites[0].text)
    assert new["project"]["dependencies"] == ["torch", then]
    assert new["tool"]["uv"]["sources"] == {"flash-attn": {"url": wanted}}


@pytest.mark.parametrize(
    ("action", "left"),
    [
        (install("", "flash-attn==2.8.3"), ["torch", "flash-attn==2.8.3"]),
        (Action(ActionKind.UNINSTALL, "", requirements=("flash-attn",)), ["torch"]),
    ],
)
def test_no_file_is_left_for_what_comes_from_an_index_or_goes(
    tmp_path: Path, action: Action, left: list[str]
) -> None:
    source = f'[tool.uv.sources]\nflash-attn = {{ url = "{FILE.format("2.8.2")}" }}\n'
    text = f'[project]\nname = "a"\nversion = "1"\ndependencies = ["torch", "flash-attn"]\n{source}'
    new = tomllib.loads(written(tmp_path, text, action).rewrites[0].text)
    assert new["project"]["dependencies"] == left
    assert new["tool"]["uv"]["sources"] == {}
