"""What files build in isolation, where the setup misses torch."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from fadoctor.model.fact import Absent, Known
from fadoctor.sources.manifests.installed.fact_names import ISOLATED, ISOLATED_BY_NEW, ISOLATED_KIND
from fadoctor.sources.manifests.installed.isolated import (
    BEFORE_TORCH,
    ISOLATED_TORCH,
)
from tests.unit.sources.manifests.installed.test_contradicted import of_file
from tests.unit.sources.manifests.installed.test_environment import OFFICIAL, value

if TYPE_CHECKING:
    from pathlib import Path

PINS = "torch==2.6.0\nflash-attn==2.7.4.post1\n"
PROJECT = """[project]
name = "x"
version = "0"
dependencies = ["torch==2.6.0", "flash-attn==2.7.4.post1"]
"""
IMAGE = "FROM nvidia/cuda:12.4.1-devel-ubuntu22.04\n"
CONDA = (
    "dependencies:\n  - python=3.11\n  - pip:\n    - torch==2.6.0\n    - flash-attn==2.7.4.post1\n"
)


POETRY = "[tool.poetry.dependencies]\ntorch = '2.6.0'\nflash-attn = '2.6.3'\n"
PIXI = "[pypi-dependencies]\ntorch = '==2.6.0'\nflash-attn = '==2.6.3'\n"
LOCKED = """[[package]]
name = "torch"
version = "2.6.0"
{0}
[[package]]
name = "flash-attn"
version = "2.6.3"
{0}"""
UV_LOCKED = "version = 1\n\n" + LOCKED.format(
    'source = { registry = "https://pypi.python.org/simple" }\n'
)


@pytest.mark.parametrize(
    ("name", "text", "line"),
    [
        ("requirements.txt", PINS, 2),
        ("requirements.txt", "flash-attn\ntorch\n", 1),
        ("requirements.txt", "torch\ngit+https://github.com/a/f.git#egg=flash-attn\n", 2),
        ("pyproject.toml", PROJECT, 4),
        ("pyproject.toml", f"{PROJECT}[tool.uv]\nno-build-isolation-package = ['apex']\n", 4),
        ("pyproject.toml", f"{POETRY}[tool.uv]\n", 3),
        ("pyproject.toml", f"{PROJECT}[tool.uv]\n".replace("torch==2.6.0", "peft"), 4),
        ("environment.yml", CONDA, 5),
        ("Dockerfile", f"{IMAGE}RUN pip install torch==2.6.0 flash-attn==2.7.4.post1\n", 2),
        (
            "Dockerfile",
            f"{IMAGE}RUN pip install torch==2.6.0\nRUN uv pip install --system flash-attn==2.6.3\n",
            3,
        ),
    ],
)
def test_setup_misses_torch(tmp_path: Path, name: str, text: str, line: int) -> None:
    found = of_file(tmp_path, name, text)
    said = value(found, ISOLATED)
    assert isinstance(said, dict)
    assert list(said) == ["flash-attn"]
    assert [each.line for each in found.places[ISOLATED]] == [line]
    assert value(found, ISOLATED_KIND) == name


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("requirements.txt", "flash-attn==2.7.4.post1\n"),  # torch may be there before
        ("requirements.txt", f"torch==2.7.1\nflash-attn @ {OFFICIAL}\n"),
        ("requirements.txt", f"--extra-index-url https://wheels.example.org/simple\n{PINS}"),
        ("requirements.txt", f"--no-build-isolation\n{PINS}"),
        ("requirements.txt", "flash-attn\n"),
        ("requirements.txt", "transformers\nflash-attn\n"),
        ("requirements.txt", "--no-build-isolation\naccelerate\nflash-attn\n"),
        ("requirements.txt", "torch\nflash-attn; sys_platform == 'win32'\n"),
        ("pyproject.toml", f"{PROJECT}[tool.uv]\nno-build-isolation-package = ['flash_attn']\n"),
        ("pyproject.toml", f"{PROJECT}[tool.uv]\nno-build-isolation = true\n"),
        (
            "pyproject.toml",
            f"{PROJECT}[tool.uv.extra-build-dependencies]\nflash-attn = ['torch']\n",
        ),
        ("pyproject.toml", f"{PROJECT}[tool.pdm.scripts]\nall = 'pdm install --no-isolation'\n"),
        (
            "pixi.toml",
            (
                "[pypi-dependencies]\ntorch = '==2.6.0'\nflash-attn = '==2.6.3'\n"
                "[pypi-options]\nno-build-isolation = ['flash-attn']\n"
            ),
        ),
        (
            "pixi.toml",
            (
                "[pypi-dependencies]\ntorch = '==2.6.0'\nflash-attn = '==2.6.3'\n"
                "[pypi-options]\nno-build-isolation = true\n"
            ),
        ),
        (
            "Dockerfile",
            f"{IMAGE}RUN pip install torch\nRUN pip install flash-attn --no-build-isolation\n",
        ),
        (
            "Dockerfile",
            f"{IMAGE}ENV UV_NO_BUILD_ISOLATION=1\nRUN uv pip install --system torch flash-attn\n",
        ),
        # pip may build in the environment itself, where torch is
        (
            "Dockerfile",
            f"{IMAGE}RUN pip install torch==2.6.0\nRUN pip install flash-attn==2.6.3\n",
        ),
    ],
)
def test_torch_is_there_or_nobody_knows(tmp_path: Path, name: str, text: str) -> None:
    assert value(of_file(tmp_path, name, text), ISOLATED) == {}


@pytest.mark.parametrize(
    ("before", "how"),
    [
        ("", BEFORE_TORCH),
        ("RUN uv pip install --system wheel packaging ninja\n", BEFORE_TORCH),
        ("RUN pip install torch==2.6.0\n", None),
        ("RUN pip install accelerate\n", None),  # brings torch
        ("RUN pip install git+https://github.com/someone/something\n", None),
        ("COPY more.txt .\nRUN pip install -r more.txt\n", None),
    ],
)
def test_a_command_before_torch_is_there(tmp_path: Path, before: str, how: str | None) -> None:
    early = "RUN pip install flash-attn --no-build-isolation\nRUN pip install torch\n"
    found = of_file(tmp_path, "Dockerfile", f"{IMAGE}{before}{early}")
    assert value(found, ISOLATED_KIND) == how
    assert bool(value(found, ISOLATED)) is bool(how)


STEPS = "pip install torch==2.6.0\npip install {}flash-attn==2.7.4.post1\n"


@pytest.mark.parametrize(
    ("name", "text", "line"),
    [
        ("requirements.txt", "accelerate\nflash-attn>=2.4.3\nvllm\n", 2),
        ("requirements.txt", "xformers\nflash-attn\n", 2),
        ("pyproject.toml", PROJECT.replace("torch==2.6.0", "peft"), 4),
        ("install.sh", STEPS.format(""), 2),
        ("install.sh", "pip install -U pip wheel\n" + STEPS.format(""), 3),
        ("Dockerfile", f"{IMAGE}RUN pip install torch==2.6.0\nRUN pip install flash-attn\n", 3),
    ],
)
def test_pip_in_a_step_after_torch(tmp_path: Path, name: str, text: str, line: int) -> None:
    found = of_file(tmp_path, name, text)
    said = value(found, ISOLATED_BY_NEW)
    assert isinstance(said, dict)
    assert list(said) == ["flash-attn"]
    assert value(found, ISOLATED) == {}
    assert [each.line for each in found.places[ISOLATED_BY_NEW]] == [line]


@pytest.mark.parametrize(
    "text",
    [
        STEPS.format("--no-build-isolation "),
        STEPS.format("--only-binary=flash-attn "),
        "export PIP_NO_BUILD_ISOLATION=1\n" + STEPS.format(""),
        "pip config set install.no-build-isolation true\n" + STEPS.format(""),
        "pip install pip==24.0\n" + STEPS.format(""),
        "pip install 'pip<25'\n" + STEPS.format(""),
        f"pip install torch==2.6.0\npip install {OFFICIAL}\n",
        "pip install torch==2.6.0\nif x; then pip install flash-attn; fi\n",
        "pip install flash-attn==2.7.4.post1\n",
        "pip install torch==2.6.0\npip install xformers\n",
    ],
)
def test_a_step_that_builds_without_isolation(tmp_path: Path, text: str) -> None:
    found = of_file(tmp_path, "install.sh", text)
    assert value(found, ISOLATED_BY_NEW) is None
    assert value(found, ISOLATED) == {}


def test_uv_is_told_by_a_variable_of_the_script(tmp_path: Path) -> None:
    text = "uv pip install torch==2.6.0\nuv pip install flash-attn==2.7.4.post1\n"
    assert value(of_file(tmp_path, "install.sh", text), ISOLATED) != {}
    text = "export UV_NO_BUILD_ISOLATION=1\n" + text
    assert value(of_file(tmp_path, "install.sh", text), ISOLATED) == {}


@pytest.mark.parametrize(
    ("name", "text", "tool"),
    [
        ("pyproject.toml", POETRY, "Poetry"),
        ("pixi.toml", PIXI, "pixi"),
        ("pyproject.toml", PIXI.replace("[pypi", "[tool.pixi.pypi"), "pixi"),
        ("poetry.lock", LOCKED.format("optional = false\n"), "Poetry"),
        ("pyproject.toml", f"{PROJECT}[tool.pdm]\n", "PDM"),
        ("pdm.lock", LOCKED.format('groups = ["default"]\n'), "PDM"),
    ],
)
def test_a_tool_with_ways_of_its_own(tmp_path: Path, name: str, text: str, tool: str) -> None:
    found = of_file(tmp_path, name, text)
    said = value(found, ISOLATED)
    assert isinstance(said, dict)
    assert list(said) == ["flash-attn"]
    assert value(found, ISOLATED_KIND) == tool


def test_a_lock_with_wheels_builds_nothing(tmp_path: Path) -> None:
    text = (
        LOCKED.format("") + 'files = [{file = "flash_attn-2.6.3-cp311-cp311-linux_x86_64.whl"}]\n'
    )
    assert value(of_file(tmp_path, "poetry.lock", text), ISOLATED) == {}


@pytest.mark.parametrize(
    ("beside", "names"),
    [
        ({}, []),
        ({"pyproject.toml": PROJECT}, ["flash-attn"]),
        ({"pyproject.toml": f"{PROJECT}[tool.uv]\nno-build-isolation = true\n"}, []),
        ({"pyproject.toml": PROJECT, "uv.toml": "no-build-isolation = true\n"}, []),
    ],
)
def test_a_lock_of_uv_heeds_the_project(
    tmp_path: Path, beside: dict[str, str], names: list[str]
) -> None:
    for name, text in beside.items():
        (tmp_path / name).write_text(text)
    said = value(of_file(tmp_path, "uv.lock", UV_LOCKED), ISOLATED)
    assert isinstance(said, dict)
    assert list(said) == names


def test_a_lock_of_pdm_heeds_its_settings(tmp_path: Path) -> None:
    (tmp_path / "pdm.toml").write_text("build_isolation = false\n")
    text = LOCKED.format('groups = ["default"]\n')
    assert value(of_file(tmp_path, "pdm.lock", text), ISOLATED) == {}


AXOLOTL = PROJECT.replace("flash-attn==2.7.4.post1", "axolotl==0.10.0")
APART = "[tool.uv]\nno-build-isolation-package = ['axolotl']\n"


@pytest.mark.parametrize(
    ("name", "text", "found"),
    [
        ("pyproject.toml", AXOLOTL, {"axolotl": "==2.6.0"}),
        ("requirements.txt", "torch==2.8.0\naxolotl==0.16.1\n", {"axolotl": "==2.8.0"}),
        ("pyproject.toml", AXOLOTL + APART, None),
        ("requirements.txt", "torch==2.8.0\naxolotl==0.17.0\n", None),  # a wheel
        ("requirements.txt", "torch==2.8.0\naxolotl>=0.10\n", None),
        ("requirements.txt", PINS, None),
    ],
)
def test_a_setup_asks_for_a_torch_of_its_own(
    tmp_path: Path, name: str, text: str, found: dict[str, str] | None
) -> None:
    facts = of_file(tmp_path, name, text).facts
    fact = facts[ISOLATED_TORCH]
    assert (fact.value if isinstance(fact, Known) else None) == found
    assert isinstance(facts[ISOLATED_KIND], Absent) or "flash-attn" in text


EARLY = "pip install ninja\npip install flash-attn --no-build-isolation\npip install accelerate\n"


@pytest.mark.parametrize(
    ("text", "is_early"),
    [
        (f"python3 -m venv env\n{EARLY}", True),
        (f"conda create -n x python=3.11 -y\n{EARLY}", True),
        (EARLY, False),  # torch may be there
        (f"python3 -m venv --system-site-packages env\n{EARLY}", False),
        (f"python3 -m venv env\npip install accelerate\n{EARLY}", False),
        (f"python3 -m venv env\n./install_torch.sh && pip install -r more.txt\n{EARLY}", False),
    ],
)
def test_a_script_builds_before_torch(tmp_path: Path, text: str, *, is_early: bool) -> None:
    found = of_file(tmp_path, "setup.sh", text)
    assert ("flash-attn" in str(value(found, ISOLATED))) is is_early
    assert (getattr(found.fact(ISOLATED_KIND), "value", "") == BEFORE_TORCH) is is_early
