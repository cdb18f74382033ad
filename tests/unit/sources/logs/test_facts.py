"""The facts that stand in a log: of tools' reports in it, and of single lines."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING, Any

import pytest

from fadoctor.judging.explain.explain import read_log
from fadoctor.model.fact import Known, Unknown
from fadoctor.sources.logs.mentions import FEW

if TYPE_CHECKING:
    from collections.abc import Iterable

    from fadoctor.model.environment import Environment
    from fadoctor.model.rule import Knowledge


def facts(knowledge: Knowledge, log: str) -> Environment:
    return read_log(io.BytesIO(log.encode()), "a.log", knowledge).facts().environment


LINES = [
    ("How do I get flash-attn to run with Python 3.11 and torch 2.6.0?",
     {"torch.version": "2.6.0", "python.version": "3.11"}),
    ("I have torch 2.7.1+cu118 and ran pip install xformers.", {"torch.version": "2.7.1+cu118"}),
    ("Name: flash_attn Version: 2.8.3", {"flash_attn.version": "2.8.3"}),
    ("torch+cuda 2.6.0", {"torch.version": "2.6.0"}),
    ("PyTorch 2.3.0+cu121 with CUDA 1201 (you have 2.3.1+cpu)",
     {"torch.version": "2.3.1+cpu", "torch.build": "cpu"}),
    ("Disabling PyTorch because PyTorch >= 2.4 is required but found 2.1.2+cu118",
     {"torch.version": "2.1.2+cu118"}),
    ("docker run vllm/vllm-openai:v0.8.5.post1 --model m", {"vllm.version": "0.8.5.post1"}),
    ("FROM lmsysorg/sglang:v0.5.3-cu126", {"sglang.version": "0.5.3"}),
    ("docker run vllm/vllm-openai:latest --model m", {"vllm.version": None}),
    ("upgrade to vllm/vllm-openai:v0.11.0", {"vllm.version": None}),
    ("The base is lanternai/base:main-py3.11-cu124-2.6.0",
     {"torch.version": "2.6.0+cu124", "python.version": "3.11"}),
    ("python3.10 + torch2.4.1 + cuda12.1", {"torch.version": "2.4.1", "python.version": "3.10"}),
    ("PyTorch-2.4.1 on Python-3.10", {"torch.version": "2.4.1", "python.version": "3.10"}),
    ("ubuntu 22.04, py3.10", {"python.version": "3.10"}),
    ("Using CPython 3.11.13", {"python.version": "3.11.13"}),
    ("Uninstalling torch-2.4.1:", {"torch.version": None}),
    ("cd /src/flash-attention-2.8.3 beside pypy3.10",
     {"flash_attn.version": None, "python.version": None}),
    ("  Python  3.11.9 (you have 3.11.2)", {"python.version": "3.11.2"}),
    ("ImportError: /v/flash_attn_2_cuda.cpython-312-aarch64-linux-gnu.so: undefined symbol: x",
     {"python.tag": "cp312", "host.platform": "linux_aarch64", "host.os": "linux"}),
    (r"E:\v\Lib\site-packages\flash_attn_2_cuda.cp311-win_amd64.pyd",
     {"python.tag": "cp311", "host.platform": "win_amd64", "host.os": "windows"}),
    ('  File "/opt/v/lib/python3.13t/site-packages/torch/x.py", line 1, in f',
     {"python.tag": "cp313", "python.abi_tag": "cp313t"}),
    (r'  File "C:\Users\me\AppData\Local\Programs\Python\Python310\lib\runpy.py", line 9, in run',
     {"python.version": "3.10", "python.tag": "cp310"}),
    (r"C:\Python312\Lib\site-packages\torch\cuda\x.py:118: UserWarning: no kernel",
     {"python.version": "3.12"}),
    (r"I added C:\Users\me\AppData\Local\Programs\Python\Python310\Scripts to PATH",
     {"python.version": None}),
    (r"E:\v\Lib\site-packages\torch-2.8.0+cu129.dist-info",
     {"torch.version": "2.8.0+cu129", "host.os": "windows"}),
    ("降级到 torch 2.4.0 之后还是一样的报错", {"torch.version": "2.4.0"}),
    ("需要降级到 torch 2.4.0 吗", {"torch.version": None}),
    ("Since I updated to torch 2.9.1 nothing loads", {"torch.version": "2.9.1"}),
    ("the 525.105.17 driver is here", {"driver.version": "525.105.17"}),
    ("nvidia drivers 470.199.02", {"driver.version": "470.199.02"}),
    ("NVIDIA 545.23.08, headless", {"driver.version": "545.23.08"}),
    ("nvidia-smi shows CUDA 12.2", {"driver.cuda": "12.2"}),
    ("`nvidia-smi`: CUDA Version: 11.4", {"driver.cuda": "11.4"}),
    ("nvidia-smi says 12.4 GB are used", {"driver.cuda": None}),
    ("CUDA Version 12.4 in nvidia-smi", {"driver.cuda": "12.4"}),
    ("gcc (Ubuntu 13.3.0-6ubuntu2~24.04) 13.3.0", {"toolkit.gcc.version": "13.3.0"}),
    ("Python 3.11.4 (main) [GCC 11.4.0] on linux", {"toolkit.gcc.version": None}),
    ("it needs gcc 12.3.0 or newer", {"toolkit.gcc.version": None}),
    ("torch.version.cuda 11.8", {"torch.cuda": "11.8"}),
    ("Windows Subsystem for Linux, torch 2.6", {"host.os": "linux"}),
    ("vllm 0.6.3.post1, H20 * 8", {"gpu.count": 8}),
    ("GRID T4-8Q", {"gpu[0].name": "T4"}),
    ("nvcc -V: 11.8", {"toolkit.nvcc.version": "11.8"}),
    ("nvcc --version gives 12.4", {"toolkit.nvcc.version": "12.4"}),
    ("nvcc shows V12.3.107", {"toolkit.nvcc.version": "12.3"}),
    ("torch2.6 on Ubuntu", {"torch.version": "2.6"}),
    ("PyTorch2.7.0+cu126, Python", {"torch.version": "2.7.0+cu126"}),
    ("PyTorch-Version 2.6.0", {"torch.version": "2.6.0"}),
    ("2.8.0+cu129 torch", {"torch.version": "2.8.0+cu129"}),
    ("torch2.6.0-cp311.whl lies there", {"torch.version": None}),
    ("FlashAttention 2.6.3 fails", {"flash_attn.version": "2.6.3"}),
    ("flash attention v2.5.9.post1 fails", {"flash_attn.version": "2.5.9.post1"}),
    ("Flash Attention 2.0 only supports half", {"flash_attn.version": None}),
    ("INFO [api_server.py:1805] vLLM API server version 0.10.1", {"vllm.version": "0.10.1"}),
    ("Initializing a V1 LLM engine (v0.11.0) with config:", {"vllm.version": "0.11.0"}),
    ("[Rank -1] DeepSpeed info: version=0.14.2, git-hash=unknown",
     {"deepspeed.version": "0.14.2"}),
    ("bnb 0.43.1 on Linux", {"bitsandbytes.version": "0.43.1"}),
    ("ldd (GNU libc) 2.17", {"host.glibc": "2.17"}),
    ("I went back to transformers 4.46.3 and it works", {"transformers.version": None}),
    ("Nach dem Update auf torch 2.9.1 stürzt es ab", {"torch.version": "2.9.1"}),
    ("torch 2.9.1 に更新したら動きません", {"torch.version": "2.9.1"}),
    ("1. pip install torch==2.3.0\n2. pip install flash-attn==2.5.8\nThen it stops.",
     {"torch.version": "2.3.0", "flash_attn.version": "2.5.8"}),
    ("1. pip install torch==2.3.0\n2. pip install flash-attn==2.5.8\nNo matching distribution",
     {"torch.version": None}),
    ("1. pip install torch==2.3.0\n2. pip install flash-attn==2.5.8\ntorch.__version__ = 2.9.0",
     {"torch.version": "2.9.0"}),
    ("I upgraded pytorch to 2.5.1, xformers stayed at 0.0.26.post1.",
     {"torch.version": "2.5.1", "xformers.version": "0.0.26.post1"}),
    ("torch 2.6.0+cu124, python 3.11: pip install flash-attn==2.7.4.post1 stops",
     {"torch.version": "2.6.0+cu124", "python.version": "3.11", "flash_attn.version": None}),
    ("pip install flash-attn==2.8.3 --no-build-isolation on torch 2.7.1 (Python 3.12)",
     {"torch.version": "2.7.1", "python.version": "3.12", "flash_attn.version": None}),
    ("uv pip install torch==2.6.0 flash-attn==2.7.4.post1", {"torch.version": None}),
    ("pip install flash-attn fails on Windows 11, python 3.12 torch 2.7.1+cu128",
     {"torch.version": "2.7.1+cu128", "python.version": "3.12"}),
    ("Windows 11, Python 3.10.11, and pip install torch says:", {"python.version": "3.10.11"}),
    ("Windows 11, Python 3.10.11, then pip install torch", {"python.version": None}),
    ("FROM a/axolotl-base:main-base-py3.11-cu124-2.6.0", {"python.version": "3.11"}),
    (r"D:\webui_forge_cu121_torch231\system\python\lib\site-packages\torch\x.py",
     {"torch.version": "2.3.1+cu121", "torch.build": "cu121"}),
    (r"framepack_cu126_torch26: ModuleNotFoundError", {"torch.version": "2.6.0+cu126"}),
    (r"D:\webui_forge_cu121_torch231: Torch not compiled with CUDA enabled",
     {"torch.version": "2.3.1", "torch.build": None}),
    (r"E:\my_cu121_torch231\x, pytorch version: 2.7.1+cu128", {"torch.version": "2.7.1+cu128"}),
    ("a_cu121_torch2310 and cu121_torch23", {"torch.version": None}),
    ("Which flash-attn version do I need for torch 2.7 and python 3.12?",
     {"torch.version": "2.7", "python.version": "3.12"}),
    ("torch 2.6, python 3.10: which release of xformers should I install?",
     {"torch.version": "2.6", "python.version": "3.10"}),
    ("xformers 0.0.27 requires torch 2.4.0, which release should I take?",
     {"torch.version": None, "xformers.version": None}),
    ("For torch 2.5.1 run pip install xformers==0.0.28.post3", {"torch.version": None}),
    ("You should use torch 2.5.1, then pip install xformers==0.0.29", {"torch.version": None}),
    ("PyTorch version (torch.__version__): 2.5.1+cu121", {"torch.version": "2.5.1+cu121"}),
    ("CUDA version (torch.version.cuda): 12.4", {"torch.cuda": "12.4"}),
    ("I want to be upgraded pytorch to 2.5.1", {"torch.version": None}),
    ("It said upgrade, so I did, and now nvidia-smi shows Driver Version: 495.46",
     {"driver.version": "495.46"}),
    ("It said upgrade, and now I need Driver Version: 495.46", {"driver.version": None}),
    ("pip says requirement already satisfied: torch 2.6.0+cpu",
     {"torch.version": "2.6.0+cpu", "torch.build": "cpu"}),
    ("it is my RTX 5090", {"gpu[0].name": "RTX 5090", "gpu[0].compute_capability": "12.0"}),
    ("on 8x A100 80GB", {"gpu[0].compute_capability": "8.0", "gpu[0].visible": True}),
    ("a Tesla T4 in the cloud", {"gpu[0].compute_capability": "7.5"}),
    ("The T4 page of the book", {"gpu[0].name": None}),
    ("Your Tesla P40 GPU has compute capability 6.1.", {"gpu[0].compute_capability": "6.1"}),
    ("[TRT-LLM] [I] Compute capability: (7, 5)", {"gpu[0].compute_capability": "7.5"}),
    ("  Device 0: NVIDIA Foo 9, compute capability 12.0, VMM: yes",
     {"gpu[0].compute_capability": "12.0", "gpu[0].vendor": "nvidia"}),
    ("  Device 0: AMD Radeon Foo, compute capability 11.0, VMM: no",
     {"gpu[0].compute_capability": None}),
    ('msg="skipping CUDA device" device="NVIDIA Foo" cc=610 archs="[750 800]"',
     {"gpu[0].compute_capability": "6.1"}),
    ('msg="skipping CUDA device" device="NVIDIA Foo" cc=1210 archs="[750 800]"',
     {"gpu[0].compute_capability": "12.1"}),
    ('msg="inference compute" id=0 library=CUDA compute=8.6 name=CUDA0 driver=12.2 type=discrete',
     {"gpu[0].compute_capability": "8.6", "driver.cuda": "12.2"}),
    ("NVIDIA Foo with CUDA capability sm_120 is not compatible with the current PyTorch",
     {"gpu[0].compute_capability": "12.0"}),
    ("The NVIDIA driver on your system is too old (found version 12040).",
     {"driver.cuda": "12.4"}),
    ("detected CUDA version (11.8) mismatches the version that was used to compile PyTorch (12.4)",
     {"torch.cuda": "12.4", "torch.version": None}),
    ("('The detected CUDA version (%s) ... compilePyTorch (%s). Please', '12.6', '13.0')",
     {"torch.cuda": "13.0", "torch.version": None}),
    ("my torch is 2.5.1, the newest", {"torch.version": "2.5.1"}),
    ("make sure that torch is 2.5.1", {"torch.version": None}),
    ("torch版本2.4.0", {"torch.version": "2.4.0"}),
    ('The page shows "2.1.2+cpu half" and no GPU',
     {"torch.version": "2.1.2+cpu", "torch.build": "cpu"}),
    ('version = "2.1.2+cpu"', {"torch.version": None}),
    ("Installed CUDA version 10.1 does not match the version torch was compiled with 11.7, unable",
     {"torch.cuda": "11.7", "torch.version": None}),
    ("Successfully installed einops-0.8.1 flash-attn-2.7.3 torch-2.6.0",
     {"flash_attn.version": "2.7.3", "torch.version": "2.6.0"}),
    ("Requirement already satisfied: torch in /v/lib/python3.11/site-packages (2.5.1+cu124)",
     {"torch.version": "2.5.1+cu124", "torch.cuda": "12.4"}),
    ("I have torch 2.6.0.", {"torch.version": "2.6.0"}),
    ("with torch 2.5.1+rocm6.2. It fails", {"torch.build": "rocm"}),
    ("fails on my RX 6600.", {"gpu[0].gfx": "gfx1032"}),
    ("AMD Rx 6600", {"gpu[0].gfx": "gfx1032"}),
    ("on an rx 6700 xt", {"gpu[0].gfx": "gfx1031"}),
    ("7900xtx, the newest driver", {"gpu[0].gfx": "gfx1100", "gpu[0].vendor": "amd"}),
    ("It is a 9070 XT", {"gpu[0].gfx": "gfx1201"}),
    ("step 6700 of 7900", {"gpu[0].gfx": None}),
    ("GPU: AMD Radeon 780M Graphics", {"gpu[0].gfx": "gfx1103", "gpu[0].vendor": "amd"}),
    ("on a Strix Halo with 128 GB", {"gpu[0].gfx": "gfx1151"}),
    ("a laptop with Radeon 780M and more", {"gpu[0].gfx": "gfx1103"}),
    ("a laptop with Radeon 780M and an RTX 4060", {"gpu[0].name": "RTX 4060"}),
    ("a laptop with Radeon 780M, torch 2.6.0+cu124", {"gpu[0].gfx": None}),
    ("Ryzen 7 7840HS w/ Radeon 780M Graphics, RX 7700S", {"gpu[0].gfx": "gfx1102"}),
    ("AMD RYZEN AI MAX+ PRO 395", {"gpu[0].gfx": "gfx1151"}),
    ("a Ryzen 7 7840HS, torch 2.5.1+rocm6.2", {"gpu[0].gfx": "gfx1103", "gpu[0].vendor": "amd"}),
    ("Ryzen AI 9 HX 370 with ROCm 7", {"gpu[0].gfx": "gfx1150"}),
    ("a Ryzen 7 7840HS laptop, torch 2.6.0+cu124", {"gpu[0].gfx": None}),
    ("Ryzen 7 6800H, no ROCm, RTX 3060", {"gpu[0].name": "RTX 3060"}),
    ("Ryzen 7 7840HS laptop, CUDA error", {"gpu[0].vendor": None}),
    ("the AMD 395 AI MAX+ box", {"gpu[0].gfx": "gfx1151"}),
    ("AMD Radeon PRO W7900 Dual Slot", {"gpu[0].gfx": "gfx1100"}),
    ("four Radeon Pro V620", {"gpu[0].gfx": "gfx1030"}),
    ("my old rx580", {"gpu[0].gfx": "gfx803"}),
    ("RX 7800 XT: no code for ISA: amdgcn-amd-amdhsa--gfx1100", {"gpu[0].gfx": "gfx1101"}),
    ("GPU: no code for ISA: amdgcn-amd-amdhsa--gfx1031", {"gpu[0].gfx": "gfx1031"}),
    ("RX 6400, pip3 install torch --index-url https://a.b/whl/rocm6.4", {"gpu[0].gfx": "gfx1034"}),
    ("pip install torch for RX 6400", {"gpu[0].gfx": None}),
    ("GPU: GeForce 820M", {"gpu[0].gfx": None}),
    ("a notebook with an MX130", {"gpu[0].compute_capability": "5.0"}),
    ("the GT 1030 of my desktop", {"gpu[0].compute_capability": "6.1"}),
    ("it has a GeForce 940MX", {"gpu[0].name": "GeForce 940MX"}),
    ("mx350 crashes", {"gpu[0].compute_capability": "6.1"}),
    ("a car, Ford GT 500", {"gpu[0].name": None}),
    ('pip install "torch[device-gfx1100]"', {"gpu[0].gfx": None}),
    ("an AMD APU (gfx1150, Radeon 890M) ran it", {"gpu[0].gfx": "gfx1150", "gpu[0].vendor": "amd"}),
    ("--offload-arch=gfx1100 (hipcc)", {"gpu[0].gfx": None}),
    ("2x T4s and GPU driver 525.105, no root",
     {"gpu[1].compute_capability": "7.5", "driver.version": "525.105"}),
    ("显卡驱动版本是535.104", {"driver.version": "535.104"}),
    ("NVRM version: NVIDIA UNIX x86_64 Kernel Module  550.54.14  Thu Feb 22 01:44:30 UTC 2024",
     {"driver.version": "550.54.14"}),
    ("nvcc ist 11.8, torch ist mit CUDA 12.1 gebaut",
     {"toolkit.nvcc.version": "11.8", "torch.cuda": "12.1"}),
    ("nvcc is 12.4, and torch 2.4 with cuda 12.1 does not like it",
     {"toolkit.nvcc.version": "12.4", "torch.cuda": "12.1", "torch.version": "2.4"}),
    ("CUDA: 7.5. CUDA Toolkit: 12.4. Triton: 3.2.0", {"toolkit.nvcc.version": None}),
    ("it needs driver 550.54 or newer", {"driver.version": None}),
]  # fmt: skip

CARDS = [
    ("my 3090 fails", "8.6"), ("4070 Ti Super, 16 GB", "8.9"), ("on a T4.", "7.5"),
    ("3060显卡", "8.6"), ("an old 1080 Ti", "6.1"), ("2x3090", "8.6"), ("5060ti 16gb", "12.0"),
    ("GPU: NVIDIA 3060 6GB Laptop GPU", "8.6"), ("5090 on Windows 10", "12.0"),
    ("the card is 2070 and old", "7.5"), ("a 3090, 24 GB, w/ RTX", "8.6"), ("w/RTX 5090", "12.0"),
    ("step 3090 of 5070", None), ("a 1080p video", None), ("at 1080 x 1920", None),
    ("port 5050, my 4070.5 tokens", None),
]  # fmt: skip


def values(environment: Environment, names: Iterable[str]) -> dict[str, Any]:
    found = {name: environment.fact(name) for name in names}
    return {n: fact.value if isinstance(fact, Known) else None for n, fact in found.items()}


@pytest.mark.parametrize(("line", "said"), LINES)
def test_what_a_line_says(knowledge: Knowledge, line: str, said: dict[str, Any]) -> None:
    assert values(facts(knowledge, line), said) == said


@pytest.mark.parametrize(("line", "capability"), CARDS)
def test_a_card_without_its_series_is_one_where_something_says_so(
    knowledge: Knowledge, line: str, capability: str | None
) -> None:
    said = {"gpu[0].compute_capability": capability}
    assert values(facts(knowledge, line), said) == said


def test_a_version_of_cuda_that_a_line_break_parts_from_its_sentence_is_none_of_torch(
    knowledge: Knowledge,
) -> None:
    log = "(11.8) differs from that of\nPyTorch (12.4). Please make sure to use the same versions."
    said = {"torch.cuda": "12.4", "torch.version": None}
    assert values(facts(knowledge, log), said) == said


@pytest.mark.sampled
@pytest.mark.parametrize(("line", "said"), LINES)
def test_a_long_log_says_the_same(knowledge: Knowledge, line: str, said: dict[str, Any]) -> None:
    """Of so many lines only those are read that hold certain words."""
    step = "2026-11-21 10:00:01 step 3 of 10, loss 0.25, transformers model, torch batch 8\n"
    log = f"{step * FEW}{line}\n{step * FEW}"
    assert values(facts(knowledge, log), said) == said


@pytest.mark.parametrize(
    "line",
    [
        "Should I take torch 2.6.0?",
        "Does flash-attn run on torch 2.6.0?",
        "torch 2.6.0?",
        "you should upgrade to torch 2.8.0",
        "pip install flash-attn==2.7.3",
        "FlashAttention-2 is for Ampere (e.g., A100, RTX 3090) or newer",
        "xformers 0.0.30 requires torch 2.7.0",
        "it works with torch 2.5.1 on an RTX 4090",
        "torch 2.6.0 here, torch 2.7.0 there",
        "Flash Attention 2.0 is turned on, and the current dtype is torch.float32",
        "an RTX 4090 and an H100",
    ],
)
def test_what_is_wanted_or_said_twice_is_not_known(knowledge: Knowledge, line: str) -> None:
    environment = facts(knowledge, line)
    names = ("torch.version", "flash_attn.version", "gpu[0].name", "gpu[0].compute_capability")
    assert all(isinstance(environment.fact(name), Unknown) for name in names)


def test_the_report_of_a_tool_outranks_what_lines_mention(knowledge: Knowledge) -> None:
    log = """My old box had a Tesla T4 and torch 2.1.0.
