"""What seven persons see in their first screen, from their own input to the next command.

``FADOCTOR_UPDATE_GOLDEN=1 pytest tests/cli/test_persons.py`` writes the screens again; read them
as a diff, aloud. Each first screen names the cause and what to do.
"""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import msgspec
import pytest

from tests.hosts import recording

if TYPE_CHECKING:
    from tests.cli.conftest import Run

ROOT = Path(__file__).parents[2]
GOLDEN = ROOT / "tests" / "golden" / "persons"
SCREEN = 24
"""Lines of a terminal of usual size."""

CONFIG = """\
model_name_or_path: Qwen/Qwen2.5-7B
stage: sft
finetuning_type: lora
flash_attn: fa2
bf16: true
"""
ISSUE = """\
### Bug description

Training stops at `import flash_attn`, nothing changed on my side but a torch upgrade.

```
  File "/opt/env/lib/python3.11/site-packages/flash_attn/flash_attn_interface.py", line 15
    import flash_attn_2_cuda as flash_attn_gpu
ImportError: /opt/env/lib/python3.11/site-packages/flash_attn_2_cuda.cpython-311.so:
undefined symbol: _ZN3c105ErrorC2ENS_14SourceLocationESs
```

### Environment

torch 2.8.0+cu128, flash-attn 2.7.3, Python 3.11, Ubuntu 22.04, A100
"""
SERVING = """\
INFO 11-20 09:12:44 [config.py:1472] Using max model len 8192
ERROR 11-20 09:12:51 [core.py:515] EngineCore failed to start.
ERROR 11-20 09:12:51 [core.py:515] ValueError: Bfloat16 is only supported on GPUs with compute \
capability of at least 8.0. Your Tesla T4 GPU has compute capability 7.5. You can use float16 \
instead by explicitly setting the `dtype` flag in CLI, for example: --dtype=half.
"""
COMFY = """\
Total VRAM 12288 MB, total RAM 32560 MB
pytorch version: 2.9.1+cu128
Device: cuda:0 NVIDIA GeForce RTX 3060 : cudaMallocAsync
Using sage attention
  File "D:\\ComfyUI_windows_portable\\python_embeded\\Lib\\site-packages\\sageattention\\core.py", \
line 20, in <module>
    import triton
ModuleNotFoundError: No module named 'triton'
"""
PINS = "torch==2.8.0\nflash-attn==2.8.3\ntransformers==4.57.1\n"


class Person(NamedTuple):
    """Somebody with an input."""

    argv: tuple[str, ...]
    code: int
    says: tuple[str, ...]
    """Stands within the first screen."""
    files: tuple[tuple[str, str], ...] = ()
    host: str = ""
    """The recorded machine whose facts are facts.json."""


PERSONS = {
    "fine-tuner-v100": Person(
        ("check", "--no-smoke", "--gpu", "V100", "--config", "train.yaml"), 1,
        ("V100", "float16", "flash_attn: sdpa"), (("train.yaml", CONFIG),)),
    "colab-unsloth": Person(
        ("check", "--facts", "facts.json"), 0, ("T4", "float16"), host="unsloth-t4"),
    "vllm-operator": Person(
        ("explain", "serve.log"), 1, ("T4", "--dtype"), (("serve.log", SERVING),)),
    "maintainer": Person(("explain", "issue.md"), 1, ("flash-attn",), (("issue.md", ISSUE),)),
    "ci-author": Person(
        ("check", "--strict", "--gpu", "A100", "--requirements", "requirements.txt"), 1,
        ("flash-attn", "isolation"), (("requirements.txt", PINS),)),
    "comfyui-windows": Person(
        ("explain", "comfy.log"), 0, ("triton-windows",), (("comfy.log", COMFY),)),
    "operator-64-nodes": Person(
        ("fleet", str(ROOT / "tests" / "golden" / "fleet" / "records.txt")), 1, ("32",)),
}  # fmt: skip


def of_any_machine(text: str) -> str:
    """Return a screen without what it says of this machine: its interpreter and its system."""
    text = re.sub(r"(?m)^/\S+ is a pyenv shim; the real interpreter is\n\S+\n", "", text)
    text = re.sub(r"Environment: \S+ \(python on PATH\)", "Environment: python on PATH", text)
    text = re.sub(r"linux_x86_64, glibc \S+, Python [\d.]+(?:, container \w+)?", "a system", text)
    return re.sub(r"(?m)^  Packages: numpy \S+$", "  Packages: none of the stack", text)


@pytest.mark.parametrize("name", PERSONS)
def test_the_first_screen_has_the_answer(name: str, run: Run, tmp_path: Path) -> None:
    person = PERSONS[name]
    for file, text in person.files:
        (tmp_path / "cwd" / file).write_text(text, encoding="utf-8")
    if person.host:
        facts = recording.read(person.host, tmp_path / "host")
        (tmp_path / "cwd" / "facts.json").write_bytes(msgspec.json.encode(facts))
    found = run(*person.argv, env={"COLUMNS": "80", "NO_COLOR": "1"})
    assert found.returncode == person.code, found.stderr
    text = re.sub(r"Rules \S+, fadoctor \S+\.", "Rules 0, fadoctor 0.", found.stdout)
    text = of_any_machine(text.replace(str(ROOT), "~/fadoctor"))
    first = "\n".join(text.splitlines()[:SCREEN])
    assert [words for words in person.says if words not in first] == []
    path = GOLDEN / f"{name}.txt"
    if os.environ.get("FADOCTOR_UPDATE_GOLDEN") == "1":
        path.write_text(text, encoding="utf-8")
    assert path.read_text(encoding="utf-8") == text, "FADOCTOR_UPDATE_GOLDEN=1 writes it again"
