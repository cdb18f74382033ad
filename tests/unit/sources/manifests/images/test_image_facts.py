from __future__ import annotations

import pytest

from fadoctor.knowledge.matrix.load import load_knowledge
from fadoctor.knowledge.matrix.query import Matrix
from fadoctor.model.environment import Environment, Target
from fadoctor.model.fact import Fact, Known, Unknown
from fadoctor.sources.manifests.formats.environment_yml import read as read_environment
from fadoctor.sources.manifests.formats.pixi_lock import read as read_pixi
from fadoctor.sources.manifests.images.dockerfile import read
from fadoctor.sources.manifests.images.image_facts import image_facts
from fadoctor.sources.manifests.installed.environment import planned_environment
from tests.unit.sources.manifests.given import given, sample

MACHINE = {
    "host.os": "linux", "host.platform": "linux_x86_64", "host.machine": "x86_64",
    "host.glibc": "2.17", "python.version": "3.9.1", "python.tag": "cp39",
    "toolkit.nvcc.version": "11.0",
}  # fmt: skip


def facts_of(*manifests: object, overlays: tuple[str, ...] = ()) -> dict[str, object]:
    facts: dict[str, Fact] = {name: Known(value, "this machine") for name, value in MACHINE.items()}
    host = Environment("0", Target("environment", "here", "test"), facts, overlays)
    matrix = Matrix(load_knowledge().tables)
    found = planned_environment(host, manifests, matrix).facts  # type: ignore[arg-type]
    return {
        name: fact.value if isinstance(fact, Known) else type(fact) for name, fact in found.items()
    }


def test_an_image_has_its_own_glibc_toolkit_and_python() -> None:
    facts = facts_of(read(given("FROM nvidia/cuda:12.4.1-devel-ubuntu22.04\n")))
    assert facts["host.glibc"] == "2.35"
    assert facts["toolkit.nvcc.version"] == "12.4"
    assert facts["python.version"] is Unknown
    assert facts["host.platform"] == "linux_x86_64"


def test_what_a_tag_does_not_say_is_not_taken_from_the_machine() -> None:
    facts = facts_of(read(given("FROM mine/train:latest\nRUN pip install torch==2.7.1\n")))
    for name in ("host.glibc", "toolkit.nvcc.version", "python.version", "python.tag"):
        assert facts[name] is Unknown
    assert facts["torch.version"] == "2.7.1"


def test_an_image_of_python_says_its_version() -> None:
    facts = facts_of(read(given("FROM python:3.11-slim-bookworm\n")))
    assert (facts["python.version"], facts["python.tag"]) == ("3.11", "cp311")


def test_what_is_assumed_goes_before_the_image() -> None:
    manifest = read(given("FROM nvidia/cuda:12.4.1-devel-ubuntu22.04\n"))
    given_by = image_facts([manifest], ("--glibc 2.28", "--python-version 3.12"))
    assert "host.glibc" not in given_by
    assert "python.version" not in given_by
    assert given_by["toolkit.nvcc.version"] == Known(
        "12.4", "given:1:6: nvidia/cuda:12.4.1-devel-ubuntu22.04"
    )


def test_without_an_image_the_machine_counts() -> None:
    assert image_facts([read_environment(given("dependencies: []\n"))], ()) == {}


def test_the_torch_of_an_image_is_of_its_cuda() -> None:
    facts = facts_of(read(given("FROM pytorch/pytorch:2.7.1-cuda12.8-cudnn9-runtime\n")))
    assert (facts["torch.version"], facts["torch.build"], facts["torch.cuda"]) == (
        "2.7.1+cu128", "cu128", "12.8",
    )  # fmt: skip


def test_the_build_of_condas_torch_says_its_cuda() -> None:
    facts = facts_of(read_pixi(sample("pixi.lock")))
    assert (facts["torch.version"], facts["torch.build"], facts["torch.cuda"]) == (
        "2.5.1", "other", "12.6",
    )  # fmt: skip
    ranged = facts_of(read_environment(sample("environment.yml")))
    assert (ranged["torch.version"], ranged["torch.cuda"]) == ("2.3.1", "12.1")


def test_the_cuda_of_conda_is_not_that_of_a_torch_that_pip_brings() -> None:
    text = "dependencies:\n- pytorch-cuda=12.1\n- pip:\n  - torch>=2.4\n"
    assert facts_of(read_environment(given(text)))["torch.cuda"] is Unknown


