"""What each tool prints becomes the facts that it states, and nothing more."""

from __future__ import annotations

from typing import Any

import pytest

from fadoctor.model.fact import Absent, Known, Unknown
from tests.unit.sources.pasted.reading import read_environment, read_report

COLLECT_ENV = """
Collecting environment information...
PyTorch version: 2.7.1+cu126
Is debug build: False
CUDA used to build PyTorch: 12.6
ROCM used to build PyTorch: N/A

OS: Ubuntu 22.04.5 LTS (x86_64)
GCC version: (Ubuntu 11.4.0-1ubuntu1~22.04) 11.4.0
Clang version: Could not collect
CMake version: version 3.31.6
Libc version: glibc-2.35

Python version: 3.12.9 | packaged by conda-forge | (main, Feb  6 2025, 10:00:00) [GCC 13.3.0]
Python platform: Linux-5.15.0-130-generic-x86_64-with-glibc2.35
Is CUDA available: True
CUDA runtime version: 12.4.131
CUDA_MODULE_LOADING set to: LAZY
GPU models and configuration:
GPU 0: NVIDIA A100-SXM4-80GB
GPU 1: NVIDIA A100-SXM4-80GB

Nvidia driver version: 550.90.07
cuDNN version: Could not collect
HIP runtime version: N/A

CPU:
Model name: AMD EPYC 7763 64-Core Processor

Versions of relevant libraries:
[pip3] flash-attn==2.8.0
[pip3] numpy==1.26.4
[pip3] nvidia-cudnn-cu12==9.5.1.17
[pip3] torch==2.7.1
[pip3] triton==3.3.1
[conda] Could not collect
vLLM Version: 0.9.2
vLLM Build Flags:
CUDA Archs: Not Set; ROCm: Disabled
GPU Topology:
CUDA_VISIBLE_DEVICES=0,1
VLLM_ATTENTION_BACKEND=FLASH_ATTN
"""
DASHED = """
- `transformers` version: 4.57.1
- Platform: Windows-11-10.0.26100-SP0
- Python version: 3.11.9
- Huggingface_hub version: 0.36.0
- Safetensors version: 0.6.2
- Accelerate version: 1.12.0
- Accelerate config: 	not found
- DeepSpeed version: not installed
- PyTorch version (accelerator?): 2.8.0+cu128 (CUDA)
- Using distributed or parallel set-up in script?: <fill in>
- Using GPU in script?: <fill in>
- GPU type: NVIDIA GeForce RTX 4090
"""
LLAMAFACTORY = """
- `llamafactory` version: 0.9.3
- Platform: Linux-6.8.0-59-generic-x86_64-with-glibc2.39
- Python version: 3.10.16
- PyTorch version: 2.3.0+cu121 (GPU)
- Transformers version: 4.49.0
- PEFT version: 0.15.1
- TRL version: 0.9.6
- GPU type: Tesla V100-SXM2-32GB
- GPU number: 2
- GPU memory: 31.74GB
"""
XFORMERS = """
xFormers 0.0.28.post3
memory_efficient_attention.ckF:                    unavailable
memory_efficient_attention.cutlassF-pt:            available
is_triton_available:                               True
pytorch.version:                                   2.5.1+cu124
pytorch.cuda:                                      available
gpu.compute_capability:                            8.6
gpu.name:                                          NVIDIA GeForce RTX 3060
dcgm_profiler:                                     unavailable
build.torch_version:                               2.5.1+cu124
"""
DEEPSPEED = """
--------------------------------------------------
DeepSpeed general environment info:
torch install path ............... ['/opt/venv/lib/python3.11/site-packages/torch']
torch version .................... 2.4.0+cu121
deepspeed install path ........... ['/opt/venv/lib/python3.11/site-packages/deepspeed']
deepspeed info ................... 0.15.1, unknown, unknown
torch cuda version ............... 12.1
torch hip version ................ None
nvcc version ..................... 12.4
deepspeed wheel compiled w. ...... torch 2.3, cuda 12.1
"""
UNSLOTH = r"""
==((====))==  Unsloth 2025.3.19: Fast Llama patching. Transformers: 4.50.3.
   \\   /|    Tesla T4. Num GPUs = 2. Max memory: 14.741 GB. Platform: Linux.
O^O/ \_/ \    Torch: 2.6.0+cu124. CUDA: 7.5. CUDA Toolkit: 12.4. Triton: 3.2.0
\        /    Bfloat16 = FALSE. FA [Xformers = 0.0.29.post3. FA2 = False]
 "-____-"     Free license: http://github.com/unslothai/unsloth
"""
SMI = """
Sun Nov 22 10:12:01 2026
+-----------------------------------------------------------------------------------------+
| NVIDIA-SMI 550.54.15              Driver Version: 550.54.15      CUDA Version: 12.4     |
|-----------------------------------------+------------------------+----------------------+
| GPU  Name                 Persistence-M | Bus-Id          Disp.A | Volatile Uncorr. ECC |
|=========================================+========================+======================|
|   0  NVIDIA H100 80GB HBM3          On  |   00000000:1B:00.0 Off |                    0 |
| N/A   33C    P0             71W /  700W |       1MiB /  81559MiB |      0%      Default |
|   1  NVIDIA H100 80GB HBM3          On  |   00000000:43:00.0 Off |                    0 |
+-----------------------------------------+------------------------+----------------------+
"""
CSV = """
index, name, compute_cap, driver_version, memory.total [MiB]
0, NVIDIA L4, 8.9, 535.183.01, 23034 MiB
1, NVIDIA L4, 8.9, 535.183.01, 23034 MiB
"""
QUERY = """
Driver Version                            : 580.95.05
CUDA Version                              : 13.0
Attached GPUs                             : 1
GPU 00000000:01:00.0
    Product Name                          : NVIDIA GeForce RTX 5090
    Product Brand                         : GeForce
"""
NVCC = "Cuda compilation tools, release 12.8, V12.8.93\nBuild cuda_12.8.r12.8/compiler.35583870_0\n"
PIP_LIST = """
Package            Version      Editable project location
------------------ ------------ -------------------------
flash_attn         2.7.4.post1
numpy              2.2.6
nvidia-nccl-cu12   2.26.2
torch              2.6.0
triton             3.2.0
mytool             0.1          /srv/mytool
"""
FREEZE = """
flash-attn @ https://example.org/v2.8.3/flash_attn-2.8.3%2Bcu12torch2.8cxx11abiTRUE-cp312-cp312-linux_x86_64.whl#sha256=00
torch==2.8.0+cu128
xformers==0.0.32.post2
-e git+https://example.org/mine.git@abc#egg=mine
"""
SHOW = """
Name: flash_attn
Version: 2.5.8
Summary: Flash Attention
Requires: einops, torch
---
Name: torch
Version: 2.2.2+cu118
"""
CONDA = """
# packages in environment at /opt/conda/envs/train:
#
# Name                    Version                   Build  Channel
_libgcc_mutex             0.1                 conda_forge    conda-forge
numpy                     1.26.4          py311h64a7726_0    conda-forge
pytorch                   2.4.1           cuda124_py311h6b5f1fd_300    conda-forge
flash-attn                2.6.3                    pypi_0    pypi
"""


