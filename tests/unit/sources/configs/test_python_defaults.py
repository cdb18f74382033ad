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


COMMANDS = (
    "import torch, click, typer, fire\nfrom typing import Annotated\n"
    "from transformers import AutoModel\n{}"
    "    AutoModel.from_pretrained('m', torch_dtype=getattr(torch, dtype))\n{}"
)
OPTION = "@click.option({})\n@click.command()\ndef main(dtype):\n"


@pytest.mark.parametrize(
    ("head", "tail"),
    [
        (OPTION.format('"--dtype", default="bfloat16"'), "main()\n"),
        (OPTION.format('"-d", "--dtype", default="bfloat16", type=str'), ""),
        (OPTION.format('"--precision", "dtype", default="bfloat16"'), "main()\n"),
        ('@app.command()\ndef main(dtype: str = "bfloat16"):\n', "app()\n"),
        ('@app.command("go")\ndef main(dtype: str = typer.Option("bfloat16")):\n', "app()\n"),
        ('def main(dtype: str = typer.Option(default="bfloat16")):\n', "typer.run(main)\n"),
        (
            'def main(dtype: Annotated[str, typer.Option()] = "bfloat16"):\n',
            "typer.run(main)\n",
        ),
        ('def go(model="m", *, dtype="bfloat16"):\n', "fire.Fire(go)\n"),
        ('def go(dtype="bfloat16"):\n', "go()\n"),
    ],
)
def test_defaults_of_commands(head: str, tail: str) -> None:
    assert facts(("a.py", COMMANDS.format(head, tail)))["weights_dtype"] == "bf16"


@pytest.mark.parametrize(
    ("head", "tail"),
    [
        ('def go(dtype="bfloat16"):\n', "go(dtype=pick())\ngo()\n"),
        ('def go(dtype="bfloat16"):\n', "Thread(target=go).start()\n"),
        ("@app.command()\ndef main(dtype: str = typer.Option(...)):\n", "app()\n"),
        ("@app.command()\ndef main(dtype: str):\n", "app()\n"),
        (OPTION.format('"--dtype", required=True'), "main()\n"),
        ('@app.command()\ndef main(dtype="bfloat16"):\n    dtype = pick()\n', "app()\n"),
    ],
)
def test_what_a_command_must_be_given_is_open(head: str, tail: str) -> None:
    assert facts(("a.py", COMMANDS.format(head, tail))).get("weights_dtype", "?") == "?"


ARGUMENTS = (
    "from dataclasses import dataclass, field\nfrom transformers import TrainingArguments\n"
    "@dataclass\nclass Mine(TrainingArguments):\n    {}\n"
)


@pytest.mark.parametrize(
    ("field", "autocast"),
    [
        ("bf16: bool = True", "bf16"),
        ("bf16: bool = field(default=True)", "bf16"),
        ("fp16: bool = field(default=True, metadata={})", "fp16"),
        ('optim: str = field(default="adamw")', "?"),  # the command line says it, or does not
    ],
)
def test_fields_of_a_trainers_arguments(field: str, autocast: str) -> None:
    found = facts(("a.py", ARGUMENTS.format(field)))
    assert (found["autocast"], found["purpose"]) == (autocast, "training")


@pytest.mark.parametrize(
    "filled",
    [
        'K["torch_dtype"] = torch.bfloat16\n',
        "K.update(torch_dtype=torch.bfloat16)\n",
        'K.update({"torch_dtype": torch.bfloat16})\n',
        'K["torch_dtype"] = torch.float16\nK["torch_dtype"] = torch.bfloat16\n',
    ],
)
def test_a_mapping_that_is_filled_later(filled: str) -> None:
    text = 'import torch\nfrom transformers import AutoModel\nK = {"device_map": "auto"}\n'
    text += filled + "AutoModel.from_pretrained('m', **K)\n"
    assert facts(("a.py", text))["weights_dtype"] == "bf16"


def test_parts_of_what_a_parser_returns() -> None:
    text = """
from dataclasses import dataclass, field
import transformers
@dataclass
class A:
    torch_dtype: str = field(default="bfloat16")
@dataclass
class B:
    lr: float = 1.0
a, b = transformers.HfArgumentParser((A, B)).parse_args_into_dataclasses()
transformers.AutoModel.from_pretrained("m", torch_dtype=a.torch_dtype)
"""
    assert facts(("a.py", text))["weights_dtype"] == "bf16"


CLASSES = (
    "import torch\nfrom transformers import AutoModel\n"
    "class Server:\n"
    '    def __init__(self, path, attention="flash_attention_2", dtype="bfloat16"):\n'
    "        self.attention = attention\n"
    "        self.model = AutoModel.from_pretrained(path, attn_implementation=attention)\n{}"
)


@pytest.mark.parametrize(
    ("call", "attention"),
    [
        ('Server("m")\n', "flash_attention_2"),
        ('Server("m", dtype="float16")\n', "flash_attention_2"),
        ('Server("m", "sdpa")\n', "?"),
        ('Server("m", attention="sdpa")\nServer("m")\n', "?"),
        ("Server(*given)\n", "?"),
        ("Server(**given)\n", "?"),
        ("", "?"),
    ],
)
def test_defaults_of_a_class_that_is_made(call: str, attention: str) -> None:
    assert facts(("a.py", CLASSES.format(call))).get("attention", "?") == attention
