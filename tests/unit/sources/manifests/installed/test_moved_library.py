"""Commands in sequence: which one moves a library that an earlier package compares at import."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from fadoctor.model.fact import fact_mapping, fact_text
from fadoctor.sources.manifests.installed.moved_library import (
    MOVED_LIBRARY,
    MOVED_LIBRARY_BOUND,
    UNDONE_PIN,
    UNDONE_PIN_BOUND,
)
from tests.unit.sources.manifests.installed.test_contradicted import of_file

if TYPE_CHECKING:
    from pathlib import Path

NEW = "python3.11 -m venv env\n"
OLD = f"{NEW}pip install transformers==4.48.3\n"
DIFFUSERS = f"{NEW}pip install diffusers==0.27.2\npip install huggingface-hub==0.23.5\n"
NAMES = "huggingface-hub>=0.20.0,<0.26.0"
TORCH = f"{NEW}pip install torch==2.1.0\npip install numpy==1.26.4\n"
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
        # a pin of an earlier command is no bound for a later one
        (f"{OLD}pip install huggingface-hub==0.30.0\npip install datasets\n", HUB),
        (f"{OLD}pip install datasets\npip install huggingface-hub==0.30.0\n", ""),
        # names that are gone, of which no metadata speaks
        (f"{DIFFUSERS}pip install transformers\n", NAMES),
        (f"{DIFFUSERS}pip install transformers\npip install peft\n", NAMES),
        (f"{DIFFUSERS}pip install transformers==4.40.0\n", ""),
        (f"{DIFFUSERS}pip install transformers 'huggingface-hub<0.26'\n", ""),
        (f"{DIFFUSERS}pip install transformers\npip install nobody-knows-it\n", ""),
        # the library itself, where its command takes the newest
        (f"{OLD}pip install -U huggingface-hub\n", ""),  # its release is a fact
        (f"{OLD}pip install huggingface-hub\n", ""),
        (f"{OLD}pip install -U 'huggingface-hub<1'\n", ""),
        # NumPy 1 was asked for, and torch is older than NumPy 2
        (f"{TORCH}pip install opencv-python\n", "numpy<2"),
        (f"{TORCH}pip install opencv-python\npip install peft\n", "numpy<2"),
        (f"{TORCH}pip install 'opencv-python<4.12'\n", ""),
        (f"{TORCH}pip install opencv-python numpy==1.26.4\n", ""),
        (f"{TORCH}pip install opencv-python\npip install 'numpy<2'\n", ""),
        (f"{TORCH.replace('2.1.0', '2.4.0')}pip install opencv-python\n", ""),
        # nobody knows what is there
        ("pip install transformers==4.48.3\npip install datasets\n", ""),
        ("pip install transformers==4.48.3\npip install -U datasets\n", HUB),
        # a library that is repaired, and moved again by a later command
        (f"{OLD}pip install -U huggingface-hub\npip install -U datasets\n", HUB),
        (f"{OLD}pip install -e .\npip install datasets\n", ""),
    ],
)
def test_what_the_newest_release_takes_away(tmp_path: Path, commands: str, bound: str) -> None:
    name = "Dockerfile" if commands.startswith("FROM") else "setup.sh"
    there = of_file(tmp_path, name, commands)
    assert fact_text(there.fact(MOVED_LIBRARY_BOUND), "") == bound
    assert bool(fact_mapping(there.fact(MOVED_LIBRARY))) is bool(bound)


TRL = "pip install transformers==4.49.0\npip install -U trl\n"


@pytest.mark.parametrize(
    ("commands", "pin"),
    [
        (TRL, "transformers==4.49.0"),
        (f"{NEW}{TRL.replace('-U ', '')}", "transformers==4.49.0"),
        (f"{TRL}pip install accelerate\n", "transformers==4.49.0"),
        # named again, or in the same command
        (f"{TRL}pip install transformers==4.49.0\n", ""),
        ("pip install transformers==4.49.0\npip install -U trl 'transformers<4.50'\n", ""),
        ("pip install -U transformers==4.49.0 trl\n", ""),
        # the release that comes accepts it
        ("pip install transformers==4.57.1\npip install -U trl\n", ""),
        ("pip install transformers==4.49.0\npip install -U trl==0.15.2\n", ""),
        # trl may be there in a release that does
        (TRL.replace("-U ", ""), ""),
        # one resolution of a project, and conda's
        ("uv add transformers==4.49.0\nuv add trl\n", ""),
        ("conda install -y transformers=4.49.0\nconda install -y trl\n", ""),
        # installed without what it requires
        (TRL.replace("-U", "--no-deps -U"), ""),
        (
            "pip install transformers==4.49.0\npip uninstall -y transformers\npip install -U trl\n",
            "",
        ),
        # what a command installs that nobody can read may name it
        (f"{TRL}pip install nobody-knows-it\n", ""),
        (f"{TRL}pip install -e .\n", ""),
    ],
)
def test_a_pin_that_a_later_command_replaces(tmp_path: Path, commands: str, pin: str) -> None:
    there = of_file(tmp_path, "setup.sh", commands)
    name, _, version = pin.partition("==")
    assert fact_text(there.fact(UNDONE_PIN_BOUND), "") == pin
    assert bool(fact_mapping(there.fact(UNDONE_PIN))) is bool(pin)
    if name:  # the facts are about what came
        assert fact_text(there.fact(f"{name}.version"), "") != version


@pytest.mark.parametrize("asked", ["huggingface-hub", "'huggingface_hub[cli]'"])
def test_the_release_that_a_later_command_takes_is_a_fact(tmp_path: Path, asked: str) -> None:
    there = of_file(tmp_path, "setup.sh", f"{OLD}pip install -U {asked}\n")
    assert there.pinned["huggingface-hub"].partition(".")[0] != "0"
    there = of_file(
        tmp_path,
        "other.sh",
        "pip install sentence-transformers==3.0.1\npip install -U transformers\n",
    )
    assert fact_text(there.fact("transformers.version"), "").partition(".")[0] != "4"


def test_nothing_is_said_of_what_too_many_commands_leave(tmp_path: Path) -> None:
    there = of_file(tmp_path, "setup.sh", TRL + "pip install einops\n" * 400)
    assert not fact_mapping(there.fact(UNDONE_PIN))
