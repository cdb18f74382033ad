"""Manifests on a machine: what is Known, Absent and Unknown of the environment they will make."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from fadoctor.model.environment import Environment, Target
from fadoctor.model.fact import Absent, Known, Unknown
from fadoctor.repair.plan.choices.domain import is_of_another_vendor
from fadoctor.sources.manifests.installed.environment import planned_environment
from fadoctor.sources.manifests.read import read_manifest
from tests.unit.judging.engine.builders import fact_of
from tests.unit.repair.plan.problems import session

if TYPE_CHECKING:
    from pathlib import Path

    from fadoctor.model.fact import Fact

HOST = {
    "host.os": "linux",
    "host.machine": "x86_64",
    "host.platform": "linux_x86_64",
    "python.version": "3.12.3",
    "python.implementation": "cpython",
    "python.abi_tag": "cp312",
    "gpu.count": 1,
    "gpu.visible_count": 1,
}
OFFICIAL = (
    "https://github.com/Dao-AILab/flash-attention/releases/download/v2.8.3/"
    "flash_attn-2.8.3%2Bcu12torch2.7cxx11abiTRUE-cp312-cp312-linux_x86_64.whl"
)
ROCM = "https://download.pytorch.org/whl/rocm7.2"
CU128 = "https://download.pytorch.org/whl/cu128"


def planned(
    folder: Path, *texts: str, overlays: tuple[str, ...] = (), **host: object
) -> Environment:
    """Return the environment of some files: a lock or a Dockerfile where the text begins so."""
    manifests = []
    for index, text in enumerate(texts):
        (folder / str(index)).mkdir(exist_ok=True)
        name = "uv.lock" if text.startswith("version =") else "requirements.txt"
        name = "Dockerfile" if text.startswith("FROM ") else name
        name = "environment.yml" if text.startswith("channels:") else name
        name = "pyproject.toml" if text.startswith("[project]") else name
        (folder / str(index) / name).write_text(text)
        manifests.append(read_manifest(str(folder / str(index) / name)))
    facts = HOST | {name.replace("__", "."): value for name, value in host.items()}
    machine = Environment(
        "0",
        Target("environment", "here", "test"),
        {name: fact_of(value) for name, value in facts.items()},
        overlays,
    )
    return planned_environment(machine, manifests, session().matrix)


def value(environment: Environment, name: str) -> object:
    """Return a Known value, None for Absent, "?" for Unknown."""
    fact: Fact = environment.fact(name)
    match fact:
        case Known():
            return fact.value
        case Absent():
            return None
        case Unknown():
            return "?"


@pytest.mark.parametrize(
    ("text", "version", "build", "cuda"),
    [
        ("torch==2.7.1", "2.7.1", "pypi", "12.6"),
        ("torch==2.7.1+cu118", "2.7.1+cu118", "cu118", "11.8"),
        ("torch==2.7.1+cpu", "2.7.1+cpu", "cpu", None),
        ("torch==2.7.1+rocm6.3", "2.7.1+rocm6.3", "rocm", None),
        (f"--index-url {ROCM}\ntorch==2.13.0", "2.13.0+rocm7.2", "rocm", None),
        (f"--index-url {CU128}\ntorch==2.7.1", "2.7.1+cu128", "cu128", "12.8"),
        (f"--extra-index-url {CU128}\ntorch==2.7.1", "2.7.1+cu128", "cu128", "12.8"),
        (
            "-i https://mirrors.example.org/pytorch-wheels/cu124/\ntorch==2.6.0",
            "2.6.0+cu124",
            "cu124",
            "12.4",
        ),
        ("-i https://mirror.example.org/simple\ntorch==2.7.1", "2.7.1", "pypi", "12.6"),
        ("-i https://wheels.example.org/own\ntorch==2.7.1", "2.7.1", "?", "?"),
        (
            f"{CU128}/torch-2.7.1%2Bcu128-cp312-cp312-manylinux_2_28_x86_64.whl",
            "2.7.1+cu128",
            "cu128",
            "12.8",
        ),
        ("torch==2.9.0.dev20250801+cu129", "2.9.0.dev20250801+cu129", "cu129", "12.9"),
        ("torch>=2.4", "?", "pypi", "?"),
    ],
)
def test_which_torch_comes(
    tmp_path: Path, text: str, version: object, build: object, cuda: object
) -> None:
    found = planned(tmp_path, text)
    names = ("torch.version", "torch.build", "torch.cuda")
    assert [value(found, name) for name in names] == [version, build, cuda]


def test_the_rocm_of_a_build_is_that_of_its_index(tmp_path: Path) -> None:
    """Which AOTriton it has was unknown: the label that its file has was not known."""
    assert value(planned(tmp_path, f"-i {ROCM}\ntorch==2.13.0"), "torch.hip") == "7.2"
    assert value(planned(tmp_path, f"-i {ROCM}\ntorch>=2.4"), "torch.hip") == "?"


def test_the_torch_of_pypi_is_a_cpu_build_where_it_is_one(tmp_path: Path) -> None:
    found = planned(tmp_path, "torch==2.7.1", host__platform="linux_aarch64")
    assert (value(found, "torch.build"), value(found, "torch.cuda")) == ("cpu", None)
    found = planned(tmp_path, "torch==2.7.1", host__platform="win_amd64", host__os="windows")
    assert (value(found, "torch.build"), value(found, "torch.cuda")) == ("cpu", None)
    found = planned(tmp_path, "torch==2.7.1", host__platform="win_arm64", host__os="windows")
    assert (value(found, "torch.build"), value(found, "torch.cuda")) == ("?", "?")


def test_what_sglang_requires_is_told(tmp_path: Path) -> None:
    """Regression: sglang 0.5.5 beside torch 2.9.1 had no finding, though no installer takes it."""
    needs = {"torch": "==2.8.0", "transformers": "==4.57.1"}
    for text in ("sglang==0.5.5\ntorch==2.9.1\n", "sglang==0.5.5\n"):
        assert value(planned(tmp_path, text), "sglang.requires") == needs
    of_extra = planned(tmp_path, "sglang==0.4.7\ntorch==2.9.1\n")
    assert value(of_extra, "sglang.requires") == "?"
    for extra in ("srt", "all"):
        asked = planned(tmp_path, f"sglang[{extra}]==0.4.7\ntorch==2.9.1\n")
        assert value(asked, "sglang.requires") == {"torch": "==2.7.1", "transformers": "==4.52.3"}
    other = planned(tmp_path, "sglang[blackwell]==0.4.7\ntorch==2.9.1\n")
    assert value(other, "sglang.requires") == "?"


def test_beside_conda_pip_installs(tmp_path: Path) -> None:
    """What requires another torch than conda's was compiled for PyPI's, which pip puts over it."""
    text = (
        "channels: [conda-forge]\ndependencies:\n  - pytorch=2.4.1\n  - pip:\n    - vllm==0.6.3\n"
    )
    found = planned(tmp_path, text)
    assert (value(found, "torch.installer"), value(found, "vllm.installer")) == ("conda", "pip")


def test_what_sglang_brings_beside_that_is_not_called_absent(tmp_path: Path) -> None:
    """Regression: flash-attn-4, which it requires, was not there where torch was named, too."""
    found = planned(tmp_path, "sglang==0.5.15\ntorch==2.11.0\n")
    assert value(found, "flash_attn_4.version") == "?"
    assert value(found, "unsloth.version") is None


def test_a_wheels_file_name_is_evidence(tmp_path: Path) -> None:
    found = planned(tmp_path, f"flash-attn @ {OFFICIAL}")
    assert {
        name: value(found, f"flash_attn.{name}")
        for name in ("version", "wheel.torch", "wheel.cuda_major", "wheel.cxx11_abi",
                     "wheel.python", "wheel.origin", "loads", "extension", "missing_files")
    } == {
        "version": "2.8.3",
        "wheel.torch": "2.7",
        "wheel.cuda_major": "12",
        "wheel.cxx11_abi": True,
        "wheel.python": "cp312",
        "wheel.origin": "official",
        "loads": "?",
        "extension": "?",
        "missing_files": "?",
    }  # fmt: skip
    assert [str(at)[-20:] for at in found.places["flash_attn.version"]] == ["requirements.txt:1:1"]


LOCK = """version = 1
[[package]]
name = "torch"
version = "2.7.1"
source = { registry = "https://index.example.org/simple" }
dependencies = [
    { name = "triton", marker = "sys_platform == 'linux'" },
    { name = "colorama", marker = "sys_platform == 'win32'" },
]
[[package]]
name = "triton"
version = "3.3.1"
source = { registry = "https://index.example.org/simple" }
[[package]]
name = "colorama"
version = "0.4.6"
source = { registry = "https://index.example.org/simple" }
[[package]]
name = "train"
version = "0"
source = { virtual = "." }
dependencies = [{ name = "torch" }]
"""


def test_a_lock_names_all_there_will_be_on_the_target(tmp_path: Path) -> None:
    found = planned(tmp_path, LOCK)
    assert value(found, "packages.installed") == {"torch": "2.7.1", "triton": "3.3.1"}
    assert value(found, "torch.requires") == {"triton": "==3.3.1"}
    assert value(found, "xformers.version") is None
    assert isinstance(found.fact("triton.loads"), Unknown)
    windows = planned(tmp_path, LOCK, host__os="windows", host__platform="win_amd64")
    assert value(windows, "packages.installed") == {"torch": "2.7.1", "colorama": "0.4.6"}


def test_of_what_a_list_does_not_name_nothing_is_known(tmp_path: Path) -> None:
    found = planned(tmp_path, "torch==2.7.1\ntransformers>=4.50,<5\nours\n")
    assert value(found, "xformers.version") == "?"
    assert value(found, "packages.installed") == "?"
    assert found.ranges == {"ours": ""}, "nobody knows whether ours bounds transformers"


def test_what_nothing_brings_will_not_be_there(tmp_path: Path) -> None:
    known = planned(tmp_path, "torch==2.7.1\ntriton==3.3.1\nxformers==0.0.31\n")
    assert value(known, "vllm.version") is None
    assert value(known, "numpy.version") == "?"
    # torch brings a triton
    assert value(planned(tmp_path, "torch==2.7.1\n"), "triton.version") == "?"
    usual = planned(tmp_path, "torch>=2.4\ntransformers\ntrl>=0.9\ndatasets\n")
    assert (value(usual, "vllm.version"), value(usual, "accelerate.version")) == (None, "?")
    # nobody knows what ours brings, or an xformers of any version
    for more in ("ours==2.2\n", "xformers\n"):
        assert value(planned(tmp_path, f"torch==2.7.1\n{more}"), "vllm.version") == "?"


CONFLICT = """version = 1
[[package]]
name = "torch"
version = "2.7.1+cpu"
source = { registry = "https://download.pytorch.org/whl/cpu" }
[[package]]
name = "train"
source = { virtual = "." }
[package.optional-dependencies]
cpu = [
    { name = "torch", marker = "extra == 'extra-5-train-cpu' or os_name == 'nt'" },
]
"""


def test_what_hangs_on_extras_that_exclude_each_other_is_open(tmp_path: Path) -> None:
    assert value(planned(tmp_path, CONFLICT), "torch.version") == "?"


def test_markers_hold_on_the_target(tmp_path: Path) -> None:
    text = (
        "torch==2.7.1 ; sys_platform == 'win32'\n"
        "torch==2.6.0 ; sys_platform == 'linux' and python_version >= '3.12'\n"
        "peft==0.15 ; python_full_version >= '3.12.4'\n"
    )
    assert value(planned(tmp_path, text), "torch.version") == "2.6.0"
    older = planned(tmp_path, text, python__version="3.12")
    assert value(older, "torch.version") == "2.6.0"
    assert "the marker may not hold on the target" in str(older.fact("peft.version"))


def test_contradictions_between_files_are_said(tmp_path: Path) -> None:
    found = planned(tmp_path, "torch==2.7.1\n", "torch<2.7\n")
    assert value(found, "torch.version") == "?"
    [note] = [note for note in found.target.notes if note.startswith("torch: ")]
    assert "requirements.txt:1:1 says ==2.7.1" in note
    assert "requirements.txt:1:1 says <2.7" in note
    # a lock that its wishes allow, and the label of a build, contradict nothing
    assert value(planned(tmp_path, LOCK, "torch>=2.6\n"), "torch.version") == "2.7.1"
    both = planned(tmp_path, "torch==2.7.1+cu128\n", "torch==2.7.1\n")
    assert value(both, "torch.version") == "2.7.1+cu128"


def test_constraints_bound_what_something_else_asks_for(tmp_path: Path) -> None:
    (tmp_path / "0").mkdir()
    (tmp_path / "0" / "bounds.txt").write_text("torch==2.6.0\nxformers==0.0.29\n")
    found = planned(tmp_path, "torch\nours\n-c bounds.txt\n")
    assert value(found, "torch.version") == "2.6.0"
    assert value(found, "xformers.version") == "?"


def test_a_machine_without_gpu_says_nothing_of_the_one_that_is_meant(tmp_path: Path) -> None:
    found = planned(tmp_path, "torch==2.7.1", gpu__count=0)
    assert (value(found, "gpu.count"), value(found, "driver.version")) == ("?", "?")
    assumed = planned(tmp_path, "torch==2.7.1", gpu__count=0, overlays=("--gpu none",))
    assert value(assumed, "gpu.count") == 0


@pytest.mark.parametrize(
    ("asked", "tool", "python"),
    [
        (">=3.13", "[tool.uv]\n", "3.13"),
        (">=3.13.2", "[tool.uv]\n", "3.13"),
        (">=3.9", "[tool.uv]\n", "3.12.3"),  # the one of this machine is in it
        (">=3.9,<3.12", "[tool.uv]\n", "?"),
        (">=3.13", "", "?"),  # no tool resolves for all of them
    ],
)
def test_a_tool_that_resolves_for_all_needs_the_lowest(
    tmp_path: Path, asked: str, tool: str, python: str
) -> None:
    """Regression: no release could be chosen for a range of newer Pythons."""
    text = f'[project]\nname = "a"\nversion = "0"\nrequires-python = "{asked}"\n'
    there = planned(tmp_path, f'{text}dependencies = ["torch==2.8.0"]\n{tool}')
    assert value(there, "python.version") == python


def test_the_python_of_the_files_is_that_of_the_plan(tmp_path: Path) -> None:
    lock = LOCK.replace("version = 1\n", 'version = 1\nrequires-python = "{}"\n', 1)
    inside = planned(tmp_path, lock.replace("{}", ">=3.11"))
    assert value(inside, "python.version") == "3.12.3"
    outside = planned(tmp_path, lock.replace("{}", ">=3.13"))
    assert value(outside, "python.version") == "?"
    exact = planned(tmp_path, lock.replace("{}", "==3.13.*"))
    assert (value(exact, "python.version"), value(exact, "python.abi_tag")) == ("3.13", "cp313")
    for one in (">=3.13,<3.14", "~=3.13.0", ">=3.13.2,!=3.13.4,<3.14"):
        only = planned(tmp_path, lock.replace("{}", one))
        assert (value(only, "python.version"), value(only, "python.abi_tag")) == ("3.13", "cp313")
    several = planned(tmp_path, lock.replace("{}", ">=3.13,<3.15"))
    assert value(several, "python.version") == "?"
    given = ("--python-version 3.12",)
    assumed = planned(tmp_path, lock.replace("{}", ">=3.13"), overlays=given)
    assert value(assumed, "python.version") == "3.12.3"


CONDA = "channels: [{}]\ndependencies:\n- python=3.12\n- pytorch=2.4.1\n"


@pytest.mark.parametrize(
    ("channels", "more", "abi"),
    [
        ("pytorch, nvidia", "- pytorch-cuda=12.4\n", False),
        ("conda-forge", "", "?"),
        ("conda-forge, pytorch", "- pytorch-cuda=12.4\n", "?"),
        ("pytorch", "- cpuonly\n", "?"),
    ],
)
def test_the_cxx_abi_of_a_channel_is_that_of_its_builds(
    tmp_path: Path, channels: str, more: str, abi: object
) -> None:
    made = planned(tmp_path, CONDA.format(channels) + more)
    assert value(made, "torch.cxx11_abi") == abi


@pytest.mark.parametrize(
    ("asked", "cuda"),
    [
        ("pytorch=1.9.0\n- cudatoolkit=11.3", "-"),
        ("pytorch=2.1.2=py3.10_cpu_0", "-"),
        ("pytorch>=2.0\n- cpuonly", "-"),  # whichever release it will be
        ("pytorch=1.9.0\n- cudatoolkit=11.1", "11.1"),
        ("pytorch=1.9.0", "?"),
    ],
)
def test_a_cpu_build_of_conda_has_no_cuda(tmp_path: Path, asked: str, cuda: str) -> None:
    text = f"channels: [pytorch]\ndependencies:\n- python=3.8\n- {asked}\n"
    made = planned(tmp_path, text, overlays=(), **{"gpu[0]__vendor": "nvidia"})
    found = made.facts["torch.cuda"]
    said = "-" if isinstance(found, Absent) else value(made, "torch.cuda")
    assert (said, value(made, "torch.build")) == (cuda, "other")
    assert not is_of_another_vendor(made)


def test_what_is_required_on_other_platforms_alone_is_not_missed(tmp_path: Path) -> None:
    """Regression: a lock for aarch64 Linux was said to lack xformers, an x86 need of unsloth."""
    text = "unsloth==2026.10.9\n"
    arm: dict[str, Any] = {"host.platform": "linux_aarch64"}
    here: Any = value(planned(tmp_path, text), "unsloth.requires")
    there: Any = value(planned(tmp_path, text, **arm), "unsloth.requires")
    assert "xformers" in here
    assert set(here) - set(there) == {"xformers"}


@pytest.mark.parametrize(
    ("text", "package", "pythons"),
    [
        ("vllm==0.13.0\n", "vllm", "<3.14,>=3.10"),
        ("sglang==0.5.6\n", "sglang", ">=3.10"),
        ("trl==0.29.1\n", "trl", ">=3.10"),
        ("vllm>=0.9\n", "vllm", "?"),  # an installer takes one that is for this Python
    ],
)
def test_the_pythons_of_a_release_that_is_pinned(
    tmp_path: Path, text: str, package: str, pythons: str
) -> None:
    found = value(planned(tmp_path, text), f"{package}.requires_python")
    assert set(str(found).split(",")) == set(pythons.split(","))
