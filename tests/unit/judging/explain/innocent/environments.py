"""Environments in which all fits together, in the forms in which people paste them."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from tests.plain_yaml import read_plain

if TYPE_CHECKING:
    from collections.abc import Callable
    from random import Random

SETS: dict[str, dict[str, str]] = read_plain(Path(__file__).with_name("sets.yaml"))
"""Releases that a resolver chose together, by what was asked for; beside them Python and CUDA."""

UNKNOWN = "Could not collect"
COLUMN = 34
"""How wide `pip list` prints the names."""


class Machine(NamedTuple):
    """A system and its GPU, on which each set runs that is named for it."""

    system: str
    platform: str
    glibc: str
    gpu: str
    driver: str
    sets: tuple[str, ...]
    capability: str = ""


_LINUX = ("torch-26", "diffusers", "trl", "vllm-085", "vllm-010", "vllm-012", "vllm-018", "sglang",
          "comfy", "unsloth", "llamafactory", "lmdeploy", "sentences", "lightning")  # fmt: skip
_WINDOWS = ("windows-comfy", "windows-torch")
MACHINES = (
    Machine("Ubuntu 22.04.5 LTS (x86_64)", "Linux-6.8.0-60-generic-x86_64-with-glibc2.35",
            "2.35", "NVIDIA GeForce RTX 4090", "575.64.03", _LINUX, "8.9"),
    Machine("Ubuntu 24.04.2 LTS (x86_64)", "Linux-6.11.0-29-generic-x86_64-with-glibc2.39",
            "2.39", "NVIDIA A100-SXM4-80GB", "580.95.05", _LINUX, "8.0"),
    Machine("Debian GNU/Linux 12 (bookworm) (x86_64)", "Linux-6.1.0-37-amd64-x86_64-with-glibc2.36",
            "2.36", "NVIDIA H100 80GB HBM3", "580.95.05", _LINUX, "9.0"),
    Machine("Ubuntu 22.04.5 LTS (x86_64)",
            "Linux-6.6.87.2-microsoft-standard-WSL2-x86_64-with-glibc2.35",
            "2.35", "NVIDIA GeForce RTX 3060", "576.88", _LINUX, "8.6"),
    Machine("Microsoft Windows 11 Pro (10.0.26100 64-bit)", "Windows-11-10.0.26100-SP0",
            "", "NVIDIA GeForce RTX 4070", "576.88", _WINDOWS, "8.9"),
    Machine("macOS 15.5 (arm64)", "macOS-15.5-arm64-arm-64bit", "", "", "", ("mac",)),
    Machine("Ubuntu 24.04.3 LTS (x86_64)", "Linux-6.14.0-37-generic-x86_64-with-glibc2.39",
            "2.39", "AMD Radeon RX 7900 XTX (gfx1100)", "", ("rocm",)),
    Machine("Ubuntu 22.04.5 LTS (x86_64)", "Linux-5.15.0-141-generic-x86_64-with-glibc2.35",
            "2.35", "AMD Instinct MI300X (gfx942:sramecc+:xnack-)", "", ("rocm",)),
    Machine("Ubuntu 22.04.5 LTS (aarch64)", "Linux-5.15.148-tegra-aarch64-with-glibc2.35",
            "2.35", "Orin", "540.4.0", ("jetson",), "8.7"),
)  # fmt: skip

_CPU = """CPU:
Architecture:                         x86_64
CPU op-mode(s):                       32-bit, 64-bit
CPU(s):                               32
On-line CPU(s) list:                  0-31
Vendor ID:                            GenuineIntel
Model name:                           Intel(R) Xeon(R) Gold 6430
NUMA node(s):                         2
Vulnerability Gather data sampling:   Not affected
Vulnerability Mds:                    Vulnerable: Clear CPU buffers attempted, no microcode
Vulnerability Spec store bypass:      Mitigation; Speculative Store Bypass disabled via prctl
Vulnerability Tsx async abort:        Not affected
"""
_TOPOLOGY = """GPU Topology:
        GPU0    CPU Affinity    NUMA Affinity   GPU NUMA ID
GPU0     X      0-31    0               N/A

Legend:

  X    = Self
  SYS  = Connection traversing PCIe as well as the SMP interconnect between NUMA nodes
  NODE = Connection traversing PCIe as well as the interconnect between PCIe Host Bridges
  NV#  = Connection traversing a bonded set of # NVLinks
