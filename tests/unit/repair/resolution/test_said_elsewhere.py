"""What a plan changes beside the line that asks: constraints, and lists that nobody chose."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec
import pytest

from fadoctor.model.environment import Environment, Target
from fadoctor.model.plan import Plan, PlanOutcome
from fadoctor.repair.resolution.lines import Lines, lines_of
from fadoctor.repair.resolution.said_elsewhere import SaidOf, specifier_of
from fadoctor.sources.manifests.chosen import choice_of
from fadoctor.sources.manifests.installed.environment import planned_environment
from fadoctor.sources.manifests.read import read_manifest, read_source
from fadoctor.sources.manifests.source import open_source
from tests.unit.judging.engine.builders import fact_of
from tests.unit.repair.plan.problems import session
from tests.unit.repair.resolution.test_lines import install
from tests.unit.sources.manifests.installed.test_environment import HOST

if TYPE_CHECKING:
    from pathlib import Path

    from fadoctor.model.plan import Action

PROJECT = '[project]\nname = "mine"\nversion = "1"\n'


def lines(folder: Path, name: str, *actions: Action) -> tuple[Environment, Lines]:
    """Return what a plan makes of a file and of what it names."""
    path = str(folder / name)
    facts = {key: fact_of(value) for key, value in HOST.items()}
    machine = Environment("0", Target("manifest", "x", "y"), facts)
    environment = planned_environment(machine, [read_manifest(path)], session().matrix)
    plan = Plan(PlanOutcome.REPAIRS, Target("manifest", "x", "y"), "pip", actions)
    return environment, lines_of(plan, environment, [path])


def texts(folder: Path, name: str, *actions: Action) -> dict[str, str]:
    """Return file -> what it becomes."""
    _, found = lines(folder, name, *actions)
    return {each.source.path.name: each.text for each in found.rewrites}


@pytest.mark.parametrize(
    ("line", "bound", "then"),
    [
        ("peft", "peft==0.17.0\n", {"bounds.txt": "peft==0.18.0\n"}),
        ("peft>=0.10", "peft<0.18\n", {"bounds.txt": "peft==0.18.0\n"}),
        ("peft==0.17.0", "numpy<2\npeft==0.17.0\n",
         {"requirements.txt": "-c bounds.txt\npeft==0.18.0\n",
          "bounds.txt": "numpy<2\npeft==0.18.0\n"}),
        ("peft==0.17.0", "peft>=0.10\n", {"requirements.txt": "-c bounds.txt\npeft==0.18.0\n"}),
        ("peft==0.17.0", "numpy<2\n", {"requirements.txt": "-c bounds.txt\npeft==0.18.0\n"}),
    ],
)  # fmt: skip
def test_the_constraint_that_refuses_it_changes(
    tmp_path: Path, line: str, bound: str, then: dict[str, str]
) -> None:
    (tmp_path / "bounds.txt").write_text(bound)
    (tmp_path / "requirements.txt").write_text(f"-c bounds.txt\n{line}\n")
    assert texts(tmp_path, "requirements.txt", install("peft==0.18.0")) == then


@pytest.mark.parametrize(
    ("said", "command"),
    [
        ("ENV PIP_CONSTRAINT=/app/bounds.txt", "pip install -r requirements.txt"),
        ("ENV PIP_CONSTRAINT=bounds.txt", "python -m pip install -r requirements.txt"),
        ("ENV UV_CONSTRAINT=bounds.txt", "uv pip install --system -r requirements.txt"),
        ("ARG PIP_CONSTRAINT=bounds.txt", "pip install -r requirements.txt"),
        ("RUN true", "pip install -c bounds.txt -r requirements.txt"),
    ],
)
def test_the_constraints_of_an_image_are_read_and_changed(
    tmp_path: Path, said: str, command: str
) -> None:
    (tmp_path / "bounds.txt").write_text("transformers==5.0.0\n")
    (tmp_path / "requirements.txt").write_text("transformers\n")
    (tmp_path / "Dockerfile").write_text(
        f"FROM python:3.12\nWORKDIR /app\nCOPY . .\n{said}\nRUN {command}\n"
    )
    environment, found = lines(tmp_path, "Dockerfile", install("transformers==4.57.1"))
    version = environment.facts["transformers.version"]
    assert (version.value, str(environment.places["transformers.version"][0])) == (  # type: ignore[union-attr]
        "5.0.0", f"{tmp_path}/bounds.txt:1:1",
    )  # fmt: skip
    assert [each.text for each in found.rewrites] == ["transformers==4.57.1\n"]


def test_constraints_of_another_installer_are_none(tmp_path: Path) -> None:
    (tmp_path / "bounds.txt").write_text("transformers==5.0.0\n")
    (tmp_path / "Dockerfile").write_text(
        "FROM python:3.12\nCOPY . .\nENV UV_CONSTRAINT=bounds.txt\nRUN pip install transformers\n"
    )
    environment, _ = lines(tmp_path, "Dockerfile")
    assert "5.0.0" not in str(environment.facts["transformers.version"])


def test_what_contradicts_names_the_line_of_the_constraint(tmp_path: Path) -> None:
    (tmp_path / "bounds.txt").write_text("\npeft==0.17.0\n")
    (tmp_path / "requirements.txt").write_text("-c bounds.txt\npeft==0.18.0\n")
    environment, _ = lines(tmp_path, "requirements.txt")
    folder = tmp_path
    assert (
        f"{folder}/requirements.txt:2:1 says ==0.18.0, {folder}/bounds.txt:2:1 says ==0.17.0"
        in str(environment.facts["packages.contradicted"])
    )


@pytest.mark.parametrize("table", ["dependency-groups", "project.optional-dependencies"])
def test_a_list_that_nobody_chose_changes_alike(tmp_path: Path, table: str) -> None:
    text = f'{PROJECT}dependencies = ["peft==0.17.0"]\n[{table}]\nx = ["peft==0.17.0", "einops"]\n'
    (tmp_path / "pyproject.toml").write_text(text)
    found = texts(tmp_path, "pyproject.toml", install("peft==0.18.0"))
    assert found == {"pyproject.toml": text.replace("0.17.0", "0.18.0")}


def test_a_list_that_is_meant_to_differ_is_named_and_stays(tmp_path: Path) -> None:
    text = f'{PROJECT}dependencies = ["peft>=0.10"]\n[dependency-groups]\nold = ["peft==0.11.0"]\n'
    path = tmp_path / "pyproject.toml"
    path.write_text(text)
    _, found = lines(tmp_path, "pyproject.toml", install("peft==0.18.0"))
    assert [each.text for each in found.rewrites] == [text.replace(">=0.10", "==0.18.0")]
    assert f"{path}:6:8 still asks for peft==0.11.0, which peft==0.18.0 rules out" in found.notes


def test_uvs_own_constraint_changes_with_its_dependency(tmp_path: Path) -> None:
    text = (
        f'{PROJECT}dependencies = ["peft==0.17.0"]\n'
        '[tool.uv]\nconstraint-dependencies = ["peft==0.17.0"]\n'
    )
    (tmp_path / "pyproject.toml").write_text(text)
    found = texts(tmp_path, "pyproject.toml", install("peft==0.18.0"))
    assert found == {"pyproject.toml": text.replace("0.17.0", "0.18.0")}


def test_a_list_that_an_image_installs_is_written_as_a_list(tmp_path: Path) -> None:
    """No quotes of a shell, and no address without its name."""
    (tmp_path / "requirements.txt").write_text("peft==0.17.0\nflash-attn==2.7.3\n")
    (tmp_path / "bounds.txt").write_text("einops<1\n")
    (tmp_path / "Dockerfile").write_text(
        "FROM python:3.12\nCOPY . .\nRUN pip install -r requirements.txt -c bounds.txt\n"
    )
    url = "https://example.org/flash_attn-2.8.3-cp312-cp312-linux_x86_64.whl"
    wanted = install("peft>=0.18,<1", f"flash-attn @ {url}")
    assert texts(tmp_path, "Dockerfile", wanted) == {
        "requirements.txt": f"peft>=0.18,<1\nflash-attn @ {url}\n"
    }


@pytest.mark.parametrize(
    ("wanted", "then"),
    [
        ("torch==2.8.0+cu128", "==2.8.0+cu128"),
        ("peft>=0.18,<1", ">=0.18,<1"),
        ("flash-attn @ https://a.org/flash_attn-2.8.3-py3-none-any.whl", "==2.8.3"),
        ("torch", ""),
    ],
)
def test_what_a_requirement_admits(wanted: str, then: str) -> None:
    assert specifier_of(wanted) == then


UV = f"""{PROJECT}dependencies = ["peft>=0.15"]
[project.optional-dependencies]
old = ["peft>=0.17"]
new = ["peft==0.17.0"]
[tool.uv]
"""


def test_what_uv_resolves_with_it_changes_where_it_takes_the_release_no_more(
    tmp_path: Path,
) -> None:
    (tmp_path / "pyproject.toml").write_text(UV)
    found = texts(tmp_path, "pyproject.toml", install("peft==0.16.0"))["pyproject.toml"]
    assert found == UV.replace(">=0.15", "==0.16.0").replace(">=0.17", "==0.16.0").replace(
        "==0.17.0", "==0.16.0"
    )


def test_an_extra_that_is_kept_apart_from_the_changed_one_stays(tmp_path: Path) -> None:
    text = (
        f'{PROJECT}dependencies = []\n[project.optional-dependencies]\na = ["peft==0.17.0"]\n'
        'b = ["peft==0.17.0"]\nc = ["peft==0.17.0"]\n'
        '[tool.uv]\nconflicts = [[{ extra = "a" }, { extra = "b" }]]\n'
    )
    path = tmp_path / "pyproject.toml"
    path.write_text(text)
    source = open_source(str(path), choice_of(("a",), ()))
    said = SaidOf.of("peft", [read_source(source)])
    named = [each.place for each in said.asked]
    notes: list[str] = []
    found = [each.line for each in said.places(named, "peft==0.16.0", notes)]
    assert found == [6, 8]  # b is never installed with a, and c may be
    assert notes == []


def test_an_extra_of_setup_py_changes_with_its_own_list(tmp_path: Path) -> None:
    path = tmp_path / "setup.py"
    text = (
        "from setuptools import setup\nsetup(install_requires=['peft==0.17.0'],\n"
        "      extras_require={'all': ['peft==0.17.0', 'einops']})\n"
    )
    path.write_text(text)
    found = texts(tmp_path, "setup.py", install("peft==0.18.0"))
    assert found == {"setup.py": text.replace("0.17.0", "0.18.0")}


def test_a_group_of_poetry_that_is_optional_changes_in_the_file(tmp_path: Path) -> None:
    """A command for one table would be refused by what the other one pins."""
    text = (
        '[tool.poetry]\nname = "mine"\n[tool.poetry.dependencies]\npeft = "0.17.0"\n'
        "[tool.poetry.group.more]\noptional = true\n"
        '[tool.poetry.group.more.dependencies]\npeft = "0.17.0"\n'
    )
    (tmp_path / "pyproject.toml").write_text(text)
    found = texts(tmp_path, "pyproject.toml", install("peft==0.18.0"))
    assert found == {"pyproject.toml": text.replace("0.17.0", "0.18.0")}


def test_a_bound_needs_no_index_that_its_list_names(tmp_path: Path) -> None:
    index = "https://download.pytorch.org/whl/cu128"
    (tmp_path / "bounds.txt").write_text("torch==2.6.0\n")
    (tmp_path / "requirements.txt").write_text("-c bounds.txt\ntorch==2.6.0\n")
    wanted = msgspec.structs.replace(install("torch==2.7.1+cu128"), index=index)
    assert texts(tmp_path, "requirements.txt", wanted) == {
        "requirements.txt": f"-c bounds.txt\n--extra-index-url {index}\ntorch==2.7.1+cu128\n",
        "bounds.txt": "torch==2.7.1+cu128\n",
    }
