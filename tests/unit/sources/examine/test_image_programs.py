"""Programs of a container image are judged with its packages, not with those of this machine."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from fadoctor.knowledge.matrix.load import load_knowledge
from fadoctor.knowledge.matrix.query import Matrix
from fadoctor.model.environment import Environment, Target
from fadoctor.model.errors import InputError
from fadoctor.model.fact import Known, Unknown
from fadoctor.sources.configs.intent import OWN_IMAGE, Configuration, Intent
from fadoctor.sources.examine.image_programs import in_their_image
from fadoctor.sources.manifests.read import read_held
from tests.unit.sources.configs.read import read

if TYPE_CHECKING:
    from fadoctor.sources.manifests.planned import Manifest

HERE = Environment(
    "0",
    Target("environment", "/env", "named"),
    {
        "torch.version": Known("2.4.0", "here"), "vllm.version": Known("0.6.0", "here"),
        "host.os": Known("linux", "here"), "python.version": Known("3.11", "here"),
        "gpu.count": Known(1, "here"),
    },
)  # fmt: skip


def nothing(name: str) -> Manifest:
    raise InputError(name, "installs nothing")


def judged(configuration: Configuration, text: str = "") -> Environment:
    def held(name: str) -> Manifest:
        return read_held(name, text) if text else nothing(name)

    return in_their_image(HERE, [configuration], Matrix(load_knowledge().tables), held)


COMPOSE = "services:\n  a:\n    image: {}\n    command: --model m --dtype bfloat16\n"


def test_the_tag_of_an_image_says_what_it_holds() -> None:
    found = judged(read(COMPOSE.format("vllm/vllm-openai:v0.8.5"), "compose.yaml"))
    assert found.facts["vllm.version"] == Known("0.8.5", "compose.yaml:4:1: vllm==0.8.5")
    assert isinstance(found.facts["torch.version"], Unknown)
    assert found.facts["gpu.count"] == Known(1, "here")


@pytest.mark.parametrize("image", ["me/mine:1", "${IMAGE}", "vllm/vllm-openai"])
def test_what_an_image_holds_that_no_table_knows_is_unknown(image: str) -> None:
    found = judged(read(COMPOSE.format(image).replace("--model m", "vllm serve m"), "c.yaml"))
    assert isinstance(found.facts["torch.version"], Unknown)
    assert isinstance(found.facts["vllm.version"], Unknown)


def test_an_image_without_a_command_counts_too() -> None:
    text = "kind: Job\nspec:\n  image: $IMAGE\ndata:\n  config.json: |\n    {bf16: true}\n"
    assert isinstance(judged(read(text, "job.yaml")).facts["torch.version"], Unknown)


DOCKERFILE = """FROM python:3.11
RUN pip install torch==2.6.0
CMD ["python", "train.py", "--bf16"]
"""
MODAL = """import modal, subprocess
I = modal.Image.debian_slim(python_version="3.11").pip_install("torch==2.6.0")
subprocess.run(["vllm", "serve", "m"])
"""


@pytest.mark.parametrize(("name", "text"), [("Dockerfile", DOCKERFILE), ("app.py", MODAL)])
def test_a_file_that_makes_its_image_says_itself_what_it_holds(name: str, text: str) -> None:
    configuration = read(text, name)
    assert configuration.image == OWN_IMAGE
    version = judged(configuration, text).facts["torch.version"]
    assert isinstance(version, Known)
    assert version.value == "2.6.0"


def test_an_environment_counts_where_a_file_names_no_image() -> None:
    place = read("bf16: true\nlearning_rate: 1\nfp16: false\n").intents[0].place
    plain = Configuration("a.yaml", "trainer", (Intent("config.bf16", value=True, place=place),))
    assert judged(plain) is HERE