@pytest.mark.parametrize(
    ("image", "package", "version"),
    [
        ("lmsysorg/sglang:v0.5.2", "sglang", "0.5.2"),
        ("lmsysorg/sglang:v0.5.2-cu128-b200", "sglang", "0.5.2"),
        ("lmsysorg/sglang:v0.5.2-cu129-amd64-dev", "sglang", "0.5.2"),
        ("lmsysorg/sglang:v0.5.2-rocm700-mi35x", "sglang", Unknown),
        ("vllm/vllm-openai:v0.11.0-x86_64", "vllm", "0.11.0"),
        ("vllm/vllm-openai:v0.12.0-cu130", "vllm", "0.12.0+cu130"),
        ("vllm/vllm-openai:v0.27.1-cu130", "vllm", "0.27.1"),
        ("vllm/vllm-openai:latest-cu129", "torch", Unknown),
        ("vllm/vllm-openai:nightly-abc", "vllm", Unknown),
    ],
)
def test_a_tag_with_more_than_a_version(image: str, package: str, version: object) -> None:
    assert facts_of(read(given(f"FROM {image}\n")))[f"{package}.version"] == version


def test_a_tag_names_the_cuda_of_its_torch() -> None:
    """Regression: driver 570 was too old for the image that is made for it."""
    facts = facts_of(read(given("FROM vllm/vllm-openai:v0.27.1-x86_64-cu129-ubuntu2404\n")))
    assert facts["torch.build"] == "cu129"
    facts = facts_of(read(given("FROM lmsysorg/sglang:v0.5.12-cu126\n")))
    assert facts["torch.build"] == "cu126"


RUNTIME = "FROM nvidia/cuda:12.4.1-runtime-ubuntu22.04\n"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (RUNTIME, False),
        (f"{RUNTIME}RUN apt-get update && apt-get install -y python3-pip git\n", False),
        (
            f"{RUNTIME}RUN pip install torch --index-url https://download.pytorch.org/whl/cu124\n",
            False,
        ),
        ("FROM pytorch/pytorch:2.7.1-cuda12.8-cudnn9-runtime\n", False),
        ("FROM python:3.11-slim\nRUN pip install ninja\n", False),
        (f"{RUNTIME}RUN apt-get install -y cuda-nvcc-12-4\n", Unknown),
        (f"{RUNTIME}RUN conda install -y x\n", Unknown),
        (f"{RUNTIME}ENV FLASH_ATTENTION_SKIP_CUDA_BUILD=TRUE\n", Unknown),
        (f"{RUNTIME}RUN FLASH_ATTENTION_SKIP_CUDA_BUILD=TRUE pip install flash-attn\n", Unknown),
        (f"{RUNTIME}COPY install.sh .\nRUN bash install.sh\n", Unknown),
        (f"FROM a AS b\n{RUNTIME}COPY --from=b /usr/local /usr/local\n", Unknown),
        ("FROM nvidia/cuda:12.4.1-devel-ubuntu22.04\n", Unknown),
        ("FROM mine/train:latest\n", Unknown),
    ],
)
def test_an_image_without_nvcc(text: str, said: object) -> None:
    facts = facts_of(read(given(text)))
    assert facts["toolkit.in_image"] == said
    assert (facts["toolkit.count"] == 0) is (said is False)


def test_the_newest_server_of_another_cuda_is_a_build_of_its_own() -> None:
    facts = facts_of(read(given("FROM vllm/vllm-openai:latest-cu129\n")))
    assert str(facts["vllm.version"]).endswith("+cu129")
    assert facts["torch.build"] == "cu129"


@pytest.mark.parametrize("release", ["release_2.6.0", "2.6.0"])
def test_the_tag_of_amds_image_says_torch_and_rocm(release: str) -> None:
    tag = f"rocm6.4.2_ubuntu24.04_py3.12_pytorch_{release}"
    facts = facts_of(read(given(f"FROM rocm/pytorch:{tag}\n")))
    names = ("torch.version", "torch.build", "python.version", "host.glibc", "toolkit.in_image")
    assert [facts[name] for name in names] == ["2.6.0+rocm6.4.2", "rocm", "3.12", "2.39", False]
    assert facts_of(read(given("FROM rocm/pytorch:latest\n")))["torch.version"] is Unknown