def said(text: str, prefix: str = "") -> dict[str, Any]:
    """Return what is Known, and None for what is Absent, without what a whole list rules out."""
    facts = read_report(text.encode(), "paste").facts
    return {
        name: fact.value if isinstance(fact, Known) else None
        for name, fact in facts.items()
        if not isinstance(fact, Unknown)
        and name.startswith(prefix)
        and not (isinstance(fact, Absent) and "it is not in the list" in fact.source)
    }


@pytest.mark.parametrize(
    ("text", "facts"),
    [
        (
            COLLECT_ENV,
            {
                "torch.version": "2.7.1", "torch.cuda": "12.6", "torch.build": "pypi",
                "host.platform": "linux_x86_64", "host.glibc": "2.35", "host.wsl": False,
                "python.version": "3.12.9", "python.abi_tag": "cp312",
                "toolkit.nvcc.version": "12.4", "toolkit.gcc.version": "11.4.0",
                "driver.version": "550.90.07", "gpu.count": 2,
                "gpu[1].name": "NVIDIA A100-SXM4-80GB", "gpu[1].vendor": "nvidia",
                "flash_attn.version": "2.8.0", "triton.version": "3.3.1", "vllm.version": "0.9.2",
                "env.CUDA_VISIBLE_DEVICES": "0,1", "env.VLLM_ATTENTION_BACKEND": "FLASH_ATTN",
            },
        ),
        (
            DASHED,
            {
                "transformers.version": "4.57.1", "accelerate.version": "1.12.0",
                "host.os": "windows", "host.platform": "win_amd64", "python.version": "3.11.9",
                "torch.version": "2.8.0+cu128", "torch.cuda": "12.8",
                "gpu[0].name": "NVIDIA GeForce RTX 4090", "gpu[0].visible": True,
            },
        ),
        (
            LLAMAFACTORY,
            {
                "llamafactory.version": "0.9.3", "peft.version": "0.15.1", "trl.version": "0.9.6",
                "gpu.count": 2, "gpu[1].name": "Tesla V100-SXM2-32GB", "torch.cuda": "12.1",
            },
        ),
        (
            XFORMERS,
            {
                "xformers.version": "0.0.28.post3", "torch.cuda": "12.4",
                "gpu[0].compute_capability": "8.6", "gpu[0].name": "NVIDIA GeForce RTX 3060",
            },
        ),
        (
            DEEPSPEED,
            {
                "deepspeed.version": "0.15.1", "torch.version": "2.4.0+cu121",
                "torch.cuda": "12.1", "toolkit.nvcc.version": "12.4",
            },
        ),
        (
            UNSLOTH,
            {
                "unsloth.version": "2025.3.19", "transformers.version": "4.50.3",
                "gpu.count": 2, "gpu[0].name": "Tesla T4", "gpu[0].compute_capability": "7.5",
                "torch.version": "2.6.0+cu124", "torch.cuda": "12.4", "triton.version": "3.2.0",
                "xformers.version": "0.0.29.post3", "host.os": "linux",
            },
        ),
        (SMI, {"driver.version": "550.54.15", "driver.cuda": "12.4", "gpu.count": 2,
               "gpu[1].name": "NVIDIA H100 80GB HBM3"}),
        (CSV, {"driver.version": "535.183.01", "gpu.count": 2, "gpu[1].name": "NVIDIA L4",
               "gpu[1].compute_capability": "8.9"}),
        (QUERY, {"driver.version": "580.95.05", "driver.cuda": "13.0",
                 "gpu[0].name": "NVIDIA GeForce RTX 5090"}),
        (NVCC, {"toolkit.nvcc.version": "12.8"}),
        (PIP_LIST, {"flash_attn.version": "2.7.4.post1", "torch.version": "2.6.0",
                    "packages.nvidia": {"nvidia-nccl-cu12": "2.26.2"}}),
        (FREEZE, {"flash_attn.version": "2.8.3+cu12torch2.8cxx11abiTRUE", "torch.build": "cu128",
                  "flash_attn.wheel.torch": "2.8", "flash_attn.wheel.cxx11_abi": True,
                  "xformers.version": "0.0.32.post2"}),
        (SHOW, {"flash_attn.version": "2.5.8", "torch.build": "cu118", "torch.cuda": "11.8"}),
        (CONDA, {"torch.version": "2.4.1", "flash_attn.version": "2.6.3"}),
    ],
    ids=["collect_env", "transformers", "llamafactory", "xformers", "deepspeed", "unsloth", "smi",
         "csv", "query", "nvcc", "pip list", "freeze", "show", "conda"],
)  # fmt: skip
def test_what_a_tool_prints(text: str, facts: dict[str, Any]) -> None:
    found = said(text)
    assert {name: found.get(name, "not said") for name in facts} == facts


