"""Plans as files of other tools: what is written is read back to the same packages."""

from __future__ import annotations

import json
import shlex
from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING

import msgspec
import pytest

from fadoctor.knowledge.matrix.query import Matrix
from fadoctor.model.errors import UsageError
from fadoctor.model.fact import Known, Unknown
from fadoctor.model.recipe import Ingredient, Recipe
from fadoctor.repair.plan.planner import PlannerRequest, make_recipe
from fadoctor.sources.manifests.read import read_manifest
from tests.states.starts import STARTS, start
from tests.unit.repair.plan.problems import session

if TYPE_CHECKING:
    from pathlib import Path

    from fadoctor.model.plan import Plan
    from fadoctor.sources.manifests.planned import Manifest

H100 = ("NVIDIA H100 80GB HBM3", "9.0", "580.65.06")
V100 = ("Tesla V100-SXM2-32GB", "7.0", "550.54.15")
FILES = {
    "dockerfile": "Dockerfile",
    "uv": "pyproject.toml",
    "pixi": "pixi.toml",
    "conda": "environment.yml",
}


def made(name: str, gpu: tuple[str, str, str], *want: str) -> Recipe:
    return planned(name, gpu, want)[1]


@cache
def planned(name: str, gpu: tuple[str, str, str], want: tuple[str, ...]) -> tuple[Plan, Recipe]:
    return make_recipe(start(name, gpu), session(), PlannerRequest(want=want))


def render(recipe: Recipe, form: str) -> str:
    return str(import_module(f"fadoctor.report.recipes.{form}").render(recipe))


def read_back(recipe: Recipe, form: str, folder: Path) -> Manifest:
    path = folder / FILES[form]
    path.write_text(render(recipe, form))
    return read_manifest(str(path))


def asked(recipe: Recipe) -> dict[str, str]:
    """Return name -> what is asked of it: a version or an address."""
    found = {}
    for each in recipe.ingredients:
        _, _, url = each.requirement.partition(" @ ")
        found[each.name] = url or each.requirement.removeprefix(each.name)
    return found


def told(manifest: Manifest) -> dict[str, str]:
    """Return the same of what was read; Python and pip are conda's own."""
    return {
        each.name: each.url or each.specifier
        for each in manifest.requirements
        if each.manager != "conda"
    }


@pytest.mark.sampled(every=3)
@pytest.mark.property
@pytest.mark.parametrize("form", FILES)
@pytest.mark.parametrize("name", STARTS)
def test_what_is_written_is_read_back_to_the_same_packages(
    name: str, form: str, tmp_path: Path
) -> None:
    want = () if "kernels" in name or "alone" in name else ("flash-attn",)
    recipe = made(name, H100, *want)
    assert recipe.ingredients
    found = read_back(recipe, form, tmp_path)
    assert told(found) == asked(recipe)
    assert [note for note in found.notes if "Python" not in note] == []


@pytest.mark.parametrize("form", FILES)
def test_python_platform_and_indexes_are_read_back(form: str, tmp_path: Path) -> None:
    recipe = made("torch of another index", H100, "flash-attn")
    assert [each.index for each in recipe.ingredients if each.name == "torch"] == [
        "https://download.pytorch.org/whl/cu126"
    ]
    found = read_back(recipe, form, tmp_path)
    assert found.python is not None
    assert "3.12" in found.python.value
    indexes = {setting.value for setting in found.indexes}
    of_torch = {each.index for each in found.requirements if each.name == "torch"}
    assert set(recipe.indexes) <= indexes | of_torch
    if form == "dockerfile":
        assert found.image is not None
        assert found.image.value.endswith("python:3.12-bookworm")


def test_what_stays_is_written_beside_what_changes() -> None:
    recipe = made("torch of another index", H100, "flash-attn")
    names = [each.name for each in recipe.ingredients]
    assert {"torch", "triton", "torchvision", "xformers", "flash-attn"} <= set(names)
    assert len(names) == len(set(names))


