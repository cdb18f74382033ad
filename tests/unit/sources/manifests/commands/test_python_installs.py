"""What Python scripts install: images of Modal, and pip that is started by ``subprocess``."""

from __future__ import annotations

import pytest

from fadoctor.model.errors import InputError
from fadoctor.sources.manifests.formats.script import read
from fadoctor.sources.manifests.planned import UNSEEN_BASE, Manifest
from tests.unit.sources.manifests.given import given


def of(text: str) -> Manifest:
    return read(given(text, "app.py"))


def asked(manifest: Manifest) -> dict[str, tuple[str, int]]:
    return {each.name: (each.specifier, each.place.line) for each in manifest.requirements}


IMAGE = """\
import modal
PINS = ["transformers==4.51.3"]
image = (
    modal.Image.from_registry("nvidia/cuda:12.4.0-devel-ubuntu22.04", add_python="3.11")
    .env({"A": "1"})
    .pip_install(
        "torch==2.6.0",
        "packaging",
    )
    .pip_install("flash-attn==2.7.4.post1", extra_options="--no-build-isolation")
    .run_commands("pip install xformers==0.0.29.post3", "ls")
)
image = image.pip_install(PINS, index_url="https://example.org/simple")
app = modal.App("x", image=image)
"""


def test_an_image_of_modal() -> None:
    found = of(IMAGE)
    assert asked(found) == {
        "torch": ("==2.6.0", 7), "packaging": ("", 8), "flash-attn": ("==2.7.4.post1", 10),
        "xformers": ("==0.0.29.post3", 11), "transformers": ("==4.51.3", 2),
    }  # fmt: skip
    assert found.python is not None
    assert found.python.value == "==3.11.*"
    assert found.image is not None
    assert found.image.value == "nvidia/cuda:12.4.0-devel-ubuntu22.04"
    assert not any(each.is_isolated for each in found.requirements)


def test_modal_builds_in_isolation_unless_it_is_told() -> None:
    text = (
        'import modal\nI = modal.Image.debian_slim().uv_pip_install(\n  "torch",\n  "flash-attn")\n'
    )
    found = of(text)
    assert [each.name for each in found.requirements if each.is_isolated] == ["flash-attn"]
    assert UNSEEN_BASE not in found.notes


def test_the_image_that_installs_what_is_judged_is_read() -> None:
    text = (
        "from modal import Image\n"
        'web = Image.debian_slim().pip_install("fastapi", "requests", "httpx")\n'
        'gpu = Image.debian_slim(python_version="3.10").pip_install("torch==2.4.0")\n'
    )
    assert asked(of(text)) == {"torch": ("==2.4.0", 3)}


@pytest.mark.parametrize(
    "start",
    [
        'subprocess.check_call([sys.executable, "-m", "pip", "install", "torch==2.4.0"])',
        'subprocess.run("pip install torch==2.4.0", shell=True)',
        'os.system("pip install torch==2.4.0")',
        'cmd = ["uv", "pip", "install"]\ncmd += ["torch==2.4.0"]\nsubprocess.run(cmd)',
    ],
)
def test_a_script_that_starts_pip(start: str) -> None:
    found = of(f"import os, subprocess, sys\n{start}\n")
    assert [(each.name, each.specifier) for each in found.requirements] == [("torch", "==2.4.0")]
    assert UNSEEN_BASE in found.notes


def test_what_may_not_run_is_a_note() -> None:
    text = 'import os\nif not torch:\n  os.system("pip install torch==2.4.0")\n'
    found = of(text)
    assert not found.requirements
    assert any("pip install torch==2.4.0" in note for note in found.notes)


@pytest.mark.parametrize("text", ["import torch\n", "import os\nos.system('ls')\n", "def f(:\n"])
def test_a_script_that_installs_nothing_is_refused(text: str) -> None:
    with pytest.raises(InputError):
        of(text)


@pytest.mark.parametrize(
    "call",
    [
        'ImageSpec(name="a", packages=["torch==2.6.0", "peft"])',
        'bentoml.images.Image(python_version="3.11").python_packages("torch==2.6.0", "peft")',
        'Image().add_python_packages(["torch==2.6.0", "peft"])',
    ],
)
def test_a_list_of_packages_of_other_platforms(call: str) -> None:
    manifest = of(f"import bentoml\nfrom x import Image, ImageSpec\na = {call}\n")
    assert {each.name: each.specifier for each in manifest.requirements} == {
        "torch": "==2.6.0", "peft": "",
    }  # fmt: skip


def test_a_mapping_of_packages_to_releases() -> None:
    manifest = of('@pypi(python="3.11.0", packages={"torch": "2.6.0"})\ndef start(): ...\n')
    assert [(each.name, each.specifier) for each in manifest.requirements] == [("torch", "==2.6.0")]


def test_a_session_of_nox() -> None:
    text = 'import nox\n@nox.session\ndef t(session):\n    session.install("torch==2.6.0")\n'
    assert [(each.name, each.specifier) for each in of(text).requirements] == [("torch", "==2.6.0")]


HELPERS = """\
import subprocess, sys
python = sys.executable
def pip(*names):
    subprocess.check_call([sys.executable, "-m", "pip", "install", *names])
def run_pip(command, what=None):
    subprocess.run(f"{python} -m pip {command}", shell=True)
def one(package: str, quiet: bool = True):
    subprocess.check_call([sys.executable, "-m", "pip", "install", package])
def perhaps(package):
    if missing(package):
        subprocess.check_call(["pip", "install", package])
"""


@pytest.mark.parametrize(
    ("call", "wanted"),
    [
        ("pip('torch==2.5.1', 'einops')", {"torch": ("==2.5.1", 13), "einops": ("", 13)}),
        (
            "run_pip('install torch==2.5.1 trl', 'torch')",
            {"torch": ("==2.5.1", 13), "trl": ("", 13)},
        ),
        ("one('flash-attn==2.8.3', False)", {"flash-attn": ("==2.8.3", 13)}),
        ("one('torch')\none(name)\none('trl')", {"torch": ("", 13), "trl": ("", 15)}),
    ],
)
def test_a_function_that_installs_what_it_is_given(
    call: str, wanted: dict[str, tuple[str, int]]
) -> None:
    assert asked(of(f"{HELPERS}\n{call}\n")) == wanted


def test_a_function_that_may_install_and_one_that_nobody_calls() -> None:
    found = of(f"{HELPERS}\nperhaps('torch')\nsubprocess.run(['pip', 'install', 'trl'])\n")
    assert asked(found) == {"trl": ("", 14)}
    assert any("only under a condition" in note or "not followed" in note for note in found.notes)
