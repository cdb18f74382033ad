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
_PINNED = re.compile(r"((?:==|-|\/v|torch|flash-attn )v?)\d+(?:\.\w+)+")
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

AMD = """\
Total VRAM 24560 MB, total RAM 64223 MB
pytorch version: 2.9.1+cpu
Device: cpu
lspci: 03:00.0 VGA compatible controller: Advanced Micro Devices, Inc. Navi 31 [Radeon RX 7900 XTX]
RuntimeError: Found no NVIDIA driver on your system. Please check that you have an NVIDIA GPU and \
installed a driver from http://www.nvidia.com/Download/index.aspx
"""
AXOLOTL = """\
base_model: NousResearch/Meta-Llama-3-8B
adapter: qlora
load_in_4bit: true
flash_attention: true
bf16: true
micro_batch_size: 1
"""
DOCKERFILE = """\
FROM python:3.11-slim
RUN pip install torch==2.6.0
RUN pip install flash-attn==2.7.4.post1
"""
DORA = """\
  File "/env/lib/python3.11/site-packages/peft/tuners/lora/dora.py", line 165, in forward
  File "/env/lib/python3.11/site-packages/unsloth/models/llama.py", line 612, in fast_forward
    A = flash_attn_func(Q, K, V, causal=True)
  File "/env/lib/python3.11/site-packages/flash_attn/flash_attn_interface.py", line 1201
RuntimeError: query and key must have the same dtype
"""
MAC = """\
% sw_vers
ProductName:    macOS
ProductVersion: 15.1
% pip install flash-attn --no-build-isolation
Collecting flash-attn
  Using cached flash_attn-2.8.3.tar.gz (8.4 MB)
  Preparing metadata (setup.py) ... error
      OSError: CUDA_HOME environment variable is not set. Please set it to your CUDA install root.
"""
WSL = """\
$ uname -r
5.15.167.4-microsoft-standard-WSL2
$ nvidia-smi
Failed to initialize NVML: GPU access blocked by the operating system
"""
KAGGLE = """\
Unsloth 2025.10.1 patched. GPU: Tesla P100-PCIE-16GB. Torch: 2.8.0+cu128.
/usr/local/lib/python3.11/dist-packages/torch/cuda/__init__.py:262: UserWarning: Found GPU0 Tesla \
P100-PCIE-16GB which is of cuda capability 6.0.
PyTorch no longer supports this GPU because it is too old.
torch.AcceleratorError: CUDA error: no kernel image is available for execution on the device
"""
SGLANG = """\
[2026-10-02 11:03:11] Launch server
  File "/usr/local/lib/python3.12/dist-packages/sgl_kernel/load_utils.py", line 97
ImportError:
[sgl_kernel] CRITICAL: Could not load any common_ops library!
- ImportError: libnuma.so.1: cannot open shared object file: No such file or directory
"""
UV = """\
  x Failed to build `flash-attn==2.8.3`
  |-> The build backend returned an error
  `-> Call to `setuptools.build_meta:__legacy__.build_wheel` failed (exit status: 1)
      ModuleNotFoundError: No module named 'torch'
"""
SERVE = """\
#!/bin/sh
vllm serve mistralai/Mistral-7B-Instruct-v0.3 --dtype bfloat16 --max-model-len 8192
"""
SWIFT = """\
CUDA_VISIBLE_DEVICES=0 swift sft --model Qwen/Qwen2.5-7B-Instruct --train_type lora \\
    --attn_impl flash_attn --torch_dtype bfloat16 --dataset AI-ModelScope/alpaca-gpt4-data-en
"""
PIPELINE = """\
import torch
from diffusers import FluxPipeline

pipe = FluxPipeline.from_pretrained("black-forest-labs/FLUX.1-dev", torch_dtype=torch.bfloat16)
pipe.transformer.set_attention_backend("flash")
pipe.to("cuda")
"""
FRENCH = """\
C:\\ComfyUI> pip install flash-attn --no-build-isolation
Building wheel for flash-attn (setup.py) ... error
'nvcc' n'est pas reconnu en tant que commande interne
ou externe, un programme ex\u00e9cutable ou un fichier de commandes.
"""
POD = """\
Warning  Failed  12s  kubelet  Error: failed to create containerd task: OCI runtime create failed: \
error running prestart hook #0: exit status 1, stderr: Auto-detected mode as 'legacy'
nvidia-container-cli: initialization error: load library failed: libnvidia-ml.so.1: cannot open \
shared object file: no such file or directory: unknown
"""
OTHERS = {
    "vllm-on-a-v100": Person(
        ("check", "--no-smoke", "--gpu", "V100", "--config", "serve.sh"), 1,
        ("bfloat16", "--dtype half"), (("serve.sh", SERVE),)),
    "swift-fine-tuner": Person(
        ("check", "--no-smoke", "--gpu", "T4", "--config", "sft.sh"), 1,
        ("T4", "--attn_impl sdpa --torch_dtype float16"), (("sft.sh", SWIFT),)),
    "diffusers-on-a-2060": Person(
        ("check", "--no-smoke", "--gpu", "RTX 2060", "--config", "flux.py"), 1,
        ("RTX 2060", 'set_attention_backend("native"), torch_dtype=torch.float16'),
        (("flux.py", PIPELINE),)),
    "windows-in-french": Person(
        ("explain", "pip.log"), 1, ("finds no nvcc", "wheel"), (("pip.log", FRENCH),)),
    "pod-without-a-driver": Person(
        ("explain", "pod.log"), 1, ("driver",), (("pod.log", POD),)),
    "amd-comfyui": Person(
        ("explain", "a.log"), 1, ("7900 XTX", "built for ROCm", "/rocm"), (("a.log", AMD),)),
    "axolotl-t4": Person(
        ("check", "--no-smoke", "--gpu", "T4", "--config", "config.yml"), 1,
        ("T4", "Use float16", "fp16: true, bf16: false"), (("config.yml", AXOLOTL),)),
    "dockerfile-author": Person(
        ("check", "--requirements", "Dockerfile", "--gpu", "H100"), 1,
        ("A CUDA build finds no nvcc", "the prebuilt wheel for this torch"),
        (("Dockerfile", DOCKERFILE),)),
    "gate-on-a-login-node": Person(
        ("check", "--strict", "--no-smoke", "--facts", "facts.json"), 3,
        ("There is no GPU here",), host="login-node-no-gpu"),
    "buyer-of-a-5090": Person(
        ("check", "--gpu", "RTX 5090", "--requirements", "requirements.txt"), 1,
        ("RTX 5090: no attention works", "fix: Install torch=="),
        (("requirements.txt", "torch==2.6.0\ntransformers==4.49.0\n"),)),
    "dora-fine-tuner": Person(
        ("explain", "train.log"), 1, ("DoRA turns the projections", "Upgrade unsloth"),
        (("train.log", DORA),)),
    "mac-user": Person(
        ("explain", "pip.log"), 1, ("no GPU for CUDA code", "own attention"), (("pip.log", MAC),)),
    "wsl-user": Person(
        ("explain", "smi.txt"), 0, ("WSL", "wsl --update"), (("smi.txt", WSL),)),
    "kaggle-p100": Person(
        ("explain", "cell.txt"), 1, ("P100", "/cu126"), (("cell.txt", KAGGLE),)),
    "sglang-operator": Person(
        ("explain", "serve.log"), 1, ("need libnuma", "libnuma1"),
        (("serve.log", SGLANG),)),
    "planner": Person(
        ("fix", "--dry-run", "--want", "flash-attn", "--facts", "facts.json", "--gpu", "A100",
         "--driver", "550.54.15"), 1,
        ("no problem remains", "pip install torch=="), host="empty-environment"),
    "uv-user": Person(
        ("explain", "sync.log"), 1, ("The build cannot see torch", "no-build-isolation-package"),
        (("sync.log", UV),)),
}  # fmt: skip
"""Persons of other kinds; releases in their answers change with the tables, and are masked."""


