"""The GPU that a file asks its cloud or cluster for."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from fadoctor.sources.configs.hardware import asked_gpus
from fadoctor.sources.configs.reading import read_configurations
from fadoctor.sources.configs.source import Source

if TYPE_CHECKING:
    from pathlib import Path

MODAL = "import modal\n"


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("resources:\n  accelerators: V100:8\n", ["V100"]),
        ("resources:\n  accelerators: {A100-80GB: 1}\n", ["A100-80GB"]),
        ("resources:\n  accelerators: {A100: 8, H100: 8}\n", []),
        ("  # accelerators: V100:8\n", []),
        ("- accelerator_type: T4\n", ["T4"]),
        ('    accelerator_type="A10G",\n', ["A10G"]),
        (
            "nodeSelector:\n  cloud.google.com/gke-accelerator: nvidia-tesla-t4\n",
            ["nvidia-tesla-t4"],
        ),
        ('  nvidia.com/gpu.product: "Tesla-V100-SXM2-32GB"\n', ["Tesla-V100-SXM2-32GB"]),
        ("#SBATCH --gres=gpu:v100:4\n", ["v100"]),
        ("#SBATCH -p gpu --gpus-per-node=rtx_4090:2\n", ["rtx_4090"]),
        ("#SBATCH -G A100:4\n", ["A100"]),
        ("#SBATCH --gres=gpu:4\n##SBATCH --gres=gpu:v100:4\n", []),
        (f'{MODAL}@app.function(gpu="A100-80GB:2")\n', ["A100-80GB"]),
        ('run(gpu="T4")\n', []),
    ],
)
def test_names_that_files_ask_for(text: str, names: list[str]) -> None:
    assert [each.name for each in asked_gpus(Source("a.yaml", text))] == names


def test_a_configuration_holds_them(tmp_path: Path) -> None:
    file = tmp_path / "train.sbatch"
    file.write_text("#!/bin/bash\n#SBATCH --gres=gpu:v100:4\nsrun torchrun sft.py --bf16 True\n")
    [found] = read_configurations([str(file)])
    assert [(each.name, each.place.line, each.has_environment) for each in found.gpus] == [
        ("v100", 2, True)
    ]