@pytest.mark.parametrize(
    ("facts", "version"),
    [
        ({"apex.direct_url": "git+https://github.com/NVIDIA/apex"}, "0.1"),
        ({"apex.direct_url": "file:///src/apex"}, "0.1"),
        ({"apex.editable": True}, "0.1"),
        ({}, "0.1+mine"),
    ],
)
def test_what_no_installer_finds_again_is_named_and_not_written(
    facts: dict[str, str | bool], version: str
) -> None:
    """apex of PyPI is another project: what was built here is not there."""
    environment = start("missing triton", H100)
    new = {name: Known(value, "test") for name, value in facts.items()}
    new["apex.version"] = Known(version, "test")
    other = msgspec.structs.replace(environment, facts={**environment.facts, **new})
    _, found = make_recipe(other, session(), PlannerRequest(want=("flash-attn",)))
    assert "apex" not in [each.name for each in found.ingredients]
    assert f"also there, and not written here: apex {version}" in found.comments


def test_a_file_that_was_installed_is_written_by_its_address() -> None:
    url = "https://e.org/peft-0.17.0-py3-none-any.whl"
    environment = start("missing triton", H100)
    new = {"peft.version": Known("0.17.0", "test"), "peft.direct_url": Known(url, "test")}
    other = msgspec.structs.replace(environment, facts={**environment.facts, **new})
    _, found = make_recipe(other, session(), PlannerRequest(want=("flash-attn",)))
    assert f"peft @ {url}" in [each.requirement for each in found.ingredients]


def test_where_nothing_helps_there_are_comments_only() -> None:
    plan, recipe = planned("empty", V100, ("fa3",))
    assert recipe.ingredients == ()
    assert plan.conflicts
    for form in FILES:
        lines = render(recipe, form).splitlines()
        assert all(line.startswith("#") for line in lines)
        assert any("impossible: " in line for line in lines)
    assert len(json.loads(render(recipe, "colab"))["cells"]) == 1


BUILT = Recipe(
    (
        Ingredient("torch==2.8.0"),
        Ingredient("ninja"),
        Ingredient("flash-attn==2.8.3", is_built=True, env={"MAX_JOBS": "4"}),
    ),
    python="3.12",
    platform="linux_x86_64",
    image="python:3.12-bookworm",
    variables={"X": "a 'b\" $c"},
)


def test_a_build_is_written_where_a_file_can_say_it_and_refused_elsewhere(tmp_path: Path) -> None:
    for form in ("dockerfile", "conda"):
        with pytest.raises(UsageError, match="flash-attn would have to be compiled"):
            render(BUILT, form)
    assert 'no-build-isolation-package = ["flash-attn"]' in render(BUILT, "uv")
    assert 'no-build-isolation = ["flash-attn"]' in render(BUILT, "pixi")
    assert told(read_back(BUILT, "uv", tmp_path)) == asked(BUILT)
    cells = [cell["source"] for cell in json.loads(render(BUILT, "colab"))["cells"]]
    assert "%env MAX_JOBS=4\n%pip install --no-build-isolation flash-attn==2.8.3" in cells
    compile(next(cell for cell in cells if cell.startswith("import os")), "cell", "exec")


def test_the_build_tools_come_before_what_is_compiled() -> None:
    """An environment made anew has none of them, even where this one has."""
    environment = start("torch 2.11", H100, "3.13")
    facts = {**environment.facts}
    there = dict(facts["packages.installed"].value)  # type: ignore[union-attr, arg-type]
    facts["packages.installed"] = Known({**there, "ninja": "1.13"}, "test")
    facts |= {"toolkit.nvcc.version": Known("13.0", "test")}
    question = PlannerRequest(want=("flash-attn",), keep=("torch",), allow_build=True)
    changed = msgspec.structs.replace(environment, facts=facts)
    _, recipe = make_recipe(changed, session(), question)
    if recipe.built:
        names = [each.name for each in recipe.ingredients]
        assert names.index("ninja") < names.index("flash-attn")


def test_variables_are_read_back(tmp_path: Path) -> None:
    recipe = msgspec.structs.replace(BUILT, ingredients=BUILT.ingredients[:1], variables={"X": "1"})
    for form in ("dockerfile", "conda"):
        found = read_back(recipe, form, tmp_path)
        assert {name: each.value for name, each in found.variables.items()} == {"X": "1"}