def of_any_machine(text: str) -> str:
    """Return a screen without what it says of this machine: its interpreter and its system."""
    text = re.sub(r"(?m)^/\S+ is a pyenv shim; the real interpreter is\n\S+\n", "", text)
    text = re.sub(r"Environment: \S+ \(python on PATH\)", "Environment: python on PATH", text)
    text = re.sub(r"linux_x86_64, glibc \S+, Python [\d.]+(?:, container \w+)?", "a system", text)
    return re.sub(r"(?m)^  Packages: numpy \S+$", "  Packages: none of the stack", text)


ALL = {**PERSONS, **OTHERS}
_PLAN = re.compile(r"`fadoctor fix --dry-run`, with the same ((?:--[a-z]+(?:, | and )?)+)")
_PAGE = re.compile(r"page: fadoctor rules show ([a-z0-9-]+)")


def given(person: Person, folder: Path) -> None:
    """Write what a person has into the folder where commands are typed."""
    for name, content in person.files:
        (folder / "cwd" / name).write_text(content, encoding="utf-8")
    if person.host:
        facts = recording.read(person.host, folder / "host")
        (folder / "cwd" / "facts.json").write_bytes(msgspec.json.encode(facts))


@pytest.mark.parametrize(
    "name", [*PERSONS, *(pytest.param(name, marks=pytest.mark.long) for name in OTHERS)]
)
def test_the_first_screen_has_the_answer(name: str, run: Run, tmp_path: Path) -> None:
    person = ALL[name]
    given(person, tmp_path)
    found = run(*person.argv, env={"COLUMNS": "80", "NO_COLOR": "1"})
    assert found.returncode == person.code, found.stderr
    text = re.sub(r"Rules \S+, fadoctor \S+\.", "Rules 0, fadoctor 0.", found.stdout)
    text = of_any_machine(text.replace(str(ROOT), "~/fadoctor"))
    text = _PINNED.sub(r"\1N", text) if name in OTHERS else text
    first = "\n".join(text.splitlines()[:SCREEN])
    assert [words for words in person.says if words not in first] == []
    path = GOLDEN / f"{name}.txt"
    if os.environ.get("FADOCTOR_UPDATE_GOLDEN") == "1":
        path.write_text(text, encoding="utf-8")
    assert path.read_text(encoding="utf-8") == text, "FADOCTOR_UPDATE_GOLDEN=1 writes it again"