def test_what_is_not_said_is_unknown(tmp_path: object) -> None:
    facts = read_report(COLLECT_ENV.encode(), "paste").facts
    for name in ("xformers.version", "flash_attn.loads", "env.MAX_JOBS", "host.container"):
        assert isinstance(facts[name], Unknown), name
    # "Could not collect" of cuDNN, and of Clang, is no statement either.
    assert not any("cudnn" in name for name in said(COLLECT_ENV))


def test_a_whole_list_rules_out_what_it_lacks_and_a_cut_one_does_not() -> None:
    whole = read_report(PIP_LIST.encode(), "paste").facts
    assert isinstance(whole["xformers.version"], Absent)
    assert isinstance(whole["packages.installed"], Known)
    cut = read_report(PIP_LIST.replace("numpy ", "...\nnumpy ").encode(), "paste").facts
    assert isinstance(cut["xformers.version"], Unknown)
    assert isinstance(cut["flash_attn.version"], Known)
    assert isinstance(read_report(FREEZE.encode(), "p").facts["triton.version"], Unknown)


def test_two_reports_that_contradict_each_other() -> None:
    both = DASHED + SHOW + "Name: transformers\nVersion: 4.40.0\n"
    facts = read_report(both.encode(), "paste").facts
    version = facts["transformers.version"]
    assert isinstance(version, Unknown)
    assert "4.57.1" in version.reason
    assert "4.40.0" in version.reason