"""
_OF_TORCH = ("numpy", "torch", "torchvision", "torchaudio", "triton", "triton-windows",
             "pytorch-triton-rocm")  # fmt: skip


def _packages(versions: dict[str, str]) -> list[tuple[str, str]]:
    return [(name, found) for name, found in versions.items() if name not in {"python", "cuda"}]


def collect_env(draw: Random, machine: Machine, versions: dict[str, str]) -> str:
    """Return what `python -m torch.utils.collect_env` prints."""
    cuda = versions.get("cuda", "")
    rocm = cuda.removeprefix("rocm") if cuda.startswith("rocm") else ""
    built = "N/A" if rocm else cuda or "None"
    lines = [
        "Collecting environment information...",
        f"PyTorch version: {_labelled(machine, versions)}",
        "Is debug build: False",
        f"CUDA used to build PyTorch: {built}",
        f"ROCM used to build PyTorch: {rocm + '.52802-26aae437f6' if rocm else 'N/A'}",
        "",
        f"OS: {machine.system}",
        f"GCC version: {draw.choice([UNKNOWN, '(GCC) 12.2.0', '(GCC) 13.3.0'])}",
        f"Clang version: {draw.choice([UNKNOWN, '14.0.0-1ubuntu1.1'])}",
        f"CMake version: {draw.choice([UNKNOWN, 'version 3.28.3'])}",
        f"Libc version: {'glibc-' + machine.glibc if machine.glibc else 'N/A'}",
        "",
        f"Python version: {versions['python']} (main, Jun  3 2025, 15:41:12) (64-bit runtime)",
        f"Python platform: {machine.platform}",
        f"Is CUDA available: {machine.gpu != ''}",
        f"CUDA runtime version: {UNKNOWN if machine.gpu else 'No CUDA'}",
        "CUDA_MODULE_LOADING set to: LAZY",
        f"GPU models and configuration: {_gpu_row(machine)}",
        f"Nvidia driver version: {machine.driver or (UNKNOWN if machine.gpu else 'No CUDA')}",
        f"cuDNN version: {draw.choice([UNKNOWN, '9.10.2'])}",
        f"HIP runtime version: {rocm + '.52802' if rocm else 'N/A'}",
        f"MIOpen runtime version: {'3.4.0' if rocm else 'N/A'}",
        "Is XNNPACK available: True",
        "",
        *([_CPU] if draw.random() < 0.4 else []),
        "Versions of relevant libraries:",
        *(f"[pip3] {name}=={found}" for name, found in versions.items() if name in _OF_TORCH),
        f"[conda] {draw.choice([UNKNOWN, 'No relevant packages'])}",
        *([_TOPOLOGY] if machine.driver and draw.random() < 0.4 else []),
    ]
    return "\n".join(lines)


def _labelled(machine: Machine, versions: dict[str, str]) -> str:
    """Return torch's version as torch prints it: of a wheel for CUDA, with its label."""
    if "+" in versions["torch"] or not machine.driver or "tegra" in machine.platform:
        return versions["torch"]
    return f"{versions['torch']}+cu{versions['cuda'].replace('.', '')}"


def _gpu_row(machine: Machine) -> str:
    if not machine.gpu:
        return "No CUDA"
    return machine.gpu if not machine.driver else f"GPU 0: {machine.gpu}"


def pip_list(draw: Random, _: Machine, versions: dict[str, str]) -> str:
    """Return what `pip list` prints, or `pip freeze`."""
    if draw.random() < 0.3:
        rows = [f"{name}=={found}" for name, found in _packages(versions)]
        return "\n".join(["$ pip freeze", *rows])
    rows = [f"{name:{COLUMN}}{found}" for name, found in _packages(versions)]
    head = [f"{'Package':{COLUMN}}Version", f"{'-' * (COLUMN - 1)} {'-' * 15}"]
    return "\n".join(["$ pip list", *head, *rows])


def conda_list(_: Random, __: Machine, versions: dict[str, str]) -> str:
    """Return what `conda list` prints, of packages that pip put there."""
    rows = [f"{name:{COLUMN}}{found:19}pypi_0    pypi" for name, found in _packages(versions)]
    head = [
        "# packages in environment at /home/ada/miniconda3/envs/work:",
        "#",
        f"# {'Name':{COLUMN - 2}}Version            Build     Channel",
        f"{'python':{COLUMN}}{versions['python']:19}h99e199e_101_cpython    conda-forge",
    ]
    return "\n".join(["$ conda list", *head, *rows])


def nvidia_smi(draw: Random, machine: Machine, versions: dict[str, str]) -> str:
    """Return what `nvidia-smi` prints of one idle GPU, where there is an NVIDIA driver."""
    if not machine.driver or "tegra" in machine.platform:
        return pip_list(draw, machine, versions)
    cuda = "13.0" if machine.driver.startswith("580") else "12.9"
    line = "+" + "-" * 89 + "+"
    return f"""{line}
| NVIDIA-SMI {machine.driver:22} Driver Version: {machine.driver:14} CUDA Version: {cuda:8} |
|-----------------------------------------+------------------------+----------------------+
| GPU  Name                 Persistence-M | Bus-Id          Disp.A | Volatile Uncorr. ECC |
|=========================================+========================+======================|
|   0  {machine.gpu:27}    Off |   00000000:01:00.0  On |                  N/A |
| 30%   41C    P8             22W /  350W |    512MiB /  81559MiB  |      2%      Default |
+-----------------------------------------+------------------------+----------------------+
| Processes:                                                                              |
|  No running processes found                                                             |
{line}"""


