"""Files that `fadoctor fix --write` has changed, put to uv over the real index, and judged again.

``python -m tests.states.written --count 100 --seed 7`` writes a line for each that does not end in
what was said. A label of a build (``+cu126``) and lines of flash-attn are left out of what uv sees:
their indexes need not be reached, and uv compiles nothing.
"""

from __future__ import annotations

import argparse
import json
import random
import re
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Any

BASES = (
    "vllm==0.7.3", "vllm==0.9.2", "vllm==0.11.0", "vllm==0.17.0", "sglang==0.5.6",
    "sglang==0.5.9", "unsloth==2025.8.1", "trl==0.24.0", "llamafactory==0.9.3",
    "axolotl==0.17.0", "torch==2.5.1\ntorchvision==0.19.0", "torch==2.8.0\nxformers==0.0.31",
    "bitsandbytes==0.43.0\ntorch==2.6.0", "peft==0.16.0\ntransformers==5.10.1",
    "xformers\ntorch==2.6.0", "torch==2.4.0\ntransformers",
)  # fmt: skip
MORE = (
    "", "transformers", "trl", "transformers==4.51.3", "transformers>=4.55\ntrl",
    "deepspeed\npeft", "datasets==3.2.0\nfsspec>=2025.1", "numpy<2\naccelerate",
    "huggingface-hub<1\ntransformers",
)  # fmt: skip
PYTHONS = ("3.10", "3.11", "3.12", "3.13")
MACHINES = (
    ("RTX 5090", "580.95.05"),
    ("RTX 4090", "570.133.20"),
    ("H100", "550.54.15"),
    ("A100", "535.129.03"),
)
PLATFORM = "x86_64-manylinux_2_39"
WAITS = 120
OF_TORCH = frozenset(("driver-too-old", "torch-arch-unsupported"))
"""Errors of a torch that no line names: which one comes nobody said."""
NAMES_TORCH = re.compile(r"^(?:torch|vllm|sglang|unsloth|xformers)\b", re.MULTILINE)

_LABEL = re.compile(r"(==[\w.!]{1,60})\+[\w.]{1,40}")
_PIN = re.compile(r"^[\w.-]{1,100}==\S{1,60}", re.MULTILINE)

Case = tuple[str, str, str, tuple[str, str]]


@dataclass(frozen=True)
class Answer:
    """What a written file ends in."""

    kind: str
    """One of: ok, refused, errors, unanswered."""
    detail: str = ""


def cases(count: int, seed: int) -> list[Case]:
    """Return so many cases, chosen by chance."""
    every = list(product(BASES, MORE, PYTHONS, MACHINES))
    return random.Random(seed).sample(every, count)  # noqa: S311 -- a sample


def answer(case: Case, folder: Path) -> Answer:
    """Let a file be repaired and written, uv choose releases for it, and judge these."""
    base, more, python, (gpu, driver) = case
    file = folder / "requirements.txt"
    file.write_text(f"{base}\n{more}\n")
    machine = ["--gpu", gpu, "--driver", driver, "--python-version", python]
    plan = _told("fix", "--write", "--yes", "--requirements", str(file), *machine)
    said = set(plan["proof"]["errors"])
    text = file.read_text()
    try:
        pins, refused = resolved(text, python, folder)
    except subprocess.TimeoutExpired:
        return Answer("unanswered", f"uv has not answered in {WAITS} s")
    if refused:
        is_said = plan["outcome"] not in ("repairs", "nothing")
        return Answer("ok" if is_said else "refused", refused)
    file.write_text(pins)
    found = _told("check", "--requirements", str(file), *machine)["findings"]
    errors = [each for each in found if each["severity"] == "error"]
    said |= set() if NAMES_TORCH.search(text) else OF_TORCH
    left = [each for each in errors if each["rule_id"] not in said]
    return Answer("errors" if left else "ok", "; ".join(each["message"] for each in left))


def resolved(text: str, python: str, folder: Path) -> tuple[str, str]:
    """Return what uv chooses for a file, and why it refuses."""
    asked = folder / "asked.txt"
    asked.write_text(_LABEL.sub(r"\1", "\n".join(asked_lines(text))))
    command = ["uv", "pip", "compile", "--quiet", "--no-header", "--no-annotate"]
    command += ["--python-version", python, "--python-platform", PLATFORM, str(asked)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=WAITS)
    if done.returncode:
        return "", " ".join(done.stderr.split())[:600]
    return "\n".join(_PIN.findall(done.stdout)), ""


def asked_lines(text: str) -> list[str]:
    """Return the lines of a file that uv can be asked about."""
    lines = [line.strip() for line in text.splitlines()]
    return [line for line in lines if line and not line.startswith(("flash-attn", "--"))]


def _told(*arguments: str) -> dict[str, Any]:
    command = [sys.executable, "-m", "fadoctor", *arguments, "--format", "json"]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=WAITS)
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def main() -> int:
    """Write what does not end in what was said, and how many there are."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=100)
    parser.add_argument("--seed", type=int, default=7)
    parser.add_argument("--minutes", type=float, default=60, help="begin no file after these")
    asked = parser.parse_args()
    ends = time.monotonic() + 60 * asked.minutes
    done = wrong = 0
    for case in cases(asked.count, asked.seed):
        if time.monotonic() > ends:
            break
        done += 1
        with tempfile.TemporaryDirectory() as folder:
            found = answer(case, Path(folder))
        if found.kind != "ok":
            wrong += 1
            sys.stdout.write(json.dumps([found.kind, found.detail, case]) + "\n")
            sys.stdout.flush()
    sys.stdout.write(f"{done} files of {asked.count}, {wrong} do not end in what was said\n")
    return int(wrong > 0)


if __name__ == "__main__":
    sys.exit(main())
