"""Ranges that exclude each other by PEP 440, and what an installer has to meet at once."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from hypothesis import given as generated
from hypothesis import strategies as st
from packaging.specifiers import SpecifierSet
from packaging.version import Version

from fadoctor.model.environment import Environment, Target
from fadoctor.model.fact import Known
from fadoctor.sources.manifests.installed.contradicted import (
    is_from_below,
    is_impossible,
)
from fadoctor.sources.manifests.installed.environment import planned_environment
from fadoctor.sources.manifests.installed.fact_names import CONTRADICTED
from fadoctor.sources.manifests.read import read_manifest
from tests.unit.judging.engine.builders import fact_of
from tests.unit.repair.plan.problems import session
from tests.unit.sources.manifests.installed.test_environment import HOST, planned, value

if TYPE_CHECKING:
    from pathlib import Path

CU121 = "https://download.pytorch.org/whl/cu121"


@pytest.mark.parametrize(
    "texts",
    [
        ("<4.50", ">=4.56.1"),
        ("==3.4.0", ">=3.5"),
        ("==2.6.*", ">=2.7"),
        ("~=2.6.0", ">=2.7"),
        ("<2.7", "==2.7.*"),
        (">=2.7rc1", "<2.7"),
        (">2.6", "<=2.6"),
        ("==2.6.0", "==2.6.1"),
        ("<2,>=3",),
    ],
)
def test_no_version_meets_both(texts: tuple[str, ...]) -> None:
    assert is_impossible(texts)


@pytest.mark.parametrize(
    "texts",
    [
        ("<=2.6", ">=2.6"),
        ("==2.7.1+cu126", ">=2.7.1,<=2.7.1"),
        ("~=2.6", ">=2.7"),
        ("<2.7", ">=2.6.post1"),
        ("==2.*", "<=2.0rc1"),
        ("!=2.6.0", "==2.6.0"),
        ("===2.6.0", "==2.7.0"),
        ("", "<2"),
        ("nonsense", "<2"),
    ],
)
def test_some_version_meets_both_or_nobody_knows(texts: tuple[str, ...]) -> None:
    assert not is_impossible(texts)


_CLAUSES = st.sampled_from([
    f"{operator}{version}{end}"
    for operator, versions, end in (
        (">=", ("2.0", "2.6", "2.6.1", "2.7rc1", "2.6.post1"), ""),
        ("<", ("2.0", "2.6", "2.6.1", "2.7rc1", "2.6.post1"), ""),
        (">", ("2.0", "2.6"), ""),
        ("<=", ("2.0", "2.6"), ""),
        ("==", ("2.6", "2.6.1+cu124"), ""),
        ("==", ("2", "2.6"), ".*"),
        ("~=", ("2.6", "2.6.1"), ""),
    )
    for version in versions
])  # fmt: skip
_VERSIONS = [
    "1.9", "2.0.dev1", "2.0", "2.0.1", "2.5.9", "2.6.dev0", "2.6rc1", "2.6", "2.6.post1", "2.6.1",
    "2.6.1+cu124", "2.6.9", "2.7.dev1", "2.7rc1", "2.7", "2.9", "3.0",
]  # fmt: skip


@generated(st.lists(_CLAUSES, min_size=1, max_size=4))
def test_what_a_version_meets_is_never_called_impossible(clauses: list[str]) -> None:
    both = SpecifierSet(",".join(clauses), prereleases=True)
    if any(both.contains(Version(each)) for each in _VERSIONS):
        assert not is_impossible(clauses)


def test_what_is_needed_may_begin_above_all_that_is_asked_for() -> None:
    assert is_from_below("<4.50", ">=4.56,<6")
    assert not is_from_below(">=5", ">=4.51,<=4.57.1")


def contradicted(environment: Environment) -> object:
    return value(environment, CONTRADICTED)


def test_one_file_that_asks_for_two_releases(tmp_path: Path) -> None:
    found = planned(tmp_path, "torch==2.6.0\ntorch==2.7.0\n")
    said = contradicted(found)
    assert isinstance(said, dict)
    assert "says ==2.6.0" in said["torch"]
    assert [each.line for each in found.places[CONTRADICTED]] == [1, 2]
    assert "torch" not in found.asked


def test_ranges_of_two_files_that_exclude_each_other(tmp_path: Path) -> None:
    found = planned(tmp_path, "torch>=2.7\n", "torch<2.6\n")
    assert contradicted(found) == {
        "torch": f"({tmp_path}/0/requirements.txt:1:1 says >=2.7, "
        f"{tmp_path}/1/requirements.txt:1:1 says <2.6)"
    }


@pytest.mark.parametrize(
    "text",
    [
        "torch==2.6.0+cu124\ntorch==2.6.0\n",
        "torch>=2.6\ntorch!=2.7.0\ntorch<=2.8\n",
        "torch==2.6.0; sys_platform == 'win32'\ntorch==2.7.0; sys_platform == 'linux'\n",
    ],
)
def test_what_goes_together_is_no_contradiction(tmp_path: Path, text: str) -> None:
    assert contradicted(planned(tmp_path, text)) == {}


def of_file(folder: Path, name: str, text: str) -> Environment:
    (folder / name).write_text(text)
    facts = {key: fact_of(each) for key, each in HOST.items()}
    machine = Environment("0", Target("environment", "here", "test"), facts)
    return planned_environment(machine, [read_manifest(str(folder / name))], session().matrix)


def test_pip_replaces_what_conda_brought(tmp_path: Path) -> None:
    text = (
        "channels: [conda-forge]\ndependencies:\n- pytorch=2.5\n- pip:\n"
        "  - torch==2.6.0\n  - xformers==0.0.29.post3\n"
    )
    found = of_file(tmp_path, "environment.yml", text)
    assert contradicted(found) == {}
    assert value(found, "torch.version") == "2.6.0"
    assert "torch" not in found.asked


@pytest.mark.parametrize(
    ("channel", "asked"),
    [
        ("pytorch", {"torch": "==2.5.1", "torchvision": "==0.15.2", "trl": "==0.24.0"}),
        ("conda-forge", {"trl": "==0.24.0"}),
    ],
)
def test_only_the_channel_of_torch_pins_it(
    tmp_path: Path, channel: str, asked: dict[str, str]
) -> None:
    text = (
        f"channels: [{channel}]\ndependencies:\n- pytorch=2.5.1\n- torchvision==0.15.2\n"
        "- pip:\n  - trl==0.24.0\n"
    )
    assert of_file(tmp_path, "environment.yml", text).asked == asked


def test_an_override_overrules_what_others_require(tmp_path: Path) -> None:
    text = (
        '[project]\nname = "x"\ndependencies = ["torch==2.7.0", "vllm==0.11.0"]\n'
        '[tool.uv]\noverride-dependencies = ["torch==2.7.0"]\n'
    )
    assert of_file(tmp_path, "pyproject.toml", text).asked == {"vllm": "==0.11.0"}


def test_commands_of_a_dockerfile_are_not_met_at_once(tmp_path: Path) -> None:
    found = of_file(tmp_path, "Dockerfile", "FROM scratch\nRUN pip install torch==2.6.0\n")
    assert found.asked == {}


def test_a_package_that_files_disagree_on_is_there_all_the_same(tmp_path: Path) -> None:
    """Else every rule about extensions asks whether it might be torch that is open."""
    found = planned(tmp_path, "torch==2.8.0\nflash-attn==2.8.3\nflash-attn==2.8.2\n")
    assert found.fact("flash_attn.distribution") == Known(
        "flash-attn", f"{tmp_path}/0/requirements.txt:2:1: flash-attn"
    )


def test_an_index_that_a_project_is_tied_to_has_builds_of_its_own(tmp_path: Path) -> None:
    text = (
        '[project]\nname = "x"\ndependencies = ["torch>=2.4"]\n[tool.uv.sources]\n'
        'torch = {{index = "pt"}}\n[[tool.uv.index]]\nname = "pt"\nexplicit = true\n'
        'url = "https://download.pytorch.org/whl/{build}"\n'
    )
    assert of_file(tmp_path, "pyproject.toml", text.format(build="cu124")).builds == {
        "torch": "cu124"
    }
    assert of_file(tmp_path, "pyproject.toml", text.format(build="cpu")).builds == {}


@pytest.mark.parametrize(
    ("text", "builds"),
    [
        ("--index-url " + CU121 + "\ntorch>=2.2\n", {"torch": "cu121"}),
        ("--index-url " + CU121 + "\nvllm\n", {"torch": "cu121"}),
        ("--extra-index-url " + CU121 + "\ntorch>=2.2\n", {}),
        (
            "-i https://pypi.python.org/simple\n--extra-index-url " + CU121 + "\ntorch>=2.2\n",
            {},
        ),
        ("--index-url " + CU121 + "\ntorch==2.2.0\n", {}),
    ],
)
def test_an_index_alone_ties_torch_to_its_builds(
    tmp_path: Path, text: str, builds: dict[str, str]
) -> None:
    assert planned(tmp_path, text).builds == builds


@pytest.mark.parametrize(
    ("commands", "asked"),
    [
        ("pip install vllm==0.6.5 torchvision==0.18.0\n", {"vllm", "torchvision"}),
        ("pip install vllm==0.6.5\npip install torchvision==0.18.0\n", set()),
        ("pip install --no-deps vllm==0.6.5 torchvision==0.18.0\n", set()),
        ("pip install peft trl\npip install vllm==0.6.5 torchvision==0.18.0 triton==3.1.0\n",
         {"vllm", "torchvision", "triton"}),
    ],
)  # fmt: skip
def test_what_one_command_names_is_met_at_once(
    tmp_path: Path, commands: str, asked: set[str]
) -> None:
    assert of_file(tmp_path, "install.sh", commands).asked.keys() == asked


def test_two_pins_of_one_command_contradict_each_other(tmp_path: Path) -> None:
    found = of_file(tmp_path, "install.sh", "pip install torch==2.5.1 torch==2.6.0 triton\n")
    assert "torch" in str(value(found, CONTRADICTED))


@pytest.mark.parametrize(
    ("line", "python", "names"),
    [
        ("axolotl==0.21.0\n", "3.10", ["axolotl"]),
        ("axolotl==0.21.0\n", "3.12", []),
        ("axolotl==0.19.0\n", "3.10.4", []),
        ("axolotl>=0.19.0\n", "3.10", []),  # an older one is for it
        ("axolotl==0.999.0\n", "3.10", []),  # of which no table knows
    ],
)
def test_a_framework_that_this_python_cannot_have(
    tmp_path: Path, line: str, python: str, names: list[str]
) -> None:
    assert list(for_python(tmp_path, line, python)) == names


def for_python(tmp_path: Path, line: str, python: str) -> dict[str, str]:
    (tmp_path / "requirements.txt").write_text(line)
    told = {**HOST, "python.version": python}
    facts = {name: fact_of(each) for name, each in told.items()}
    machine = Environment("0", Target("environment", "here", "test"), facts)
    manifest = read_manifest(str(tmp_path / "requirements.txt"))
    found = value(planned_environment(machine, [manifest], session().matrix), CONTRADICTED)
    assert isinstance(found, dict)
    return found


@pytest.mark.parametrize(
    ("line", "python", "names"),
    [
        ("vllm==0.8.2\n", "3.12", ["vllm"]),
        ("vllm>=0.8.0,<0.8.3\n", "3.12", ["vllm"]),
        ("vllm>=0.8.0,<0.9\n", "3.12", []),  # 0.8.3 is there
        ("vllm>=0.8.0\n", "3.12", []),
        ("sglang[all]==0.4.5\n", "3.12", ["sglang"]),
        ("sglang==0.4.5\n", "3.12", []),  # its kernels come by the extra alone
        ("numpy==1.24.4\n", "3.12", ["numpy"]),
        ("numpy==1.24.4\n", "3.11", []),
        ("numpy==1.26.4\n", "3.12", []),
        ("vllm @ https://example.org/vllm-0.8.2-py3-none-any.whl\n", "3.12", []),
    ],
)
def test_a_release_of_which_the_index_lacks_a_part(
    tmp_path: Path, line: str, python: str, names: list[str]
) -> None:
    assert list(for_python(tmp_path, line, python)) == names


@pytest.mark.parametrize(
    ("lines", "python", "platform", "said"),
    [
        (
            "unsloth==2025.8.1\n",
            "3.9.18",
            "linux_aarch64",
            {"unsloth": "(2025.8.1 needs triton>=3.0.0, which has no file for linux_aarch64 and "
             "Python 3.9)"},
        ),
        ("unsloth==2025.8.1\n", "3.10.13", "linux_aarch64", {}),
        ("unsloth==2025.8.1\n", "3.9.18", "linux_x86_64", {}),
        (
            "transformers>=5.0\n",
            "3.9.18",
            "linux_x86_64",
            {"transformers": "(>=5.0 needs Python >=3.10, and this one is 3.9)"},
        ),
        ("transformers>=4.50\n", "3.9.18", "linux_x86_64", {}),
        ("transformers>=5.0\n", "3.10.13", "linux_x86_64", {}),
        ("transformers<6\n", "3.9.18", "linux_x86_64", {}),
    ],
)  # fmt: skip
def test_nothing_to_come_for_a_python_is_told(
    tmp_path: Path, lines: str, python: str, platform: str, said: dict[str, str]
) -> None:
    """Regression: fix wrote lists that uv refuses as triton, or transformers 5, has no file."""
    found = planned(tmp_path, lines, host__platform=platform, python__version=python)
    assert value(found, CONTRADICTED) == said


@pytest.mark.parametrize(
    ("channel", "torch", "python", "newest"),
    [
        ("nvidia", "pytorch==2.1.0", "3.12", "3.11"),
        ("nvidia", "pytorch>=2.3,<2.5", "3.13", "3.12"),
        ("nvidia", "pytorch==2.1.0", "3.11", None),
        ("nvidia", "pytorch>=2.1", "3.12", None),
        ("nvidia", "pytorch", "3.13", None),
        ("conda-forge", "pytorch==2.1.0", "3.12", None),
    ],
)
def test_the_channel_of_torch_has_each_release_for_some_pythons(
    tmp_path: Path, channel: str, torch: str, python: str, newest: str | None
) -> None:
    text = f"channels: [pytorch, {channel}]\ndependencies:\n  - python={python}\n  - {torch}\n"
    environment = of_file(tmp_path, "environment.yml", text)
    assert value(environment, "packages.channel_python") == newest
    assert bool(contradicted(environment)) is (newest is not None)


@pytest.mark.parametrize(
    ("text", "is_refused"),
    [
        ("FROM python:3.12\nRUN pip install vllm==0.8.2\n", True),
        # the image has it, with a library that the index no longer has
        ("FROM vllm/vllm-openai:v0.8.2\nRUN pip install einops\n", False),
        ("FROM vllm/vllm-openai:v0.8.2\nRUN pip install vllm==0.8.2\n", False),
        ("FROM vllm/vllm-openai:v0.8.3\nRUN pip install vllm==0.8.2\n", True),
    ],
)
def test_what_an_image_has_is_not_looked_up(tmp_path: Path, text: str, *, is_refused: bool) -> None:
    there = of_file(tmp_path, "Dockerfile", text)
    assert ("vllm" in str(contradicted(there))) is is_refused