- PyTorch version: 2.7.1+cu126 (GPU)
- GPU type: NVIDIA L4
"""
    environment = facts(knowledge, log)
    assert environment.fact("torch.version") == Known(
        "2.7.1+cu126", "a.log:2: a report of transformers, accelerate or LLaMA-Factory"
    )
    assert str(environment.fact("gpu[0].compute_capability")).count("8.9")


def test_a_whole_report_within_an_issue_is_read(knowledge: Knowledge) -> None:
    log = """> <details><summary>env</summary>
> PyTorch version: 2.5.1+cu124
> Is debug build: False
> Python platform: Linux-6.1.0-x86_64-with-glibc2.31
> GPU 0: Tesla V100-SXM2-32GB
> [pip3] flash-attn==2.6.3
> [pip3] torch==2.5.1
> </details>
RuntimeError: FlashAttention only supports Ampere GPUs or newer.
"""
    environment = facts(knowledge, log)
    assert isinstance(environment.fact("host.glibc"), Known)
    assert isinstance(environment.fact("flash_attn.version"), Known)
    assert environment.fact("torch.build") == Known("pypi", "a.log:2: torch.utils.collect_env")


@pytest.mark.parametrize(
    ("torch", "abi"),
    [
        ("2.5.1+cu124", False),  # torch's own files have a label
        ("2.8.0+cu128", True),
        ("2.8.0", True),  # all builds of it have the new ABI
        ("2.5.1", None),  # conda's may have another
        ("2.6.0", None),  # cu126 has another ABI than the others
    ],
)
def test_the_abi_follows_from_the_build(
    knowledge: Knowledge, torch: str, *, abi: bool | None
) -> None:
    fact = facts(knowledge, f"torch {torch}\nImportError: undefined symbol\n").fact(
        "torch.cxx11_abi"
    )
    assert (fact.value if isinstance(fact, Known) else None) is abi


def test_a_build_for_cuda_is_no_mistake_under_zluda(knowledge: Knowledge) -> None:
    log = "torch 2.3.1+cu118 detected GPU: AMD Radeon RX 6800 [ZLUDA]\n"
    environment = facts(knowledge, log)
    assert isinstance(environment.fact("torch.cuda"), Unknown)
    vendor = environment.fact("gpu[0].vendor")
    assert isinstance(vendor, Known)
    assert vendor.value == "amd"
