from __future__ import annotations

import pytest

from fadoctor.model.place import Place
from fadoctor.sources.manifests.draft import Draft
from fadoctor.sources.manifests.formats.conda_files import conda_file
from fadoctor.sources.manifests.formats.conda_spec import CondaNames, Spec, add_spec, parse_spec
from tests.unit.sources.manifests.given import given

HERE = Place("x", 1)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("pytorch", Spec("pytorch")),
        ("pytorch=2.5.1", Spec("pytorch", "=2.5.1")),
        ("pytorch==2.5.1", Spec("pytorch", "==2.5.1")),
        ("pytorch=2.5.1=cuda126_py312h*", Spec("pytorch", "==2.5.1", "cuda126_py312h*")),
        ("pytorch=2.5.*=cuda126*", Spec("pytorch", "2.5.*", "cuda126*")),
        ("pytorch=*=cuda*", Spec("pytorch", "*", "cuda*")),
        ("pytorch==2.5.1=cuda*", Spec("pytorch", "==2.5.1", "cuda*")),
        ("pytorch 2.5.1 cuda126*", Spec("pytorch", "2.5.1", "cuda126*")),
        ("pytorch >=2.4,<2.6", Spec("pytorch", ">=2.4,<2.6")),
        ("pytorch >=2.4, <2.6", Spec("pytorch", ">=2.4, <2.6")),
        ("python>=3.10", Spec("python", ">=3.10")),
        ("numpy=1.26|=2.0", Spec("numpy", "=1.26|=2.0")),
        ("conda-forge::PyTorch=2.5", Spec("pytorch", "=2.5", "", "conda-forge")),
        ("conda-forge/linux-64::pytorch", Spec("pytorch", "", "", "conda-forge")),
        ("https://example.org/c::pytorch", Spec("pytorch", "", "", "https://example.org/c")),
        ("pytorch[version='>=2.4',build='*cuda*']", Spec("pytorch", ">=2.4", "*cuda*")),
        ("__cuda>=12", Spec("__cuda", ">=12")),
        ("-e .", None),
        ("a" * 600, None),
        ("", None),
    ],
)
def test_match_specs(text: str, expected: Spec | None) -> None:
    assert parse_spec(text) == expected


@pytest.mark.parametrize(
    ("text", "cuda"),
    [
        ("pytorch=2.5.1=cuda126_py312h*", "12.6"),
        ("pytorch=2.3.1=py3.10_cuda12.1_cudnn8.9.2_0", "12.1"),
        ("pytorch=1.13.1=cuda112py310he33e0d6_200", "11.2"),
        ("pytorch-cuda=12.1", "12.1"),
        ("pytorch=2.5.1=cuda12*", ""),
        ("pytorch=2.5.1=cpu_generic*", ""),
        ("pytorch-cuda>=12.1", ""),
        ("cuda-version=12.6", ""),  # torch may be of an older 12.x
    ],
)
def test_which_cuda_torch_is_built_for(text: str, cuda: str) -> None:
    draft, spec = Draft(given(""), "x"), parse_spec(text)
    assert spec is not None
    assert add_spec(draft, CondaNames(), spec, HERE) is None
    found = draft.facts.get("torch.cuda")
    assert (found.value if found else "") == cuda


def test_names_are_those_of_pypi() -> None:
    draft = Draft(given(""), "x")
    for name in ("pytorch-gpu", "torchtriton", "huggingface_hub", "python", "__glibc"):
        assert add_spec(draft, CondaNames(), Spec(name, "=3.1"), HERE) is None
    assert [each.name for each in draft.requirements] == ["torch", "triton", "huggingface-hub"]
    assert draft.python is not None
    assert draft.python.value == "==3.1.*"


@pytest.mark.parametrize("version", [">=", "=>1.2", "1.2,,3", "<1.x"])
def test_a_malformed_version_is_a_problem(version: str) -> None:
    assert add_spec(Draft(given(""), "x"), CondaNames(), Spec("numpy", version), HERE)


def test_files() -> None:
    url = "https://conda.example.org/conda-forge/linux-64/pytorch-2.5.1-cuda126_py312h_306.conda"
    channel = "https://conda.example.org/conda-forge"
    assert conda_file(url) == Spec("pytorch", "==2.5.1", "cuda126_py312h_306", channel)
    assert conda_file("ca-certificates-2025.1.31-hbcca054_0.tar.bz2") == Spec(
        "ca-certificates", "==2025.1.31", "hbcca054_0"
    )
    assert conda_file("https://example.org/x.whl") is None
    assert conda_file("a-" * 5000) is None
