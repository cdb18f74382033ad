"""Runs of one file, values that stand elsewhere in it, and what belongs to none."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from fadoctor.model.errors import UnknownKindError
from fadoctor.sources.configs.reading import read_configurations
from tests.unit.sources.configs.read import facts, read

if TYPE_CHECKING:
    from pathlib import Path

NOMAD = 'config {\n  image = "vllm/vllm-openai:v1"\n  args = ["--dtype", "bfloat16"]\n}\n'
HUB = '{"env": [\n {"key": "DTYPE", "input": {"default": "bfloat16"}}]}'
TERRAFORM = 'container {\n image = "me/worker"\n env {\n  name = "DTYPE"\n  value = "half"\n }\n}\n'


@pytest.mark.parametrize(
    ("name", "text", "dtype", "line"),
    [
        ("vllm.nomad.hcl", NOMAD, "bf16", 3),
        ("hub.json", HUB, "bf16", 2),
        ("main.tf", TERRAFORM, "fp16", 5),
        (
            "justfile",
            "serve dtype='bfloat16' port='1':\n    vllm serve m --dtype {{dtype}}\n",
            "bf16",
            2,
        ),
    ],
)
def test_commands_and_variables_of_other_files(name: str, text: str, dtype: str, line: int) -> None:
    assert facts((name, text))["weights_dtype"] == dtype
    found = [each for each in read(text, name).intents if each.name == "config.weights_dtype"]
    assert {each.place.line for each in found} == {line}


@pytest.mark.parametrize(
    "text",
    [
        "command: >-\n  torchrun t.py\n  --learning_rate 1\n  --bf16 True\n",
        "commands:\n  - python t.py\n    --learning_rate 1\n    --bf16 True\n",
    ],
)
def test_a_folded_command_keeps_its_lines(text: str) -> None:
    found = [each for each in read(text, "job.yml").intents if each.name == "config.bf16"]
    assert [each.place.line for each in found] == [4]


def test_switches_of_different_runs_are_not_both_on() -> None:
    text = "python a.py --bf16 --output_dir x\npython b.py --fp16 --output_dir y\n"
    found = facts(("run.sh", text))
    assert not {"bf16", "fp16"} & found.keys()


def test_both_switches_of_one_run_are() -> None:
    text = "python a.py --bf16 --fp16 --output_dir x\npython b.py --fp16 --output_dir y\n"
    found = facts(("run.sh", text))
    assert (found["bf16"], found["fp16"]) == (True, True)


def test_a_table_of_records_is_no_configuration(tmp_path: Path) -> None:
    file = tmp_path / "models.json"
    file.write_text('[{"name": "a", "torch_dtype": "bfloat16"}]')
    with pytest.raises(UnknownKindError):
        read_configurations([str(file)])


def test_arguments_of_a_trainer_below_a_key() -> None:
    text = "data: {}\ntraining_args:\n  output_dir: x\n  save_strategy: x\n  bf16: true\n"
    found = facts(("sft.yaml", text))
    assert (found["framework"], found["autocast"], found["bf16"]) == ("transformers", "bf16", True)


@pytest.mark.parametrize("word", ["hybrid", "e4m3"])
def test_products_in_fp8(word: str) -> None:
    found = facts(("run.sh", f"torchrun pretrain_gpt.py --bf16 --fp8-format {word}\n"))
    assert (found["fp8"], found["purpose"]) == (True, "training")


def test_no_products_in_fp8() -> None:
    assert "fp8" not in facts(("a.yaml", "bf16: true\nfp8_format: null\n"))


NEMO = """import nemo_run as run
from nemo import lightning as nl
run.Config(nl.Trainer, devices=8,
           plugins=run.Config(nl.MegatronMixedPrecision, precision="bf16-mixed"))
"""
PARTIAL = """import functools, torch
from transformers import AutoModel
load = functools.partial(AutoModel.from_pretrained, torch_dtype=torch.bfloat16)
"""


def test_a_call_that_is_put_off() -> None:
    found = facts(("a.py", NEMO))
    assert (found["framework"], found["autocast"]) == ("lightning", "bf16")
    assert facts(("a.py", PARTIAL))["weights_dtype"] == "bf16"


def test_a_tuple_of_python_is_a_list() -> None:
    text = "bf16: true\nbetas: !!python/tuple\n- 0.9\n- 0.999\nsave_strategy: x\noutput_dir: y\n"
    assert facts(("train.yaml", text))["bf16"] is True


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("a:\n\tpython a.py --bf16 --output_dir x\nb:\n\tpython b.py --fp16 --output_dir x\n", 2),
        ("a:\n\tpython a.py --fp16 --output_dir x\nb:\n\tpython b.py --bf16 --output_dir x\n", 4),
        (
            (
                "serve:\n\tvllm serve m --dtype bfloat16\n"
                "train:\n\taccelerate launch --mixed_precision fp16 t.py\n"
            ),
            2,
        ),
        (
            (
                "serve:\n\tvllm serve m --dtype half\n"
                "train:\n\taccelerate launch --mixed_precision bf16 t.py\n"
            ),
            4,
        ),
    ],
)
def test_of_two_precisions_the_one_that_asks_more_counts(text: str, line: int) -> None:
    """Whatever runs bf16 runs fp16: only the first can fail for its GPU."""
    found = facts(("Makefile", text))
    assert found["dtype"] == "bf16"
    names = ("config.weights_dtype", "config.autocast")
    said = {each.place.line for each in read(text, "Makefile").intents if each.name in names}
    assert said == {line}
