"""Logs of 1,000 lines as programs write them, of five kinds, the same ones each time."""

# ruff: noqa: E501, ISC004 -- the lines of a log are as long as programs make them

from __future__ import annotations

import random
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

SEED = 7
LINES = 1_000

_SITE = "/usr/local/lib/python3.12/dist-packages"
_SOURCES = "/tmp/pip-install-x2/flash-attn_77/csrc"
_PACKAGES = (
    "numpy",
    "regex",
    "tokenizers",
    "safetensors",
    "triton",
    "accelerate",
    "peft",
    "einops",
)


def kinds() -> dict[str, str]:
    """Return the text of each kind of log."""
    source = random.Random(SEED)  # noqa: S311 -- a bench, no secret
    made: dict[str, tuple[Callable[[random.Random, int], str], tuple[str, ...]]] = {
        "build by ninja": (_build, _BUILD_ENDS),
        "server of vLLM": (_server, _SERVER_ENDS),
        "training with bars": (_training, _TRAINING_ENDS),
        "output of pip": (_installing, _INSTALLING_ENDS),
        "ComfyUI on Windows": (_pictures, _PICTURES_ENDS),
    }
    return {
        name: "\n".join((*(line(source, n) for n in range(LINES - len(ends))), *ends))
        for name, (line, ends) in made.items()
    }


def _build(source: random.Random, number: int) -> str:
    name = f"flash_fwd_hdim{source.choice((32, 64, 128, 256))}_bf16_sm80"
    return (
        f"[{number // 4}/170] /usr/local/cuda/bin/nvcc --generate-dependencies-with-compile "
        f"-I{_SOURCES}/flash_attn -I{_SOURCES}/cutlass/include -I{_SITE}/torch/include "
        f"-c {_SOURCES}/flash_attn/src/{name}.cu -o /tmp/b/{name}.o -O3 -std=c++17 "
        "-gencode arch=compute_80,code=sm_80 -DTORCH_EXTENSION_NAME=flash_attn_2_cuda",
        f"ptxas info    : Compiling entry function '_ZN5flash{name}kernelILi{number}EEEv' for 'sm_80'",
        f"ptxas info    : Used {source.randrange(80, 255)} registers, 400 bytes cmem[0]",
        f"{_SOURCES}/flash_fwd_kernel.h({number}): warning #177-D: variable was never referenced",
    )[number % 4]


_BUILD_ENDS = (
    "FAILED: /tmp/b/flash_bwd_hdim256_bf16_sm80.o",
    "Killed",
    "ninja: build stopped: subcommand failed.",
    "RuntimeError: Error compiling objects for extension",
    "ERROR: Failed building wheel for flash-attn",
)


def _server(source: random.Random, number: int) -> str:
    stamp = f"11-29 10:{number // 60 % 60:02}:{number % 60:02}"
    return (
        f"(EngineCore_DP0 pid=4711) INFO {stamp} [loggers.py:123] Engine 000: Avg prompt throughput: "
        f"{source.random() * 900:.1f} tokens/s, Running: {source.randrange(40)} reqs",
        f'(APIServer pid=4242) INFO:     10.0.0.{source.randrange(255)}:51234 - "POST /v1/chat '
        'HTTP/1.1" 200 OK',
        f"(Worker_TP{number % 4} pid=4800) INFO {stamp} [gpu_worker.py:298] Available KV cache memory: "
        f"{source.random() * 60:.2f} GiB",
        f"(Worker_TP{number % 4} pid=4800) WARNING {stamp} [fused_moe.py:886] Using default MoE config. "
        f"Config file not found at ['{_SITE}/vllm/configs/E=128,device_name=NVIDIA_H100.json']",
    )[number % 4]


_SERVER_ENDS = (
    "(EngineCore_DP0 pid=4711) Traceback (most recent call last):",
    f'(EngineCore_DP0 pid=4711)   File "{_SITE}/vllm/v1/engine/core.py", line 699, in run',
    "(EngineCore_DP0 pid=4711) RuntimeError: CUDA error: no kernel image is available for execution "
    "on the device",
)


def _training(source: random.Random, number: int) -> str:
    bars = (
        f" {at % 100}%|{'#' * (at % 20):20}| {at}/1875 [00:12<30:11, 1.2s/it]" for at in range(5)
    )
    return (
        "\r".join(bars),
        f"{{'loss': {source.random():.4f}, 'grad_norm': {source.random():.6f}, 'epoch': 0.1}}",
        f"[rank{number % 8}]:W1129 10:00:11.1234 123 torch/_dynamo/convert_frame.py:906] limit hit",
        f"2026-11-29 10:00:12 - INFO - step={number} lr={source.random():.2e} mem_alloc=71.2GB",
    )[number % 4]


_TRAINING_ENDS = (
    "[rank3]: Traceback (most recent call last):",
    '[rank3]:   File "/srv/train.py", line 180, in main',
    "[rank3]: RuntimeError: FlashAttention only support fp16 and bf16 data type",
)


def _installing(source: random.Random, number: int) -> str:
    name, version = source.choice(_PACKAGES), f"{number % 9}.{source.randrange(30)}.{number % 7}"
    return (
        f"Collecting {name}>={version} (from transformers==4.49.0->-r requirements.txt (line 4))",
        f"  Downloading {name}-{version}-cp311-cp311-manylinux_2_17_x86_64.whl.metadata (9.1 kB)",
        f"Requirement already satisfied: {name} in {_SITE} (from accelerate>=1.2) ({version})",
        f"     {chr(0x2501) * 40} {number}.1/{number}.1 MB 30.2 MB/s eta 0:00:00",
    )[number % 4]


_INSTALLING_ENDS = (
    "ERROR: pip's dependency resolver does not currently take into account all the packages that "
    "are installed. This behaviour is the source of the following dependency conflicts.",
    "vllm 0.6.6 requires torch==2.5.1, but you have torch 2.6.0 which is incompatible.",
    "Successfully installed torch-2.6.0 triton-3.2.0 flash-attn-2.7.4.post1",
)


def _pictures(source: random.Random, number: int) -> str:
    return (
        f" {number % 100}%|{'#' * (number % 10):10}| {number % 20}/20 [00:12<00:08,  1.2it/s]",
        "got prompt",
        f"Prompt executed in {source.random() * 50:.2f} seconds",
        f"   {source.random():.1f} seconds: E:\\ComfyUI_windows_portable\\ComfyUI\\custom_nodes\\kjnodes",
    )[number % 4]


_PICTURES_ENDS = (
    "E:\\ComfyUI_windows_portable>.\\python_embeded\\python.exe -s ComfyUI\\main.py",
    "pytorch version: 2.8.0+cu128",
    "Device: cuda:0 NVIDIA GeForce RTX 3090 : cudaMallocAsync",
    "Traceback (most recent call last):",
    '  File "E:\\ComfyUI_windows_portable\\python_embeded\\Lib\\site-packages\\sageattention\\core.py", '
    "line 709, in sageattn",
    "AssertionError: SM89 kernel is not available. make sure you GPUs with compute capability 8.9.",
)
