"""Commands in sequence: which open name takes away the torch of an earlier command."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from fadoctor.model.fact import fact_mapping, fact_text
from fadoctor.sources.manifests.installed.moved_torch import (
    MOVED_TORCH,
    MOVED_TORCH_BOUND,
    REPLACED_BUILDS,
    TOO_EARLY,
)
from fadoctor.sources.manifests.planned import speaks_of_moved_torch
from tests.unit.sources.manifests.installed.test_contradicted import of_file

if TYPE_CHECKING:
    from pathlib import Path

TORCH = "pip install torch==2.2.1\n"
CU121 = "https://download.pytorch.org/whl/cu121"
OF_CU118 = "pip install torch==2.0.1+cu118 -i https://download.pytorch.org/whl/cu118\n"


@pytest.mark.parametrize(
    ("commands", "bound"),
    [
        (f"{TORCH}pip install bitsandbytes\n", "bitsandbytes<0.48.0"),
        (f"{TORCH}uv pip install trl==0.8.6 bitsandbytes\n", "bitsandbytes<0.48.0"),
        (f"{TORCH}pip install 'bitsandbytes>=0.41'\n", "bitsandbytes>=0.41,<0.48.0"),
        (f"{TORCH}pip install -U xformers\n", "xformers==0.0.25"),
        (
            f"pip install torch --index-url {CU121}\npip install xformers\n",
            "xformers==0.0.29.post1",
        ),
        ("conda install pytorch=2.3 -c pytorch\npip install xformers\n", "xformers==0.0.27"),
        ("pip install torch==2.6.0\npip install vllm\n", "vllm==0.8.5.post1"),
        ("pip install torch==2.8.0\npip install sglang\n", "sglang==0.5.5.post3"),
        (f"{TORCH}pip install xformers --extra-index-url {CU121}\n", "xformers==0.0.25"),
        (f"{OF_CU118}pip install vllm\n", "vllm==0.2.1.post1"),
        (f"{TORCH}pip install -i https://pypi.example.org/simple xformers\n", "xformers==0.0.25"),
        # pip keeps what is there and fits, and what it may not move
        ("pip install torch==2.6.0\npip install bitsandbytes\n", ""),
        (f"{TORCH}pip install bitsandbytes==0.45.5\n", ""),
        (f"{TORCH}pip install 'bitsandbytes<0.47'\n", ""),
        (f"{TORCH}pip install bitsandbytes torch\n", ""),
        (f"{TORCH}pip install --no-deps bitsandbytes\n", ""),
        (f"{TORCH}pip install bitsandbytes==0.45.5\npip install bitsandbytes\n", ""),
        (f"{TORCH}pip install bitsandbytes\npip install torch==2.2.1\n", ""),
        (f"{TORCH}pip install bitsandbytes\npip uninstall -y bitsandbytes\n", ""),
        (f"{TORCH}pip install xformers --index-url {CU121}\n", ""),  # its releases are its own
        (f"{TORCH}uv pip install xformers --extra-index-url {CU121}\n", ""),  # uv looks there first
        (f"{TORCH}pip install an-unknown-package\n", ""),
        (f"{TORCH}pip install xformers==0.0.25 bitsandbytes\n", ""),  # both are weighed
        (f"{TORCH}uv add bitsandbytes\n", ""),  # the whole project is resolved
        ("pip install bitsandbytes\npip install torch==2.2.1\n", ""),
        ("pip install torch\npip install bitsandbytes\n", ""),
    ],
)
def test_an_open_name_whose_newest_release_needs_another_torch(
    tmp_path: Path, commands: str, bound: str
) -> None:
    """Before, the newest release that suits torch was judged, which no installer takes."""
    found = of_file(tmp_path, "setup.sh", f"python3 -m venv v\n. v/bin/activate\n{commands}")
    assert fact_text(found.fact(MOVED_TORCH_BOUND), "") == bound
    assert bool(fact_mapping(found.fact(MOVED_TORCH))) is bool(bound)


def test_what_no_release_suits_is_told_without_a_bound(tmp_path: Path) -> None:
    commands = "pip install torch==2.15.0\npip install lmdeploy\n"
    found = of_file(tmp_path, "setup.sh", commands)
    assert fact_mapping(found.fact(MOVED_TORCH)).keys() == {"lmdeploy"}


def test_both_places_and_the_release_are_named(tmp_path: Path) -> None:
    found = of_file(tmp_path, "setup.sh", f"{TORCH}pip install bitsandbytes\n")
    told = str(fact_mapping(found.fact(MOVED_TORCH))["bitsandbytes"])
    assert "setup.sh:2:13" in told
    assert "bitsandbytes 0.50.2 requires torch<3,>=2.4, so an installer replaces torch==" in told
    assert told.endswith("setup.sh:1:13)")


@pytest.mark.parametrize(
    ("commands", "told"),
    [
        ("pip install vllm\npip install sglang\n", "torch==2.14.1"),
        ("pip install vllm==0.8.5\npip install 'sglang==0.5.5'\n", "torch==2.8.0"),
        ("pip install vllm==0.11.0\npip install 'sglang==0.5.5'\n", ""),  # both pin 2.8.0
        ("pip install vllm sglang\n", ""),  # a resolver decides
        ("pip install vllm\npip install torch==2.14.1\npip install sglang\n", ""),
        ("pip install vllm\npip install bitsandbytes\n", ""),
    ],
)
def test_a_server_on_top_of_another(tmp_path: Path, commands: str, told: str) -> None:
    found = of_file(tmp_path, "setup.sh", f"python3 -m venv v\n. v/bin/activate\n{commands}")
    moved = fact_mapping(found.fact(MOVED_TORCH))
    assert moved.keys() == ({"sglang"} if told else set())
    assert told in str(moved)
    assert not fact_text(found.fact(MOVED_TORCH_BOUND), "")  # none pins the torch of that vLLM


@pytest.mark.parametrize(
    ("pip", "bound"),
    [
        ("bitsandbytes", "bitsandbytes<0.46.0"),
        ("bitsandbytes==0.44.1", ""),
        ("bitsandbytes\n  - torch==2.4.0", ""),
        ("bitsandbytes\n  - --extra-index-url https://example.org/simple", ""),
    ],
)
def test_pip_installs_on_top_of_conda(tmp_path: Path, pip: str, bound: str) -> None:
    text = f"channels: [pytorch]\ndependencies:\n- pytorch=2.0.1\n- pip:\n  - {pip}\n"
    found = of_file(tmp_path, "environment.yml", text)
    assert fact_text(found.fact(MOVED_TORCH_BOUND), "") == bound


def test_a_constraint_on_torch_holds_it(tmp_path: Path) -> None:
    (tmp_path / "bounds.txt").write_text("torch==2.2.1\n")
    commands = f"{TORCH}pip install -c bounds.txt bitsandbytes\n"
    assert not fact_mapping(of_file(tmp_path, "setup.sh", commands).fact(MOVED_TORCH))


def test_the_torch_of_an_image_counts_too(tmp_path: Path) -> None:
    image = "FROM pytorch/pytorch:2.1.2-cuda12.1-cudnn8-devel\nRUN pip install {}\n"
    found = of_file(tmp_path, "Dockerfile", image.format("bitsandbytes"))
    assert fact_text(found.fact(MOVED_TORCH_BOUND), "") == "bitsandbytes<0.46.0"
    found = of_file(tmp_path, "Dockerfile", image.format("xformers"))
    assert fact_text(found.fact(MOVED_TORCH_BOUND), "") == "xformers==0.0.23.post1"
    found = of_file(tmp_path, "Dockerfile", image.format("vllm"))  # its torch is meant
    assert not fact_mapping(found.fact(MOVED_TORCH))


@pytest.mark.parametrize(
    ("commands", "told"),
    [
        ("pip install torch\npip install flash-attn\npip install vllm==0.7.2\n", "torch==2.5.1"),
        ("pip install torch\npip install vllm==0.7.2\npip install flash-attn\n", ""),
        ("pip install torch==2.5.1\npip install flash-attn\npip install vllm==0.7.2\n", ""),
    ],
)
def test_what_is_compiled_before_torch_is_replaced(
    tmp_path: Path, commands: str, told: str
) -> None:
    """Before, the package was in doubt, and no rule said why."""
    found = fact_mapping(of_file(tmp_path, "setup.sh", commands).fact(REPLACED_BUILDS))
    assert found.keys() == ({"flash-attn"} if told else set())
    assert told in str(found)


CUDA = "FROM nvidia/cuda:11.8.0-devel-ubuntu22.04\nRUN pip3 install -U openmim\n"
MIM = "RUN mim install mmengine && mim install 'mmcv==2.0.1'\n"


@pytest.mark.parametrize(
    ("text", "told"),
    [
        (f"{CUDA}{MIM}RUN pip install torch==2.0.1\n", ["mim install mmengine"]),
        (f"{CUDA}RUN pip install torch==2.0.1\n{MIM}", []),
        (f"{CUDA}RUN pip install timm\n{MIM}", []),  # which brings torch
        (f"{CUDA}RUN pip install an-unknown-package\n{MIM}", []),
        (f"{CUDA}RUN pip install -r unread.txt\n{MIM}", []),
        (f"FROM pytorch/pytorch:2.0.1-cuda11.7-cudnn8-devel\n{MIM}", []),
        (f"FROM an-unknown-image:1\n{MIM}", []),
        (f"{CUDA}RUN mim download mmdet --config a\n", []),
    ],
)
def test_an_installer_that_imports_torch(tmp_path: Path, text: str, told: list[str]) -> None:
    """Before, the command was not looked at: the image is not built."""
    found = of_file(tmp_path, "Dockerfile", text)
    assert list(fact_mapping(found.fact(TOO_EARLY))) == told


@pytest.mark.parametrize(
    ("conda", "is_told"), [("pytorch==2.5.1", True), ("'pytorch<2.6'", True), ("pytorch<3", False)]
)
def test_a_torch_of_conda_that_cannot_stay_is_told(
    tmp_path: Path, conda: str, *, is_told: bool
) -> None:
    """Regression: only an exact one was; one that may fit is not said to go."""
    commands = f"conda install {conda} -c pytorch\npip install vllm==0.8.5\n"
    notes = of_file(tmp_path, "setup.sh", commands).target.notes
    assert any(map(speaks_of_moved_torch, notes)) is is_told
