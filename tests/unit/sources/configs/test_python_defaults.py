"""Defaults of options and dataclasses, and tensors that flash-attn is given."""

from __future__ import annotations

import pytest

from tests.unit.sources.configs.read import facts, read

LOAD = (
    "import torch\nfrom transformers import AutoModel\n{}"
    "AutoModel.from_pretrained('m', torch_dtype=getattr(torch, args.dtype))\n"
)
PARSER = (
    "import argparse\np = argparse.ArgumentParser()\np.add_argument({})\nargs = p.parse_args()\n"
)
DATACLASS = (
    "from dataclasses import dataclass, field\n@dataclass\nclass A:\n    dtype: str = {}\n"
    "args, = HfArgumentParser(A).parse_args_into_dataclasses()\n"
)


@pytest.mark.parametrize(
    "given",
    [
        PARSER.format('"--dtype", default="bfloat16"'),
        PARSER.format('"-d", "--dtype", type=str, default="bfloat16"'),
        PARSER.format('"--precision", dest="dtype", default="bfloat16"'),
    ],
)
def test_a_default_is_what_nobody_changes(given: str) -> None:
    text = LOAD.format(given)
    assert facts(("a.py", text))["weights_dtype"] == "bf16"
    [found] = [i for i in read(text, "a.py").intents if i.name == "config.weights_dtype"]
    assert found.place.line == 5  # where to change it


@pytest.mark.parametrize("default", ['"bfloat16"', 'field(default="bfloat16")'])
def test_a_field_of_a_dataclass(default: str) -> None:
    assert facts(("a.py", LOAD.format(DATACLASS.format(default))))["weights_dtype"] == "bf16"


def test_what_is_assigned_later_is_open() -> None:
    text = LOAD.format(PARSER.format('"--dtype", default="bfloat16"') + "args.dtype = pick()\n")
    assert facts(("a.py", text))["weights_dtype"] == "?"


FLASH = "import torch\nfrom flash_attn import flash_attn_func\n{}\nflash_attn_func(q, q, q)\n"


@pytest.mark.parametrize(
    "made",
    [
        "q = torch.randn(1, 2, 3, 4)",
        'q = torch.zeros(1, 2, 3, 4, device="cuda").contiguous()',
        "q = torch.randn(1, 2, dtype=torch.float32).cuda()",
        'q = torch.randn(1, 2, dtype=torch.float16).to("cuda").float()',
    ],
)
def test_float32_tensors_for_flash_attn(made: str) -> None:
    found = facts(("a.py", FLASH.format(made)))
    assert (found["dtype"], found["attention"]) == ("fp32", "fa2")


@pytest.mark.parametrize(
    "made",
    [
        "q = torch.randn(1, 2).half()",
        "q = torch.randn(1, 2, dtype=torch.bfloat16)",
        "q = torch.randn(1, 2).to(dtype)",
        'q = torch.randn(1, 2).to("cuda", torch.float16)',
        "q = load()",
        "q = torch.randn(1, 2)\nq = q.half()",
        "q = torch.randn(1, 2, **kwargs)",
    ],
)
def test_half_precision_or_nobody_knows(made: str) -> None:
    assert "dtype" not in facts(("a.py", FLASH.format(made)))
