"""What a newer torch breaks in a program is said beside each fix that installs it."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING

import pytest

from fadoctor.judging.explain.explain import explain, read_log

if TYPE_CHECKING:
    from fadoctor.model.rule import Knowledge

NO_CODE = (
    "NVIDIA GeForce RTX 5070 with CUDA capability sm_120 is not compatible with the current "
    "PyTorch installation."
)


@pytest.mark.parametrize(
    ("program", "said"),
    [
        ("infer-web.py of RVC", "TORCH_FORCE_NO_WEIGHTS_ONLY_LOAD=1"),
        ("inference_realesrgan.py -i in.png", "torchvision.transforms.functional"),
        ("the web UI imports basicsr", ""),
        ("train.py of mine", ""),
    ],
)
def test_a_newer_torch_in_an_older_program(knowledge: Knowledge, program: str, said: str) -> None:
    text = f"{program}\n{NO_CODE}"
    first = explain(read_log(io.BytesIO(text.encode()), "a", knowledge), knowledge).findings[0]
    texts = "\n".join(step.text for step in first.fixes[0].steps)
    assert "torch==2." in texts
    if said:
        assert said in texts
    else:
        assert "fairseq" not in texts
        assert "basicsr" not in texts
