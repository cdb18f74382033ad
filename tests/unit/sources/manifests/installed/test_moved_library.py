"""Commands in sequence: which one moves a library that an earlier package compares at import."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from fadoctor.model.fact import fact_mapping, fact_text
from fadoctor.sources.manifests.installed.moved_library import MOVED_LIBRARY, MOVED_LIBRARY_BOUND
from tests.unit.sources.manifests.installed.test_contradicted import of_file

if TYPE_CHECKING:
    from pathlib import Path

NEW = "python3.11 -m venv env\n"
OLD = f"{NEW}pip install transformers==4.48.3\n"
IMAGE = "FROM python:3.11\nRUN pip install transformers==4.48.3\n"
HUB = "huggingface-hub<1.0,>=0.24.0"


@pytest.mark.parametrize(
    ("commands", "bound"),
    [
        (f"{OLD}pip install datasets\n", HUB),
        (f"{OLD}pip install a-small-one\npip install 'datasets>=3' wandb\n", HUB),
        (
            "FROM python:3.11\nRUN pip install transformers==4.48.3\nRUN pip install diffusers\n",
            HUB,
        ),
        # an installer heeds both
        (f"{NEW}pip install transformers==4.48.3 datasets\n", ""),
        (f"{OLD}pip install datasets trl\n", ""),
        # what comes later has transformers in its requirements: it puts it right
        (f"{OLD}pip install datasets\npip install peft\n", ""),
        (f"{OLD}pip install datasets\npip install a-small-one\n", ""),
        # no contradiction
        (f"{OLD}pip install datasets==3.6.0\n", ""),
        (f"{OLD}pip install 'datasets<4'\n", ""),
        (f"{OLD}pip install accelerate\n", ""),
        (f"{NEW}pip install transformers==5.10.0\npip install datasets\n", ""),
        (f"{OLD}pip install datasets 'huggingface-hub<1'\n", ""),
        # it came along before, and stays
        (f"{NEW}pip install transformers==4.48.3 trl==0.15.2\npip install datasets\n", ""),
        # nobody knows what is there
        ("pip install transformers==4.48.3\npip install datasets\n", ""),
        (f"{OLD}pip install -e .\npip install datasets\n", ""),
    ],
)
def test_what_the_newest_release_takes_away(tmp_path: Path, commands: str, bound: str) -> None:
    name = "Dockerfile" if commands.startswith("FROM") else "setup.sh"
    there = of_file(tmp_path, name, commands)
    assert fact_text(there.fact(MOVED_LIBRARY_BOUND), "") == bound
    assert bool(fact_mapping(there.fact(MOVED_LIBRARY))) is bool(bound)
