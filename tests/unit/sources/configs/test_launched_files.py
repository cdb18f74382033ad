"""What a script of the shell starts is read with it, where it lies beside."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from fadoctor.model.fact import Known
from fadoctor.sources.configs.join import join
from fadoctor.sources.configs.reading import read_configurations

if TYPE_CHECKING:
    from pathlib import Path

TRAIN = """import argparse
import torch
from transformers import AutoModelForCausalLM
parser = argparse.ArgumentParser()
parser.add_argument("--model")
args = parser.parse_args()
model = AutoModelForCausalLM.from_pretrained(args.model, torch_dtype=torch.bfloat16)
model.train()
"""
ACCELERATE = "compute_environment: LOCAL_MACHINE\ndistributed_type: FSDP\nmixed_precision: bf16\n"


def _of(folder: Path, script: str, place: str = "run.sh") -> tuple[dict[str, object], list[str]]:
    (folder / "train.py").write_text(TRAIN)
    (folder / "fsdp.yaml").write_text(ACCELERATE)
    path = folder / place
    path.parent.mkdir(exist_ok=True)
    path.write_text(script)
    found = read_configurations([str(path)])
    facts = join(found).facts
    known: dict[str, object] = {
        name: fact.value for name, fact in facts.items() if isinstance(fact, Known)
    }
    return known, [each.file.rpartition("/")[2] for each in found]


@pytest.mark.parametrize(
    ("script", "place"),
    [
        ("python train.py --model x\n", "run.sh"),
        ("torchrun --nproc-per-node 4 train.py --model x\n", "scripts/run.sh"),
        ("cp model/*.py out/\npython train.py --model x\n", "run.sh"),
        ("for m in a b; do\n[ -d $m ] || continue\npython train.py --model $m\ndone\n", "run.sh"),
    ],
)
def test_the_script_that_is_started(tmp_path: Path, script: str, place: str) -> None:
    facts, files = _of(tmp_path, script, place)
    assert facts["config.weights_dtype"] == "bf16"
    assert files == ["run.sh", "train.py"]


def test_the_settings_of_accelerate(tmp_path: Path) -> None:
    script = "accelerate launch --config_file fsdp.yaml train.py --model x\n"
    facts, files = _of(tmp_path, script)
    assert facts["config.accelerate_precision"] == "bf16"
    assert files == ["run.sh", "fsdp.yaml", "train.py"]


@pytest.mark.parametrize(
    "script",
    [
        "python train.py\npython other.py\n",
        "python $ROOT/train.py\n",
        "python /opt/train.py\n",
        "python missing.py\n",
    ],
)
def test_what_is_open_or_several_is_not_read(tmp_path: Path, script: str) -> None:
    assert _of(tmp_path, script)[1] == ["run.sh"]


def test_the_command_line_goes_before(tmp_path: Path) -> None:
    facts, _ = _of(tmp_path, "python train.py --model x --torch_dtype float16\n")
    assert facts["config.weights_dtype"] == "fp16"


def test_a_default_of_an_option_is_none(tmp_path: Path) -> None:
    facts, _ = _of(tmp_path, "python train.py --model x\n")
    (tmp_path / "train.py").write_text(
        "import argparse\np = argparse.ArgumentParser()\n"
        'p.add_argument("--attn_implementation", default="flash_attention_2")\n'
    )
    found = read_configurations([str(tmp_path / "run.sh")])
    assert "config.attention" not in {i.name for each in found for i in each.intents}
    assert facts