def test_several_reports_in_the_noise_of_a_tracker() -> None:
    """Quoted, in folded HTML, in fences, with colours and carriage returns."""
    body = f"<details><summary>env</summary>\n\n```text\n{SMI}```\n</details>\n{PIP_LIST}\nThanks!"
    noisy = "\r\n".join(f"> \x1b[32m{line}\x1b[0m" for line in body.splitlines())
    found = said(noisy)
    assert (found["gpu.count"], found["driver.version"]) == (2, "550.54.15")
    assert found["flash_attn.version"] == "2.7.4.post1"


def test_gpus_that_the_report_does_not_show_as_visible() -> None:
    assert said(COLLECT_ENV)["gpu.count"] == 2
    assert "gpu[0].visible" not in said(COLLECT_ENV)  # CUDA_VISIBLE_DEVICES is set
    assert "gpu[0].visible" not in said(
        COLLECT_ENV.replace("Is CUDA available: True", "Is CUDA available: False").replace(
            "CUDA_VISIBLE_DEVICES=0,1", ""
        )
    )
    assert read_report(SMI.encode(), "paste").assumes_visible
    environment = read_environment(SMI.encode())
    assert "all GPUs that the report names are visible" in environment.overlays


def test_a_cpu_build_and_a_rocm_build() -> None:
    cpu = COLLECT_ENV.replace("2.7.1+cu126", "2.7.1+cpu").replace(
        "torch==2.7.1", "torch==2.7.1+cpu"
    )
    cpu = cpu.replace("to build PyTorch: 12.6", "to build PyTorch: Could not collect")
    assert (said(cpu)["torch.build"], said(cpu)["torch.cuda"]) == ("cpu", None)
    rocm = (
        "PyTorch version: 2.6.0+rocm6.2.4\nROCM used to build PyTorch: 6.2.41134-65d174c3e\n"
        "GPU models and configuration: GPU 0: AMD Instinct MI300X (gfx942:sramecc+:xnack-)\n"
    )
    found = said(rocm)
    assert (found["torch.build"], found["gpu[0].gfx"]) == ("rocm", "gfx942")
    assert found["gpu[0].vendor"] == "amd"
