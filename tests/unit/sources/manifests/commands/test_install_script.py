"""Commands of scripts and notebooks that install: what is there after the last one."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from fadoctor.model.errors import InputError
from fadoctor.model.place import Place
from fadoctor.sources.manifests.commands.install_script import read, recognises
from fadoctor.sources.manifests.planned import UNSEEN_BASE, Manifest, speaks_of_image
from fadoctor.sources.manifests.read import read_manifest, read_source
from tests.unit.sources.manifests.given import by_name, given, wanted

if TYPE_CHECKING:
    from pathlib import Path

CU124 = "https://download.pytorch.org/whl/cu124"


def script(text: str, name: str = "install.sh") -> Manifest:
    return read(given(text, name))


def notebook(*cells: str | list[str], indent: int | None = 1) -> Manifest:
    book = {"cells": [{"cell_type": "code", "source": each} for each in cells], "nbformat": 4}
    return read(given(json.dumps(book, indent=indent), "nb.ipynb"))


def said(manifest: Manifest) -> list[str]:
    """Return the notes with a line, without the file."""
    return [note.partition(":")[2] for note in manifest.notes if note != UNSEEN_BASE]


def test_commands_one_after_the_other() -> None:
    manifest = script(
        "#!/usr/bin/env bash\nset -euo pipefail\nTORCH=2.6.0\npython -m venv .venv\n"
        f'pip install "torch==${{TORCH}}" --index-url {CU124}\n'
        "pip install torch==2.6.0 xformers==0.0.29.post3\n"
    )
    assert wanted(manifest) == {"torch": "==2.6.0", "xformers": "==0.0.29.post3"}
    assert by_name(manifest)["torch"].index == CU124  # it is there, and good enough
    assert by_name(manifest)["xformers"].place == Place("install.sh", 6, 26)
    assert manifest.is_in_steps
    assert not manifest.is_complete
    assert manifest.notes == ()


def test_what_was_there_before_is_not_known() -> None:
    manifest = script("pip install transformers\n")
    assert manifest.notes == (UNSEEN_BASE,)
    assert speaks_of_image(UNSEEN_BASE)
    for fresh in ("uv venv", "conda create -n x python=3.11 -y", "conda env create -n x"):
        assert UNSEEN_BASE not in script(f"{fresh}\npip install transformers\n").notes


def test_what_only_runs_sometimes_is_not_followed() -> None:
    manifest = script(
        "if true; then\n  pip install vllm\nfi\n"
        "fa() {\n  { pip install flash-attn; }\n}\n"
        "function more { pip install xformers; }\n"
        "for x in a b; do W=$x; done\npip install trl peft==$W\n"
    )
    assert wanted(manifest) == {"trl": ""}
    assert said(manifest) == [
        "2: runs only under a condition, so not followed: pip install vllm",
        "5: runs only under a condition, so not followed: pip install flash-attn",
        "7: runs only under a condition, so not followed: pip install xformers",
        "9: the value of peft==$W is not known",
    ]


def test_what_is_one() -> None:
    assert recognises("setup.sh", "")
    assert recognises("setup", "#!/usr/bin/env bash\n")
    assert recognises("setup", "#!/bin/sh -e\n")
    assert not recognises("setup", "#!/usr/bin/env python\n")
    assert recognises("nb.ipynb", "")
    assert read_source(given("pip install torch\n", "x.sh")).kind == "install script"


def test_the_cells_of_a_notebook() -> None:
    manifest = notebook(
        ["%%capture\n", "!pip install -qU torch==2.8.0 \\\n", "    torchvision==0.23.0"],
        ["%pip install -q flash-attn==2.8.3\n", "print('!pip install nothing')"],
        ["%%bash\n", "pip install peft"],
    )
    assert manifest.kind == "notebook"
    assert wanted(manifest) == {
        "torch": "==2.8.0", "torchvision": "==0.23.0", "flash-attn": "==2.8.3", "peft": "",
    }  # fmt: skip
    assert {name: each.place.line for name, each in by_name(manifest).items()} == {
        "torch": 7, "torchvision": 8, "flash-attn": 14, "peft": 22,
    }  # fmt: skip


def test_a_cell_of_a_notebook_that_decides_something() -> None:
    manifest = notebook([
        "if 'COLAB' in x:\n", "    !pip install vllm\n", "    y = 1\n",
        '!pip install trl {extra} "datasets>=3,<4"',
    ])  # fmt: skip
    assert wanted(manifest) == {"trl": "", "datasets": "<4,>=3"}
    assert [note.partition(": ")[2] for note in said(manifest)] == [
        "runs only under a condition, so not followed: pip install vllm",
        "the value of {extra} is not known",
    ]


def test_a_notebook_in_one_line() -> None:
    manifest = notebook("!pip install torch==2.8.0\n!pip install torch==2.6.0", indent=None)
    assert wanted(manifest) == {"torch": "==2.6.0"}
    assert by_name(manifest)["torch"].place.line == 1


@pytest.mark.parametrize(
    ("name", "text", "problem"),
    [
        ("a.sh", "echo hello\n", "has no command that installs"),
        ("a.sh", "x" * (1 << 18) + "\n\n", "too long"),
        ("a.ipynb", "{", "is not a notebook"),
        ("a.ipynb", '{"cells": 3}', "is not a notebook"),
        ("a.ipynb", '{"cells": []}', "has no command that installs"),
    ],
)
def test_what_says_nothing_or_too_much_is_refused(name: str, text: str, problem: str) -> None:
    with pytest.raises(InputError, match=problem):
        read(given(text, name))


def test_a_here_document_is_no_command() -> None:
    manifest = script(
        "pip install trl\ncat <<EOF > run.txt\npip install vllm==0.8.0\nEOF\n"
        "python - <<-'PY' && pip install peft\n\tpip install x\n\tPY\npip install datasets\n"
        "cat <<NEVER\npip install einops\n"
    )
    assert list(wanted(manifest)) == ["trl", "peft", "datasets"]  # the last one has no end


def test_files_of_a_repository_that_is_fetched_are_not_those_beside(tmp_path: Path) -> None:
    (tmp_path / "requirements.txt").write_text("torch==2.6.0\n")
    path = tmp_path / "install.sh"
    beside = "pip install -r requirements.txt\n"
    path.write_text(f"git clone https://x/y\n{beside}")
    assert wanted(read_manifest(str(path))) == {"torch": "==2.6.0"}
    path.write_text(f"pip install trl\ngit clone https://x/y && cd y\n{beside}")
    manifest = read_manifest(str(path))
    assert wanted(manifest) == {"trl": ""}
    assert "it is in a repository that is fetched" in manifest.notes[0]
    path.write_text(f"git clone https://x/y && cd y && make && cd ..\n{beside}")
    assert wanted(read_manifest(str(path))) == {"torch": "==2.6.0"}


def test_lines_that_are_not_followed_leave_the_rest_open() -> None:
    manifest = script("#!/bin/bash\nuv venv\nuv sync --extra gpu\n")
    assert not manifest.requirements
    assert said(manifest) == [
        "3: uv sync: there is no uv.lock or pyproject.toml beside this file",
        "",
    ]
    assert speaks_of_image(manifest.notes[-1])


@pytest.mark.parametrize(
    "program", ['"$VENV_PIP"', "${PIP3}", "$PYTHON_BIN -m pip", "python$1 -m pip", "$python -m pip"]
)
def test_a_program_that_a_variable_names(program: str) -> None:
    found = script(f"#!/bin/bash\n{program} install torch==2.6.0\n")
    assert wanted(found) == {"torch": "==2.6.0"}


def test_torch_brings_its_triton_in_the_place_of_an_earlier_one() -> None:
    first = script("pip install triton==3.3.0\npip install torch==2.5.1\n")
    assert wanted(first) == {"torch": "==2.5.1"}
    last = script("pip install torch==2.5.1\npip install triton==3.3.0\n")
    assert wanted(last) == {"torch": "==2.5.1", "triton": "==3.3.0"}
    again = script("pip install torch==2.5.1 triton==3.1.0\npip install torch==2.5.1\n")
    assert wanted(again) == {"torch": "==2.5.1", "triton": "==3.1.0"}


@pytest.mark.parametrize("option", ["--no-deps", "--no-dependencies"])
def test_what_comes_alone_replaces_nothing(option: str) -> None:
    text = f"pip install torch==2.1.0\npip install xformers==0.0.23 {option}\n"
    assert wanted(script(text)) == {"torch": "==2.1.0", "xformers": "==0.0.23"}


def test_each_command_has_a_number_of_its_own() -> None:
    text = (
        "pip install torch==2.5.1\npip install vllm==0.6.5 einops\npip install triton --no-deps\n"
    )
    found = {each.name: each.command for each in script(text).requirements}
    assert found == {"torch": 1, "vllm": 2, "einops": 2, "triton": 0}


@pytest.mark.parametrize(
    "text",
    [
        "said=$(pip install torch==2.6.0 2>&1)\n",
        'export SAID="$(uv pip install torch==2.6.0)"\n',
        'quiet() {\n  local said\n  said=$(pip install "$@") || exit 1\n}\nquiet torch==2.6.0\n',
    ],
)
def test_what_a_variable_takes_is_run_as_well(text: str) -> None:
    assert wanted(script(text)) == {"torch": "==2.6.0"}


def test_what_is_only_asked_for_installs_nothing() -> None:
    text = "pip install xformers\nhere=$(pip show torch)\nnext=$(echo uv; cat x)\n"
    assert wanted(script(text)) == {"xformers": ""}


@pytest.mark.parametrize(
    "start",
    [
        "python -s -m pip",
        "./python_embeded/python.exe -s -m pip",
        "venv/Scripts/pip.exe",
        "py -3.11 -m pip",
        "py -V:3.12 -m pip",
        "python3.11 -uI -X utf8 -mpip",
        "python -m uv pip",
        "uv.exe pip",
    ],
)
def test_how_an_installer_is_started(start: str) -> None:
    assert wanted(script(f"{start} install torch==2.7.0\n")) == {"torch": "==2.7.0"}


@pytest.mark.parametrize("start", ["python setup.py -m pip", "python -c pass -m pip", "py"])
def test_what_starts_no_installer(start: str) -> None:
    assert wanted(script(f"pip install trl\n{start} install torch==2.7.0\n")) == {"trl": ""}
