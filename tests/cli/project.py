"""A folder as somebody works in it, to run lines of the documentation as they stand."""

from __future__ import annotations

import json
import shlex
import subprocess
import sys
from typing import TYPE_CHECKING

from tests.cli.conftest import COMMAND
from tests.cli.environments import add_flash_attn, add_torch, make_environment
from tests.unit.fleet.samples import line as record

if TYPE_CHECKING:
    from pathlib import Path

RULE = """\
id: house-rule
title: A rule of the house
since: 0.1.0
area: house
severity: note
confidence: low
when: {host.os: plan9}
message: This is Plan 9.
why: Nobody has tried that.
references:
  - {type: WEB, url: "https://example.org/plan9"}
verified: reported
cases:
  - {name: it is, facts: {host.os: plan9}, expect: {outcome: fail}}
  - {name: it is not, facts: {host.os: linux}, expect: {outcome: pass}}
  - {name: nobody knows, facts: {host.os: {unknown: not read}}, expect: {outcome: unknown}}
"""

PYPROJECT = """\
[project]
name = "mine"
version = "1"
dependencies = ["torch==2.8.0"]

[project.optional-dependencies]
train = ["transformers==4.57.1"]
cu128 = ["flash-attn==2.8.3"]

[dependency-groups]
dev = ["accelerate==1.10.1"]
"""

LOCK = """\
version = 1

[[package]]
name = "torch"
version = "2.8.0"
source = { registry = "https://index.example.org/simple" }

[[package]]
name = "mine"
version = "1"
source = { editable = "." }
dependencies = [{ name = "torch" }]

[package.optional-dependencies]
cu128 = [{ name = "torch" }]
"""

_TAG = "cp{}{}".format(*sys.version_info[:2])
WHEEL = (
    "https://github.com/Dao-AILab/flash-attention/releases/download/v2.8.3/"
    f"flash_attn-2.8.3%2Bcu12torch2.8cxx11abiTRUE-{_TAG}-{_TAG}-linux_x86_64.whl"
)

FILES = {
    "requirements.txt": "torch==2.8.0\nflash-attn==2.8.3\n",
    "constraints.txt": "numpy<2\n",
    "pyproject.toml": PYPROJECT,
    "uv.lock": LOCK,
    "train.yaml": "model_name_or_path: x\nstage: sft\nflash_attn: fa2\nbf16: true\n",
    "args.yaml": "bf16: true\nper_device_train_batch_size: 1\n",
    "ds_z3.json": json.dumps({"zero_optimization": {"stage": 3}, "bf16": {"enabled": True}}),
    "adapter_config.json": json.dumps({"peft_type": "LORA", "use_dora": True, "r": 8}),
    "config.json": json.dumps(
        {"architectures": ["LlamaForCausalLM"], "model_type": "llama", "torch_dtype": "bfloat16"}
    ),
    "finetune.sh": "python train.py --bf16 True\n",
    "serve.sh": "vllm serve a-model --dtype bfloat16\n",
    "train.py": "print('trained')\n",
    "train.log": "RuntimeError: FlashAttention only supports Ampere GPUs or newer.\n",
    "report.txt": "torch==2.8.0\nflash_attn==2.8.3\ntransformers==4.57.1\n",
    "my-rules/house/house-rule.yaml": RULE,
}


def make_project(root: Path) -> Path:
    """Fill a folder with an environment, files, a log, and the program on a PATH of its own."""
    site = make_environment(root / ".venv")
    add_torch(site, "2.8.0", "12.8")
    add_flash_attn(site, "2.8.3", WHEEL)
    for name, text in FILES.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    (root / "reports").mkdir()
    (root / "reports" / "n00.txt").write_bytes(record(0))
    (root / "records.txt").write_bytes(b"".join(map(record, range(3))))
    programs = root / "bin"
    programs.mkdir()
    (programs / "fadoctor").write_text(f'#!/bin/sh\nexec {shlex.join(COMMAND)} "$@"\n')
    (programs / "fadoctor").chmod(0o755)
    (programs / "python").symlink_to(sys.executable)
    run_line("fadoctor facts > facts.json", root)
    return root


def run_line(line: str, folder: Path) -> str:
    """Run a line as it stands; it says something, and nothing about its own usage."""
    done = subprocess.run(
        ["sh", "-c", line],
        cwd=folder,
        env={
            "PATH": f"{folder / 'bin'}:/usr/bin:/bin",
            "HOME": str(folder),
            "VIRTUAL_ENV": str(folder / ".venv"),
        },
        capture_output=True, text=True, check=False, timeout=120,
    )  # fmt: skip
    assert done.returncode in (0, 1, 3), done.stderr
    complaints = [each for each in done.stderr.splitlines() if each.startswith("fadoctor:")]
    assert [each for each in complaints if not each.endswith(" is written")] == []
    said = done.stdout + done.stderr
    assert said or "--output" in line or ">" in line
    return said
