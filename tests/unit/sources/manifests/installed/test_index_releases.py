"""Releases of torch that the named index does not have."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from fadoctor.model.environment import Environment, Target
from fadoctor.model.fact import Absent
from fadoctor.sources.manifests.installed.environment import planned_environment
from fadoctor.sources.manifests.installed.index_releases import lacks
from fadoctor.sources.manifests.read import read_manifest
from tests.unit.judging.engine.builders import fact_of
from tests.unit.repair.plan.problems import session
from tests.unit.sources.manifests.installed.test_environment import HOST, planned, value

if TYPE_CHECKING:
    from pathlib import Path


def of_file(folder: Path, name: str, text: str) -> Environment:
    """Return the environment of one file with a name of its own."""
    (folder / name).write_text(text)
    facts = {name: fact_of(value) for name, value in HOST.items()}
    machine = Environment("0", Target("environment", "here", "test"), facts)
    return planned_environment(machine, [read_manifest(str(folder / name))], session().matrix)


INDEX = "https://download.pytorch.org/whl"
CU118 = f"--index-url {INDEX}/cu118\n"


@pytest.mark.parametrize(
    ("text", "told"),
    [
        (f"{CU118}torch==2.9.1\n", "torch"),
        (f"{CU118}torch>=2.8\n", "torch"),
        (f"{CU118}torchvision==0.24.1\n", "torchvision"),
        (f"--index-url {INDEX}/cu128\ntorch==2.6.0\n", "torch"),
        (f"--index-url {INDEX}/cu128\nxformers==0.0.29.post3\n", "xformers"),
        (f"--index-url {INDEX}/cu124\nxformers==0.0.29.post3\n", ""),
        (f"--index-url {INDEX}/cu124\nxformers==0.0.35\n", ""),  # it is for several
        (f"--extra-index-url {INDEX}/cu121\ntorch==2.6.0+cu121\n", "torch"),
        (f"{CU118}torch==2.7.1\n", ""),
        (f"{CU118}torch>=2.1\n", ""),
        (f"--index-url {INDEX}/cu126\ntorch>=2.30\n", ""),
        (f"--index-url {INDEX}/nightly/cu118\ntorch==2.9.1\n", ""),
        (f"--index-url {INDEX}/cpu\ntorch==2.9.1\n", ""),
        (f"{CU118}--extra-index-url https://pypi.python.org/simple\ntorch==2.9.1\n", ""),
        (f"--extra-index-url {INDEX}/cu118\ntorch==2.9.1\n", ""),
        (f"{CU118}torch @ https://example.org/torch-2.9.1-cp311-cp311-linux_x86_64.whl\n", ""),
    ],
)
def test_lists_of_pip(tmp_path: Path, text: str, told: str) -> None:
    found = planned(tmp_path, text)
    assert list(value(found, "packages.unserved")) == ([told] if told else [])  # type: ignore[call-overload]


def test_what_is_said(tmp_path: Path) -> None:
    found = planned(tmp_path, f"{CU118}torch==2.9.1\n")
    text = value(found, "packages.unserved")["torch"]  # type: ignore[index]
    assert text.startswith("2.9.1 (")
    assert text.endswith("requirements.txt:2:1: the index cu118 has 2.0.0 to 2.7.1)")
    instead = value(found, "packages.unserved_instead")
    assert instead == "torch 2.9.1 is on cu126 and cu128 and cu129 and cu130."
    assert found.places["packages.unserved"][0].line == 2
    assert isinstance(planned(tmp_path, "torch==2.9.1\n").fact("packages.unserved_instead"), Absent)


def test_pip_takes_pypi_s_build_where_the_added_index_lacks_it(tmp_path: Path) -> None:
    found = planned(tmp_path, f"--extra-index-url {INDEX}/cu118\ntorch==2.9.1\n")
    assert value(found, "torch.build") == "pypi"
    found = planned(tmp_path, f"--extra-index-url {INDEX}/cu118\ntorch==2.7.1\n")
    assert value(found, "torch.build") == "cu118"


@pytest.mark.parametrize(
    ("command", "is_told"),
    [
        (f"pip install torch==2.7.0 --index-url {INDEX}/cu121", True),
        (f"pip install torch==2.7.0 --extra-index-url {INDEX}/cu121", False),
        (f"pip install torch==2.7.0 -f https://example.org -i {INDEX}/cu121", False),
        (f"uv pip install torch==2.7.0 --extra-index-url {INDEX}/cu121", True),
        (
            (
                f"uv pip install torch==2.7.0 --extra-index-url {INDEX}/cu121"
                " --index-strategy unsafe-best-match"
            ),
            False,
        ),
        ("uv pip install torch==2.7.0 --torch-backend cu121", True),
        (
            (
                f"export PIP_EXTRA_INDEX_URL=https://pypi.python.org/simple\n"
                f"pip install torch==2.7.0 -i {INDEX}/cu121"
            ),
            False,
        ),
    ],
)
def test_commands(tmp_path: Path, command: str, *, is_told: bool) -> None:
    found = of_file(tmp_path, "install.sh", f"#!/bin/bash\n{command}\n")
    assert bool(value(found, "packages.unserved")) is is_told


_PROJECT = '[project]\nname = "x"\nversion = "1"\ndependencies = ["torch==2.9.1"]\n'


@pytest.mark.parametrize(
    ("name", "text", "is_told"),
    [
        (
            "pyproject.toml",
            f'{_PROJECT}[[tool.uv.index]]\nname = "a"\nurl = "{INDEX}/cu118"\n',
            True,
        ),
        (
            "pyproject.toml",
            (
                f'{_PROJECT}[tool.uv]\nindex-strategy = "unsafe-best-match"\n'
                f'[[tool.uv.index]]\nname = "a"\nurl = "{INDEX}/cu118"\n'
            ),
            False,
        ),
        (
            "pyproject.toml",
            f'{_PROJECT}[[tool.uv.index]]\nname = "a"\nurl = "{INDEX}/cu118"\nexplicit = true\n',
            False,
        ),
        (
            "pyproject.toml",
            (
                f'{_PROJECT}[tool.uv.sources]\ntorch = {{ index = "a" }}\n'
                f'[[tool.uv.index]]\nname = "a"\nurl = "{INDEX}/cu118"\nexplicit = true\n'
            ),
            True,
        ),
        (
            "pyproject.toml",
            (
                '[tool.poetry]\nname = "x"\n[tool.poetry.dependencies]\n'
                'torch = {version = "2.9.1", source = "a"}\n'
                f'[[tool.poetry.source]]\nname = "a"\nurl = "{INDEX}/cu118"\n'
                'priority = "explicit"\n'
            ),
            True,
        ),
        (
            "pyproject.toml",
            (
                f'{_PROJECT}[[tool.pdm.source]]\nname = "a"\nurl = "{INDEX}/cu118"\n'
                'include_packages = ["torch"]\n'
            ),
            True,
        ),
        (
            "Pipfile",
            (
                f'[[source]]\nname = "a"\nurl = "{INDEX}/cu118"\nverify_ssl = true\n[packages]\n'
                'torch = {version = "==2.9.1", index = "a"}\n'
            ),
            True,
        ),
    ],
)
def test_tools(tmp_path: Path, name: str, text: str, *, is_told: bool) -> None:
    assert bool(value(of_file(tmp_path, name, text), "packages.unserved")) is is_told


def test_ranges_that_no_table_closes_stay_open() -> None:
    assert lacks("cu124", "2.7.0")
    assert lacks("cu124", "2.3.1")
    assert not lacks("cu130", "99.0")
    assert not lacks("cu124", "2.7.0rc1")
    assert not lacks("cu999", "2.7.0")


@pytest.mark.parametrize(
    ("text", "build"),
    [
        (f"--extra-index-url {INDEX}/cu121\ntorch\n", "pypi"),  # its newest is 2.5.1
        (f"--extra-index-url {INDEX}/rocm6.2\ntorch>=2.0\n", "pypi"),
        (f"--extra-index-url {INDEX}/cu121\ntorch>=2.1,<2.5\n", "cu121"),  # a label counts more
        (f"--extra-index-url {INDEX}/cu121\ntorch==2.4.1\n", "cu121"),
        (f"--index-url {INDEX}/cu121\ntorch\n", "cu121"),
        (f"--extra-index-url {INDEX}/cu130\ntorch\n", "cu130"),  # it still gets releases
    ],
)
def test_pip_takes_the_newest_release_of_all_indexes(tmp_path: Path, text: str, build: str) -> None:
    """Regression: a second index that gets no releases any more decided about the build."""
    assert value(planned(tmp_path, text), "torch.build") == build


def test_uv_takes_the_first_index_of_a_project(tmp_path: Path) -> None:
    text = (
        '[project]\nname = "a"\nversion = "1"\ndependencies = ["torch"]\n'
        f'[[tool.uv.index]]\nname = "pytorch"\nurl = "{INDEX}/cu121"\n'
    )
    assert value(of_file(tmp_path, "pyproject.toml", text), "torch.build") == "cu121"


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("torch==2.6.0+cu124\ntorchvision==0.21.0+cu124\n", ["torch", "torchvision"]),
        (f"--extra-index-url {INDEX}/cu124\ntorch==2.6.0+cu124\n", []),
        ("-f https://download.pytorch.org/whl/torch_stable.html\ntorch==2.6.0+cu124\n", []),
        ("torch==2.6.0\n", []),
        ("torch==2.6.0+local\n", []),
    ],
)
def test_labels_need_an_index(tmp_path: Path, text: str, told: list[str]) -> None:
    fact = planned(tmp_path, text).fact("packages.unlabelled")
    found = getattr(fact, "value", {})
    assert list(found) == told


def test_a_label_may_be_there_already(tmp_path: Path) -> None:
    there = of_file(tmp_path, "setup.sh", "pip list\npip install torch==2.6.0+cu124\n")
    assert isinstance(there.fact("packages.unlabelled"), Absent)
    new = of_file(tmp_path, "new.sh", "uv venv\npip install torch==2.6.0+cu124\n")
    assert "torch" in value(new, "packages.unlabelled")  # type: ignore[operator]


@pytest.mark.parametrize(
    ("text", "told"),
    [
        (f"--index-url {INDEX}/cu124\ntorch==2.5.1\ntransformers==4.55.0\n", ["transformers"]),
        (f"--index-url {INDEX}/cpu\ntorch==2.5.1\naccelerate\n", ["accelerate"]),
        (f"--index-url {INDEX}/cu124\ntorch==2.5.1\nnumpy\n", []),
        (f"--extra-index-url {INDEX}/cu124\ntorch==2.5.1\ntransformers\n", []),
        ("--index-url https://index.example.org/simple\ntransformers\n", []),
    ],
)
def test_the_index_of_torch_has_no_other_packages(
    tmp_path: Path, text: str, told: list[str]
) -> None:
    assert list(value(planned(tmp_path, text), "packages.unserved")) == told  # type: ignore[call-overload]


def test_an_index_of_one_command_alone(tmp_path: Path) -> None:
    command = f"uv venv\npip install torch==2.5.1 transformers --index-url {INDEX}/cu124\n"
    found = of_file(tmp_path, "setup.sh", command)
    assert list(value(found, "packages.unserved")) == ["transformers"]  # type: ignore[call-overload]
    apart = command.replace(" transformers", "") + "pip install transformers\n"
    found = of_file(tmp_path, "setup.sh", apart)
    assert list(value(found, "packages.unserved")) == []  # type: ignore[call-overload]


@pytest.mark.parametrize(
    ("text", "told"),
    [
        (f"--extra-index-url {INDEX}/rocm6.4\nvllm==0.11.0\n", {"vllm"}),
        ("vllm==0.11.0\nxformers==0.0.32.post2\n", {"vllm", "xformers"}),
        # the index may have it, it has a label, or no release is asked for
        (f"--extra-index-url {INDEX}/rocm6.4\nxformers==0.0.32.post2\n", set()),
        ("--extra-index-url https://wheels.vllm.ai/rocm\nvllm==0.11.0\n", set()),
        ("vllm==0.11.0+rocm64\n", set()),
        ("vllm>=0.11\n", set()),
    ],
)
def test_what_only_pypi_can_bring_is_told(tmp_path: Path, text: str, told: set[str]) -> None:
    found = value(planned(tmp_path, text), "packages.of_pypi")
    assert set(found if isinstance(found, dict) else ()) == told
