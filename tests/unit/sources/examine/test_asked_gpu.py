"""The GPU that configurations ask for stands in where none is here."""

from __future__ import annotations

import pytest

from fadoctor.knowledge.matrix.load import load_knowledge
from fadoctor.sources.configs.hardware import asked_gpus
from fadoctor.sources.configs.source import Source
from fadoctor.sources.examine.asked_gpu import one_gpu

TABLES = load_knowledge().tables


@pytest.mark.parametrize(
    ("text", "has_cpu_torch", "model"),
    [
        ("accelerators: V100:8\n", False, "V100"),
        ("accelerators: V100:8\n", True, ""),
        ("#SBATCH --gres=gpu:v100:4\n", True, "V100"),
        ("accelerators: tpu-v5:8\n", False, ""),
        ("#SBATCH --gres=gpu:v100:1\n#SBATCH --gpus=a100:1\n", False, ""),
        ("#SBATCH --gres=gpu:a100:1\n#SBATCH --gpus=A100-80GB:1\n", False, "A100"),
    ],
)
def test_one_gpu_stands_in(text: str, *, has_cpu_torch: bool, model: str) -> None:
    found, note = one_gpu(asked_gpus(Source("a", text)), TABLES, has_cpu_torch=has_cpu_torch)
    assert found == model
    assert note.endswith(f"asks for {model}; --gpu assumes another GPU." if model else "")
