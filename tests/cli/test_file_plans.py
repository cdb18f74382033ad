"""Plans of files change something: over kinds of files, builds of torch, and what is compiled."""

from __future__ import annotations

import json
import re
from itertools import product
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from pathlib import Path

    from tests.cli.conftest import Run

GPU = ("--gpu", "A100", "--python-version", "3.11", "--platform", "linux_x86_64")
INDEX = "https://download.pytorch.org/whl"
WHEELS = "https://github.com/Dao-AILab/flash-attention/releases/download/v2.7.4.post1"
FILES = {
    "install.sh": "{}\n",
    "Dockerfile": "FROM python:3.11-bookworm\nRUN {}\n",
    ".gitlab-ci.yml": "image: python:3.11\ntrain:\n  script:\n    - {}\n",
}
JOINS = {"install.sh": "\n", "Dockerfile": "\nRUN ", ".gitlab-ci.yml": "\n    - "}
BUILDS = ("", "cu118", "cu124", "cu126", "cpu")
BESIDE = (
    "vllm==0.8.5",
    f"{WHEELS}/flash_attn-2.7.4.post1+cu12torch2.6cxx11abiFALSE-cp311-cp311-linux_x86_64.whl",
    f"{WHEELS}/flash_attn-2.7.4.post1+cu12torch2.6cxx11abiTRUE-cp311-cp311-linux_x86_64.whl",
    "--no-build-isolation flash-attn==2.7.4.post1",
)
STATES = list(product(FILES, BUILDS, BESIDE))
# install.sh:1:13: ask for torch==2.6.0
_ASKS = re.compile(r".*:(?P<line>\d+):\d+: ask for (?P<asked>\S+(?: @ \S+)?)(?P<index> from \S+)?")


def plan_of(run: Run, folder: Path, state: tuple[str, str, str]) -> tuple[Path, dict[str, object]]:
    name, build, beside = state
    path = folder / name
    index = f" --index-url {INDEX}/{build}" if build else ""
    torch = f"pip install torch==2.6.0 torchvision==0.21.0{index}"
    others = f'pip install "transformers<4.53" {beside}'
    path.write_text(FILES[name].format(JOINS[name].join((torch, others))))
    done = run("fix", "--requirements", str(path), "--dry-run", *GPU, "--format", "json")
    return path, json.loads(done.stdout)


def check_says_something_new(path: Path, plan: dict[str, object]) -> None:
    lines = path.read_text().split("\n")
    edits = plan["edits"]
    assert isinstance(edits, list)
    if plan["changes"]:
        assert edits
    for edit in edits:
        if found := _ASKS.fullmatch(edit.get("text", "")):
            words = re.split(r"[\s\"']+", lines[int(found["line"]) - 1])
            assert found["index"] or found["asked"].rpartition(" @ ")[2] not in words
        changed = [each for each in edit.get("diff", "").split("\n")[2:] if each[:1] in ("-", "+")]
        gone, new = ([e[1:] for e in changed if e[0] == sign] for sign in "-+")
        assert gone != new or not changed


@pytest.mark.parametrize("state", STATES[3::8], ids=" ".join)
def test_no_remedy_is_what_its_line_says_by_now(
    run: Run, tmp_path: Path, state: tuple[str, str, str]
) -> None:
    check_says_something_new(*plan_of(run, tmp_path, state))


@pytest.mark.long
@pytest.mark.parametrize("state", STATES, ids=" ".join)
def test_no_remedy_of_all_is_what_its_line_says_by_now(
    run: Run, tmp_path: Path, state: tuple[str, str, str]
) -> None:
    check_says_something_new(*plan_of(run, tmp_path, state))


def test_an_image_without_a_toolkit_gets_the_file(run: Run, tmp_path: Path) -> None:
    """setup.py stops before it looks for a wheel."""
    state = ("Dockerfile", "", "--no-build-isolation flash-attn==2.7.4.post1")
    path, plan = plan_of(run, tmp_path, state)
    assert "cxx11abiFALSE-cp311" in str(plan["edits"])
    path.write_text(
        path.read_text().replace("\nRUN", "\nRUN apt-get install cuda-nvcc-12-4\nRUN", 1)
    )
    done = run("fix", "--requirements", str(path), "--dry-run", *GPU, "--format", "json")
    assert json.loads(done.stdout)["edits"] == []
