"""Branches of a script that a fresh checkout surely takes, and those that it does not."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from fadoctor.sources.manifests.commands.command_files import read as read_commands
from fadoctor.sources.manifests.planned import UNSEEN_BASE
from fadoctor.sources.manifests.read import read_manifest
from tests.unit.sources.manifests.given import given, wanted

if TYPE_CHECKING:
    from pathlib import Path


def _of(folder: Path, text: str, name: str = "setup.sh") -> tuple[dict[str, str], list[str]]:
    file = folder / name
    file.write_text(text)
    found = read_manifest(str(file))
    return wanted(found), list(found.notes)


@pytest.mark.parametrize(
    "test",
    [
        "[ ! -d .venv ]",
        "! [ -d .venv ]",
        "[[ ! -d $VENV ]]",
        'test ! -f "$VENV/bin/activate"',
        "[[ -f wishes.txt && ! -d .venv ]]; then echo; fi; if [ ! -d .venv ]",
    ],
)
def test_a_fresh_checkout_has_no_environment(tmp_path: Path, test: str) -> None:
    (tmp_path / "wishes.txt").write_text("einops")
    script = f"VENV=/opt/venv\nif {test}; then\npython -m venv x\npip install torch==2.6.0\nfi\n"
    found, notes = _of(tmp_path, script)
    assert found == {"torch": "==2.6.0"}
    assert notes == []


def test_the_other_branch_is_left_out(tmp_path: Path) -> None:
    script = (
        "if [ ! -d .venv ]; then\n  pip install torch==2.6.0\n"
        "else\n  CUDA=cu118\n  pip install torch==2.4.0\nfi\npip install numpy==1.26.4$CUDA\n"
    )
    found, notes = _of(tmp_path, script)
    assert found["torch"] == "==2.6.0"
    assert notes[0] == f"{tmp_path}/setup.sh:5: does not run by default: pip install torch==2.4.0"


def test_a_file_of_the_project_is_there(tmp_path: Path) -> None:
    (tmp_path / "wishes.txt").write_text("torch==2.6.0")
    script = "if [ -f wishes.txt ]; then pip install -r wishes.txt; fi\n"
    assert _of(tmp_path, script)[0] == {"torch": "==2.6.0"}
    found, notes = _of(tmp_path, script.replace("wishes", "others"))
    assert found == {}
    assert "runs only under a condition" in notes[0]


def test_a_test_joined_to_a_command(tmp_path: Path) -> None:
    (tmp_path / "wishes.txt").write_text("torch==2.6.0")
    script = "[ -f wishes.txt ] && pip install -r wishes.txt\n[ -d .venv ] || uv venv .venv\n"
    assert _of(tmp_path, script)[0] == {"torch": "==2.6.0"}


@pytest.mark.parametrize(("value", "release"), [("0", "2.6.0"), ("1", "2.4.0")])
def test_a_known_variable_decides(tmp_path: Path, value: str, release: str) -> None:
    text = (
        f"FROM python:3.11-slim\nARG OLD={value}\n"
        'RUN if [ "${OLD}" = "1" ]; then pip install torch==2.4.0; '
        "else pip install torch==2.6.0; fi\n"
    )
    found, _ = _of(tmp_path, text, "Dockerfile")
    assert found == {"torch": f"=={release}"}


def test_what_only_a_run_tells_stays_open(tmp_path: Path) -> None:
    script = 'if [ "$1" = "gpu" ]; then pip install torch==2.6.0; else pip install numpy; fi\n'
    found, notes = _of(tmp_path, script)
    assert found == {}
    assert sum("runs only under a condition" in note for note in notes) == 2


def test_a_second_try_is_for_a_first_that_fails(tmp_path: Path) -> None:
    script = (
        "pip install torch==2.5.1 --index-url https://download.pytorch.org/whl/cu121 "
        "|| pip install torch\nuv venv\n"
    )
    found, notes = _of(tmp_path, script)
    assert found == {"torch": "==2.5.1"}
    assert "runs only where the command before it fails" in notes[0]


def test_a_lower_bound_leaves_what_an_index_gave(tmp_path: Path) -> None:
    index = "https://download.pytorch.org/whl/cu121"
    file = tmp_path / "setup.sh"
    file.write_text(f"uv venv\npip install torch --index-url {index}\npip install 'torch>=2.0'\n")
    (asked,) = read_manifest(str(file)).requirements
    assert (asked.specifier, asked.index) == (">=2.0", index)
    file.write_text(f"uv venv\npip install torch --index-url {index}\npip install 'torch>=2.6'\n")
    (asked,) = read_manifest(str(file)).requirements
    assert (asked.specifier, asked.index) == (">=2.6", "")


HOSTED = """jobs:
  gpu:
    runs-on: ubuntu-22.04
    steps:
      - uses: actions/setup-python@v5
        with:
          python-version: "3.12"
      - run: pip install torch
"""


def test_a_machine_of_github_begins_anew() -> None:
    found = read_commands(given(HOSTED, "ci.yml"))
    assert UNSEEN_BASE not in found.notes
    assert found.python is not None
    assert found.python.value == "==3.12.*"
    own = read_commands(given(HOSTED.replace("ubuntu-22.04", "self-hosted"), "ci.yml"))
    assert UNSEEN_BASE in own.notes


def test_an_upgrade_takes_the_place_of_what_is_there(tmp_path: Path) -> None:
    file = tmp_path / "setup.sh"
    file.write_text("pip install -U torch\npip install numpy\n")
    said = {each.name: each.is_renewed for each in read_manifest(str(file)).requirements}
    assert said == {"torch": True, "numpy": False}