@pytest.mark.parametrize("form", FILES)
def test_what_a_tool_has_no_name_for_is_refused(form: str) -> None:
    nowhere = msgspec.structs.replace(BUILT, ingredients=BUILT.ingredients[:1], python="")
    with pytest.raises(UsageError, match="python-version"):
        render(nowhere, form)
    odd = msgspec.structs.replace(BUILT, ingredients=BUILT.ingredients[:1], platform="aix_ppc")
    if form != "conda":  # which asks nobody
        with pytest.raises(UsageError, match="aix_ppc"):
            render(odd, form)


def test_a_comment_cannot_end(tmp_path: Path) -> None:
    hostile = msgspec.structs.replace(
        BUILT, ingredients=BUILT.ingredients[:1], comments=("a\nRUN evil\r\x1b[31m",)
    )
    for form in FILES:
        lines = render(hostile, form).splitlines()
        assert not [line for line in lines if line.startswith("RUN evil")]
        assert "\x1b" not in render(hostile, form)
        assert told(read_back(hostile, form, tmp_path)) == {"torch": "==2.8.0"}


def test_every_image_of_the_table_is_one_that_a_dockerfile_is_read_by() -> None:
    """Else a Dockerfile of ours would say nothing of Python and glibc when it is checked."""
    from fadoctor.model.place import Place  # noqa: PLC0415
    from fadoctor.sources.manifests.images.container_image import read_image  # noqa: PLC0415

    tables = session().matrix.tables
    for row in tables["recipe-images"].rows:
        for python in str(row["python"]).split():
            said = read_image(
                f"{row['image']}:{python}-{row['os']}", Place("Dockerfile", 1), tables
            )
            assert said.is_known
            assert "host.glibc" in said.facts
    assert isinstance(session().matrix, Matrix)


def test_a_notebook_installs_what_the_recipe_has() -> None:
    recipe = made("torch of another index", H100, "flash-attn")
    cells = json.loads(render(recipe, "colab"))["cells"]
    [install] = [c["source"] for c in cells if c["source"].startswith("%pip install -q --extra")]
    words = shlex.split(install)
    assert words[3:5] == ["--extra-index-url", recipe.indexes[0]]
    assert words[5:] == [each.requirement for each in recipe.ingredients]
    assert all("{" not in word and "$" not in word for word in words)


@pytest.mark.parametrize("version", ["3.12\nRUN evil", '3."; evil = "x', "3.12 && evil", "", "x"])
def test_a_python_that_facts_make_up_reaches_no_file(version: str) -> None:
    """Facts may be anybody's: a pasted report, a bug report."""
    environment = start("torch 2.11", H100)
    facts = {**environment.facts, "python.version": Known(version, "test")}
    hostile = msgspec.structs.replace(environment, facts=facts)
    _, recipe = make_recipe(hostile, session(), PlannerRequest())
    assert recipe.python in ("", "3.12")


def test_a_version_that_facts_make_up_stays_one_word_of_one_line(tmp_path: Path) -> None:
    environment = start("missing triton", H100)
    facts = {**environment.facts, "peft.version": Known("0.17.0\n", "test")}
    hostile = msgspec.structs.replace(environment, facts=facts)
    _, recipe = make_recipe(hostile, session(), PlannerRequest(want=("flash-attn",)))
    for form in FILES:
        assert "peft" in told(read_back(recipe, form, tmp_path))


@pytest.mark.parametrize("abi", [Known(value=True, source="test"), Unknown("not read", "test")])
def test_a_flash_attn_whose_file_nobody_recorded_is_written_by_its_address(
    abi: Known | Unknown, tmp_path: Path
) -> None:
    """Else pip would compile it: PyPI has only its source."""
    environment = start("missing triton", H100)
    facts = {**environment.facts, "flash_attn.version": Known("2.8.3", "test")}
    facts["torch.cxx11_abi"] = abi
    there = msgspec.structs.replace(environment, facts=facts)
    _, recipe = make_recipe(there, session(), PlannerRequest())
    [found] = [each for each in recipe.ingredients if each.name == "flash-attn"]
    assert not found.is_built
    assert found.requirement.endswith(".whl")
    assert "torch2.8" in found.requirement
    assert told(read_back(recipe, "dockerfile", tmp_path)) == asked(recipe)
