"""``docker run``: options, image, arguments, and what variables say."""

from __future__ import annotations

import shlex

import pytest

from fadoctor.sources.configs.docker_run import container_run
from fadoctor.sources.configs.shell_commands import ConfigWord
from tests.unit.sources.configs.read import facts


def words(text: str) -> tuple[ConfigWord, ...]:
    return tuple(ConfigWord(each, 1, at) for at, each in enumerate(shlex.split(text)))


@pytest.mark.parametrize(
    ("text", "image", "arguments"),
    [
        ("docker run --gpus all img --dtype half", "img", ["--dtype", "half"]),
        ("sudo docker run -it --rm -p 80:80 -v a:b img serve", "img", ["serve"]),
        ("docker container run --ipc=host -dit img", "img", []),
        ("podman run -p80:80 --device x img -a", "img", ["-a"]),
        ("nerdctl create --name x img", "img", []),
    ],
)
def test_image_and_arguments(text: str, image: str, arguments: list[str]) -> None:
    found = container_run(words(text))
    assert found is not None
    assert (found.image.text, [each.text for each in found.arguments]) == (image, arguments)


@pytest.mark.parametrize("text", ["docker ps", "run x", "docker run --rm", "python run docker"])
def test_what_starts_no_container(text: str) -> None:
    assert container_run(words(text)) is None


def test_variables_of_a_container() -> None:
    found = container_run(words("docker run -e A=1 --env=B=2 --env C=3 -v D=4 img -e E=5"))
    assert found is not None
    assert [(name, word.text) for name, word in found.variables] == [
        ("A", "1"), ("B", "2"), ("C", "3"),
    ]  # fmt: skip


@pytest.mark.parametrize(
    "command",
    [
        "docker run --gpus all ghcr.io/me/server:1 --model x --dtype bfloat16",
        "docker run -e DTYPE=bfloat16 huggingface/text-generation-inference:3.0.1 --model-id x",
        "docker run --gpus all ${IMAGE:-vllm/vllm-openai:latest} --dtype bfloat16",
        "docker run $OPTIONS vllm/vllm-openai:v0.10.0 --dtype bfloat16",
    ],
)
def test_what_a_container_is_told(command: str) -> None:
    assert facts(("serve.sh", f"{command}\n"))["weights_dtype"] == "bf16"


def test_a_container_that_is_told_nothing_of_the_field() -> None:
    assert "dtype" not in facts(("x.sh", "docker run -e DTYPE=bfloat16 redis:7 redis-server\n"))
