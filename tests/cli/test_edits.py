"""What `fix --requirements` makes of files: the whole of them stays consistent."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from pathlib import Path

    from tests.cli.conftest import Run

PROJECT = '[project]\nname = "mine"\nversion = "1"\nrequires-python = ">=3.10"\n'
BLACKWELL = ("--gpu", "RTX 5090", "--driver", "570.133.07", "--python-version", "3.11")


def plan_of(run: Run, path: Path, *options: str) -> dict[str, Any]:
    done = run("fix", "--requirements", str(path), "--dry-run", *options, "--format", "json")
    plan: dict[str, Any] = json.loads(done.stdout)
    return plan


def added(plan: dict[str, Any]) -> list[str]:
    diff = "\n".join(each.get("diff", "") for each in plan["edits"]).split("\n")
    return [line[1:].strip() for line in diff if line[:1] == "+" and line[:3] != "+++"]


def test_extras_change_with_the_torch_of_the_project(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "pyproject.toml"
    path.write_text(f"""{PROJECT}dependencies = ["torch==2.5.1"]
[project.optional-dependencies]
cpu = ["torch==2.5.1"]
gpu = ["torch==2.5.1"]
[tool.uv]
conflicts = [[{{ extra = "cpu" }}, {{ extra = "gpu" }}]]
[tool.uv.sources]
torch = [{{ index = "cpu", extra = "cpu" }}, {{ index = "gpu", extra = "gpu" }}]
[[tool.uv.index]]
name = "cpu"
url = "https://download.pytorch.org/whl/cpu"
explicit = true
[[tool.uv.index]]
name = "gpu"
url = "https://download.pytorch.org/whl/cu121"
explicit = true
""")
    found = added(plan_of(run, path, *BLACKWELL, "--extra", "gpu"))
    asked = [line.partition("==")[2] for line in found if "torch==" in line]
    assert len(asked) == 3
    assert len({each.rstrip('"]') for each in asked}) == 1


def test_an_extra_that_the_new_torch_breaks_is_named(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "pyproject.toml"
    extras = '[project.optional-dependencies]\nserve = ["vllm==0.7.3"]\nother = ["einops"]\n'
    path.write_text(f'{PROJECT}dependencies = ["torch==2.5.1"]\n{extras}')
    told = [n for n in plan_of(run, path, *BLACKWELL)["notes"] if "have an error there" in n]
    assert len(told) == 1
    assert told[0].startswith("--extra serve: ")


@pytest.mark.parametrize(
    ("linux", "is_told"), [("triton==3.2.0", True), ("triton==3.3.1", False), ("einops", False)]
)
def test_a_line_for_the_other_system_that_the_new_torch_breaks_is_named(
    run: Run, tmp_path: Path, linux: str, *, is_told: bool
) -> None:
    """The set for Windows moved, and triton for Linux stayed beside a torch that refuses it."""
    path = tmp_path / "requirements.txt"
    path.write_text(
        f"torch==2.6.0\n{linux} ; sys_platform == 'linux'\n"
        "triton-windows==3.2.0.post18 ; sys_platform == 'win32'\n"
    )
    windows = ("--platform", "win_amd64", "--python-version", "3.11")
    gpu = ("--gpu", "RTX 5070 Ti", "--driver", "572.83")
    told = [n for n in plan_of(run, path, *gpu, *windows)["notes"] if n.startswith("on linux: ")]
    assert bool(told) is is_told


def test_an_index_of_others_stays(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "requirements.txt"
    index = "--extra-index-url https://huggingface.github.io/autogptq-index/whl/cu118/"
    path.write_text(f"{index}\ntorch==2.5.1\n")
    plan = plan_of(run, path, *BLACKWELL)
    assert any(line.startswith("torch==") for line in added(plan))
    assert f"-{index}" not in json.dumps(plan["edits"])


def test_a_file_of_flash_attn_goes_into_the_list_of_pip(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "environment.yml"
    path.write_text(
        "dependencies:\n  - python=3.11\n  - pytorch::pytorch=2.3.1\n"
        "  - pytorch::pytorch-cuda=12.1\n  - pip\n  - pip:\n      - flash-attn==2.5.8\n"
    )
    found = added(plan_of(run, path, "--gpu", "A100"))
    assert [line.partition(" @ ")[0] for line in found] == ["- flash-attn"]