SCREENS = {name: " ".join((GOLDEN / f"{name}.txt").read_text("utf-8").split()) for name in ALL}
PLANS = [name for name, text in SCREENS.items() if _PLAN.search(text)]


@pytest.mark.parametrize(
    "name",
    [pytest.param(name, marks=[pytest.mark.long] if name in OTHERS else []) for name in PLANS],
)
def test_the_plan_that_a_first_screen_names_says_what_to_do(
    name: str, run: Run, tmp_path: Path
) -> None:
    person = ALL[name]
    given(person, tmp_path)
    named = _PLAN.search(SCREENS[name])
    assert named
    options = re.findall(r"--[a-z]+", named[1])
    same = [
        word
        for option, value in zip(person.argv, person.argv[1:], strict=False)
        if option in options
        for word in (option, value)
    ]
    found = run("fix", "--dry-run", *same, env={"COLUMNS": "80", "NO_COLOR": "1"})
    assert found.returncode == 1, found.stderr
    assert "\nBy hand:\n" in found.stdout or "\n+++ " in found.stdout


@pytest.mark.long
def test_the_pages_that_screens_name_are_there(run: Run) -> None:
    named = {rule for text in SCREENS.values() for rule in _PAGE.findall(text)}
    assert len(named) > len(PERSONS)
    for rule in sorted(named):
        found = run("rules", "show", rule)
        assert found.returncode == 0, found.stderr
        assert rule in found.stdout
