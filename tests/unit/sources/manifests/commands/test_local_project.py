"""A command that installs the folder of a project installs what that project asks for."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from fadoctor.sources.manifests.commands.local_project import folder_of
from fadoctor.sources.manifests.read import read_manifest

if TYPE_CHECKING:
    from pathlib import Path

PROJECT = """[project]
name = "trainer"
version = "1.0"
requires-python = ">=3.11"
dependencies = ["torch==2.6.0", "einops"]

[project.optional-dependencies]
fast = ["flash-attn==2.7.4.post1"]

[dependency-groups]
dev = ["triton==3.2.0"]

[tool.uv.sources]
torch = {index = "cu124"}

[[tool.uv.index]]
name = "cu124"
url = "https://download.pytorch.org/whl/cu124"
explicit = true
"""


def _names(file: Path) -> list[str]:
    return sorted(each.name for each in read_manifest(str(file)).requirements)


def _write(folder: Path, **files: str) -> None:
    for name, text in files.items():
        path = folder / name.replace("__", "/")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


@pytest.mark.parametrize(
    ("text", "found"),
    [
        (".", (".", ())),
        (".[Fast,eval_x]", (".", ("fast", "eval-x"))),
        ("./server/[all]", ("./server", ("all",))),
        ("/app", ("/app", ())),
        ("dist/a.whl", ("", ())),
        ("git+https://host/a", ("", ())),
    ],
)
def test_a_word_names_a_folder_and_extras(text: str, found: tuple[str, tuple[str, ...]]) -> None:
    assert folder_of(text) == found


@pytest.mark.parametrize(
    ("file", "text"),
    [
        ("install.sh", "pip install -e '.[fast]'\n"),
        ("scripts__setup.sh", "pip install -e .[fast]\n"),
        ("scripts__setup.sh", 'cd "$(dirname "$0")/.."\npip install -e .[fast]\n'),
        ("requirements.txt", "-e .[fast]\n"),
        ("requirements__gpu.txt", ".[fast]\n"),
        ("Dockerfile", "FROM python:3.11\nCOPY . /app\nRUN cd /app && pip install .[fast]\n"),
        ("Dockerfile", "FROM python:3.11\nWORKDIR /app\nCOPY . .\nRUN pip install .[fast]\n"),
        ("Dockerfile", "FROM python:3.11\nADD . /src\nRUN pip install /src[fast]\n"),
        (
            "docker__Dockerfile",
            "FROM python:3.11\nCOPY pyproject.toml README.md ./\nRUN pip install '.[fast]'\n",
        ),
        (
            ".github__workflows__test.yml",
            "on: push\njobs:\n  a:\n    steps:\n    - run: pip install -e .[fast]\n",
        ),
    ],
)
def test_the_project_is_read_with_its_extras(tmp_path: Path, file: str, text: str) -> None:
    _write(tmp_path, **{"pyproject.toml": PROJECT, "README.md": "", file: text})
    there = tmp_path / file.replace("__", "/")
    assert _names(there) == ["einops", "flash-attn", "torch"]


def test_no_group_and_no_index_of_uv_counts_for_pip(tmp_path: Path) -> None:
    _write(tmp_path, **{"pyproject.toml": PROJECT, "a.sh": "pip install -e .\n"})
    (torch,) = [
        each for each in read_manifest(str(tmp_path / "a.sh")).requirements if each.name == "torch"
    ]
    assert torch.index == ""
    _write(tmp_path, **{"a.sh": "uv pip install -e .\n"})
    found = read_manifest(str(tmp_path / "a.sh")).requirements
    assert {each.name: each.index for each in found} == {
        "torch": "https://download.pytorch.org/whl/cu124",
        "einops": "",
    }


def test_a_subfolder_has_a_project_of_its_own(tmp_path: Path) -> None:
    server = '[project]\nname = "server"\ndependencies = ["vllm==0.10.0"]\n'
    docker = "FROM python:3.11\nWORKDIR /srv\nCOPY server /srv\nRUN pip install .\n"
    _write(
        tmp_path,
        **{
            "pyproject.toml": PROJECT,
            "server__pyproject.toml": server,
            "Dockerfile": docker,
            "a.sh": "cd server && pip install .\n",
            "b.sh": "pip install ./server\n",
        },
    )
    for name in ("Dockerfile", "a.sh", "b.sh"):
        assert _names(tmp_path / name) == ["vllm"], name


@pytest.mark.parametrize(
    "commands",
    [
        "git clone https://host/apex\ncd apex\npip install .\n",
        "cd $APEX\npip install .\n",
        "cd /opt/apex && pip install .\n",
        "pip install ./other\n",
    ],
)
def test_a_folder_that_is_not_there_stays_unknown(tmp_path: Path, commands: str) -> None:
    script = "pip install torch==2.6.0\n" + commands
    _write(tmp_path, **{"pyproject.toml": PROJECT.replace("2.6.0", "2.7.0"), "a.sh": script})
    found = read_manifest(str(tmp_path / "a.sh"))
    assert [each.specifier for each in found.requirements] == ["==2.6.0"]
    assert any("the contents of " in note for note in found.notes)


def test_a_setup_py_is_read_where_the_other_file_only_says_how_to_build(tmp_path: Path) -> None:
    _write(
        tmp_path,
        **{
            "pyproject.toml": '[build-system]\nrequires = ["setuptools"]\n',
            "setup.py": "from setuptools import setup\n"
            'setup(install_requires=["xformers==0.0.30"])\n',
            "a.sh": "pip install .\n",
        },
    )
    assert _names(tmp_path / "a.sh") == ["xformers"]


def test_a_list_that_its_own_project_names_is_read_once(tmp_path: Path) -> None:
    project = (
        '[project]\nname = "a"\ndynamic = ["dependencies"]\n'
        '[tool.setuptools.dynamic]\ndependencies = {file = "requirements.txt"}\n'
    )
    _write(tmp_path, **{"pyproject.toml": project, "requirements.txt": "-e .\ntorch==2.6.0\n"})
    assert _names(tmp_path / "requirements.txt") == ["torch"]


def test_what_an_unknown_command_may_have_installed_is_not_built(tmp_path: Path) -> None:
    _write(tmp_path, **{"pyproject.toml": PROJECT})
    _write(tmp_path, **{"a.sh": "pip install $FLASH --no-build-isolation\npip install .[fast]\n"})
    assert not any(each.is_isolated for each in read_manifest(str(tmp_path / "a.sh")).requirements)
    _write(tmp_path, **{"a.sh": "python -m venv v\npip install .[fast]\n"})
    assert any(each.is_isolated for each in read_manifest(str(tmp_path / "a.sh")).requirements)