def prose(draw: Random, machine: Machine, versions: dict[str, str]) -> str:
    """Return the environment in a sentence or a list of a form."""
    names = ("torch", "transformers", "vllm", "xformers", "triton", "flash-attn", "accelerate")
    rows = [f"{name} {versions[name]}" for name in names if name in versions]
    gpu = machine.gpu or "Apple M3 Max"
    driver = [f"driver {machine.driver}"] if machine.driver else []
    if draw.random() < 0.5:
        parts = [machine.system, f"Python {versions['python']}", *rows, gpu, *driver]
        return "I use " + ", ".join(parts) + "."
    table = [("OS", machine.system), ("Python", versions["python"]), ("GPU", gpu)]
    return "\n".join(
        [*(f"- **{name}**: {value}" for name, value in table), *(f"- {row}" for row in rows)]
    )


def vllm_form(draw: Random, machine: Machine, versions: dict[str, str]) -> str:
    """Return what vLLM's collect_env.py prints, in the fold of its form."""
    if "vllm" not in versions:
        return collect_env(draw, machine, versions)
    rows = [f"[pip3] {name}=={found}" for name, found in _packages(versions)]
    return f"""<details>
<summary>The output of <code>python collect_env.py</code></summary>

```text
==============================
        System Info
==============================
OS                           : {machine.system}
GCC version                  : (Ubuntu 11.4.0-1ubuntu1~22.04) 11.4.0
Clang version                : Could not collect
CMake version                : version 4.1.0
Libc version                 : glibc-{machine.glibc}

==============================
       PyTorch Info
==============================
PyTorch version              : {versions["torch"]}+cu{versions["cuda"].replace(".", "")}
Is debug build               : False
CUDA used to build PyTorch   : {versions["cuda"]}
ROCM used to build PyTorch   : N/A

==============================
      Python Environment
==============================
Python version               : {versions["python"]} (main, Jun  3 2025, 15:41:12) (64-bit runtime)
Python platform              : {machine.platform}

==============================
       CUDA / GPU Info
==============================
Is CUDA available            : True
CUDA runtime version         : Could not collect
GPU models and configuration : GPU 0: {machine.gpu}
Nvidia driver version        : {machine.driver}
cuDNN version                : Could not collect
HIP runtime version          : N/A

==============================
Versions of relevant libraries
==============================
{chr(10).join(rows)}
[conda] Could not collect

==============================
         vLLM Info
==============================
ROCM Version                 : Could not collect
vLLM Version                 : {versions["vllm"]}
vLLM Build Flags:
  CUDA Archs: Not Set; ROCm: Disabled; Neuron: Disabled
```
</details>"""


def unsloth_banner(draw: Random, machine: Machine, versions: dict[str, str]) -> str:
    """Return what unsloth prints as it starts, where its xformers is there."""
    if "xformers" not in versions or not machine.capability or "transformers" not in versions:
        return prose(draw, machine, versions)
    torch, cuda = f"{versions['torch']}+cu{versions['cuda'].replace('.', '')}", versions["cuda"]
    names = ("transformers", "triton", "xformers")
    transformers, triton, xformers = (versions[name] for name in names)
    made = f"CUDA: {machine.capability}. CUDA Toolkit: {cuda}. Triton: {triton}"
    return f"""==((====))==  Unsloth 2025.12.5: Fast Llama patching. Transformers: {transformers}.
   \\\\   /|    {machine.gpu}. Num GPUs = 1. Max memory: 23.5 GB. Platform: Linux.
O^O/ \\_/ \\    Torch: {torch}. {made}
\\        /    Bfloat16 = TRUE. FA [Xformers = {xformers}. FA2 = False]
 "-____-"     Free license: http://github.com/unslothai/unsloth"""


def dockerfile(draw: Random, machine: Machine, versions: dict[str, str]) -> str:
    """Return lines of a Dockerfile that installs the set."""
    if not machine.glibc or machine.platform.endswith("aarch64") or "rocm" in versions["cuda"]:
        return pip_list(draw, machine, versions)
    names = ("torch", "vllm", "transformers", "xformers", "diffusers", "accelerate")
    pins = " ".join(f"{name}=={versions[name]}" for name in names if name in versions)
    python = ".".join(versions["python"].split(".")[:2])
    return f"""FROM python:{python}-slim-bookworm
RUN pip install --no-cache-dir {pins}
COPY app /app
CMD ["python", "/app/main.py"]"""


FORMS: tuple[Callable[[Random, Machine, dict[str, str]], str], ...] = (
    collect_env, pip_list, conda_list, nvidia_smi, prose, vllm_form, unsloth_banner, dockerfile,
)  # fmt: skip
