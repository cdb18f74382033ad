"""Whether commands begin with nothing, and what they find of lines that could not be read."""

from __future__ import annotations

import pytest

from fadoctor.sources.manifests.commands.install_script import read
from fadoctor.sources.manifests.planned import UNSEEN_BASE, UNSEEN_REST
from tests.unit.sources.manifests.given import by_name, given

TORCH = "pip install torch==2.6.0\n"


def notes(text: str) -> set[str]:
    return {UNSEEN_BASE, UNSEEN_REST} & set(read(given(text, "setup.sh")).notes)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (f"{TORCH}pip install transformers\n", set()),
        ("conda install pytorch=2.4 -c pytorch\npip install transformers\n", set()),
        ("pip install transformers\n", {UNSEEN_BASE}),
        ("pip install -U torch transformers\n", {UNSEEN_BASE}),
        (f"pip uninstall -y torch\n{TORCH}", {UNSEEN_BASE}),
        (f"module load cuda/12.4 pytorch/2.4\n{TORCH}", {UNSEEN_BASE}),
        (f"module load cuda/12.4 python/3.11\n{TORCH}", set()),
        (f"python -m venv --system-site-packages env\n{TORCH}", {UNSEEN_BASE}),
        # who builds it first has a torch
        (f"pip install flash-attn --no-build-isolation\n{TORCH}", {UNSEEN_BASE}),
        (f"{TORCH}pip install -e .\n", {UNSEEN_REST}),
        ("uv venv\nuv pip install vllm\npip install -e .\n", {UNSEEN_REST}),
    ],
)
def test_who_installs_torch_begins_with_nothing(text: str, said: set[str]) -> None:
    assert notes(text) == said


def test_a_line_before_the_environment_is_made_installs_into_another_one() -> None:
    fetched = "curl -LsSf https://example.org/uv/install.sh | sh\n"
    assert notes(f"{fetched}uv venv\nuv pip install vllm\n") == set()
    assert notes(f"uv venv\n{fetched}uv pip install vllm\n") == {UNSEEN_REST}


def test_what_stands_before_an_unread_line_finds_nothing_of_it() -> None:
    text = "uv venv\nuv pip install vllm\nuv pip install -e .\nuv pip install trl\n"
    found = by_name(read(given(text, "setup.sh")))
    assert (found["vllm"].is_renewed, found["trl"].is_renewed) == (True, False)
