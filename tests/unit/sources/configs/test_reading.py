"""Files that a configuration names, and that are read with it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from fadoctor.sources.configs.reading import read_configurations

if TYPE_CHECKING:
    from pathlib import Path

SCRIPT = """import transformers
transformers.AutoModel.from_pretrained("{}", attn_implementation="flash_attention_2")
"""
MODEL = '{"architectures": ["A"], "model_type": "deberta-v2", "head_dim": 64}'
ADAPTER = '{"peft_type": "LORA", "use_dora": true, "target_modules": ["q_proj"]}'


@pytest.fixture
def script(tmp_path: Path) -> str:
    (tmp_path / "model").mkdir()
    (tmp_path / "model" / "config.json").write_text(MODEL)
    (tmp_path / "model" / "adapter_config.json").write_text(ADAPTER)
    (tmp_path / "run.py").write_text(SCRIPT.format("./model"))
    return str(tmp_path / "run.py")


def test_the_files_of_a_model_that_lies_beside_are_read(script: str) -> None:
    found = read_configurations([script])
    assert [each.kind for each in found] == ["python", "model", "peft-adapter"]
    assert any("which it names, is read with it" in note for note in found[1].notes)
    said = {intent.name: intent.value for each in found[1:] for intent in each.intents}
    assert said["config.model_type"] == "deberta-v2"
    assert said["config.use_dora"] is True


def test_what_is_given_is_not_read_twice(script: str, tmp_path: Path) -> None:
    model = str(tmp_path / "model" / "config.json")
    assert [each.file for each in read_configurations([script, model])].count(model) == 1


def test_nothing_outside_of_the_fence_is_read(script: str, tmp_path: Path) -> None:
    inner = tmp_path / "inner"
    inner.mkdir()
    (inner / "run.py").write_text(SCRIPT.format("../model"))
    assert len(read_configurations([str(inner / "run.py")], fence=str(inner))) == 1
    assert len(read_configurations([str(inner / "run.py")])) == 3


def test_a_name_of_the_hub_and_a_text_that_is_held_lead_nowhere(script: str) -> None:
    assert len(read_configurations([script], held={script: SCRIPT.format("./model")})) == 1
    assert len(read_configurations([script], kind="python")) == 1
