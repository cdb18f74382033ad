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


LOCK = """version = 1
requires-python = "==3.11.*"

[[package]]
name = "torch"
version = "{torch}"
source = {{ registry = "{source}" }}
wheels = [{{ url = "https://example.org/torch-{torch}-cp311-cp311-manylinux_2_28_x86_64.whl" }}]
"""
PROJECT = '[project]\nname = "mine"\nversion = "1"\ndependencies = ["torch"]\n'
SOURCE = (
    f'[[tool.uv.index]]\nname = "x"\nurl = "{INDEX}/cu126"\nexplicit = true\n'
    '[tool.uv.sources]\ntorch = { index = "x" }\n'
)
LOCKED = list(
    product(
        ("2.7.1", "2.9.1", "2.11.0", "2.13.0"),
        (("--gpu", "V100", "--driver", "580.95.05"), ("--gpu", "A100", "--driver", "550.54.15"),
         ("--gpu", "GTX 1080"), ("--gpu", "B200")),
        ("", SOURCE),
    )
)  # fmt: skip


def check_a_lock_is_told_its_index(
    run: Run, folder: Path, state: tuple[str, tuple[str, ...], str]
) -> int:
    """Check that uv is asked for no labelled build whose index its project does not name."""
    torch, machine, source = state
    (folder / "pyproject.toml").write_text(PROJECT + source)
    lock = folder / "uv.lock"
    lock.write_text(LOCK.format(torch=torch, source="https://example.org/simple"))
    where = ("--python-version", "3.11", "--platform", "linux_x86_64")
    for names in ((lock,), (lock, folder / "pyproject.toml")):
        given = [word for name in names for word in ("--requirements", str(name))]
        done = run("fix", *given, "--dry-run", *machine, *where, "--format", "json")
        edits = json.loads(done.stdout)["edits"]
        labels = [
            word.partition("+")[2]
            for edit in edits
            for word in edit.get("command", ())
            if edit["command"][:2] == ["uv", "lock"] and "+" in word
        ]
        for label in labels:
            told = source + "".join(edit.get("text", "") + edit.get("diff", "") for edit in edits)
            assert f"{INDEX}/{label}" in told
    return len(labels)


def test_a_lock_is_told_the_index_of_a_build(run: Run, tmp_path: Path) -> None:
    """Regression: `uv lock --upgrade-package torch==2.11.0+cu126` finds no such release alone."""
    check_a_lock_is_told_its_index(run, tmp_path, ("2.11.0", LOCKED[0][1], ""))


@pytest.mark.long
@pytest.mark.parametrize("state", LOCKED, ids=str)
def test_a_lock_is_told_the_index_of_every_build(
    run: Run, tmp_path: Path, state: tuple[str, tuple[str, ...], str]
) -> None:
    check_a_lock_is_told_its_index(run, tmp_path, state)


WINDOWS = ("--gpu", "RTX 4070", "--platform", "windows", "--python-version", "3.11")


def test_what_the_index_of_torch_has_not_comes_from_pypi(run: Run, tmp_path: Path) -> None:
    """Regression: triton-windows was to come from the index of torch, which has none."""
    path = tmp_path / "install.bat"
    path.write_text("pip install torch==2.7.1\npip install triton==3.3.1 xformers==0.0.31\n")
    done = run("fix", "--requirements", str(path), "--dry-run", *WINDOWS, "--format", "json")
    texts = [edit.get("text", "") for edit in json.loads(done.stdout)["edits"]]
    assert any("ask for torch==2.7.1+" in each and f" from {INDEX}/" in each for each in texts)
    [triton] = [each for each in texts if "triton-windows" in each]
    assert "://" not in triton


@pytest.mark.parametrize(
    ("asked", "comes"),
    [
        ("triton-windows>=3.6.0.post24", "triton-windows==3.5.1.post24"),
        ("triton-windows==3.6.0.post24", "triton-windows==3.5.1.post24"),
        ("triton-windows<3.6", ""),
        ("triton-windows>=3.5,<3.6", ""),
    ],
)
def test_a_range_of_triton_windows_is_judged_by_its_releases(
    run: Run, tmp_path: Path, asked: str, comes: str
) -> None:
    """Regression: an exact release of another torch was told, and a range of nothing else not."""
    path = tmp_path / "requirements.txt"
    path.write_text(f"--index-url {INDEX}/cu128\n--extra-index-url https://example.org/simple\n"
                    f"torch==2.9.1+cu128\n{asked}\n")  # fmt: skip
    done = run("fix", "--requirements", str(path), "--dry-run", *WINDOWS, "--format", "json")
    diffs = "".join(edit.get("diff", "") for edit in json.loads(done.stdout)["edits"])
    assert (f"+{comes}\n" in f"{diffs}\n") is bool(comes)
    assert ("-triton" in diffs) is bool(comes)


def test_a_plan_puts_no_torch_over_the_image_of_a_server(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "Dockerfile"
    path.write_text("FROM vllm/vllm-openai:v0.15.1-cu130\nRUN pip install einops\n")
    machine = ("--gpu", "RTX 4090", "--driver", "560.35.03")
    done = run("fix", "--requirements", str(path), "--dry-run", *machine, "--format", "json")
    plan = json.loads(done.stdout)
    [edit] = plan["edits"]
    assert "keep the torch of the image" in edit["text"]
    assert any("driver 580" in action["text"] for action in plan["actions"])
    assert not plan["changes"]
    assert "cu126" not in str((plan["actions"], plan["conflicts"]))


ROCM = "FROM rocm/pytorch:rocm6.4.2_ubuntu24.04_py3.12_pytorch_release_2.6.0"


def test_pypis_xformers_leaves_an_image_for_rocm(run: Run, tmp_path: Path) -> None:
    """Regression: nothing was known of the image, whose tag says torch, ROCm and Python."""
    path = tmp_path / "Dockerfile"
    path.write_text(f"{ROCM}\nRUN pip install xformers==0.0.31\n")
    done = run("check", "--requirements", str(path), "--gpu", "MI300X", "--format", "json")
    assert "xformers-beside-rocm" in {f["rule_id"] for f in json.loads(done.stdout)["findings"]}


@pytest.mark.parametrize(
    ("torch", "asked", "is_told"),
    [
        ("2.1.2", "git+https://github.com/huggingface/transformers.git", True),
        ("2.1.2", "transformers @ git+https://github.com/huggingface/transformers", True),
        ("2.1.2", "transformers @ git+https://github.com/huggingface/transformers@v4.38.2", False),
        ("2.1.2", "git+https://github.com/me/transformers.git", False),
        ("2.9.1", "git+https://github.com/huggingface/transformers.git", False),
    ],
)
def test_a_main_branch_asks_for_what_its_newest_release_asks_for(
    run: Run, tmp_path: Path, torch: str, asked: str, *, is_told: bool
) -> None:
    path = tmp_path / "requirements.txt"
    path.write_text(f"torch=={torch}\n{asked}\n")
    machine = ("--gpu", "A100", "--python-version", "3.11", "--platform", "linux_x86_64")
    done = run("fix", "--requirements", str(path), "--dry-run", *machine, "--format", "json")
    notes = "".join(json.loads(done.stdout)["notes"])
    assert ("which transformers comes. transformers 5." in notes) is is_told
