"""Examples of the page: a text of each kind, and the GPU that is named beside it."""

from __future__ import annotations

KINDS: dict[str, dict[str, str]] = {
    "kind:error": {
        "text": "Traceback (most recent call last):\n"
        '  File "/srv/app/train.py", line 41, in <module>\n'
        "    trainer.train()\n"
        '  File "/srv/app/.venv/lib/python3.11/site-packages/flash_attn/flash_attn_interface.py", '
        "line 91, in _flash_attn_forward\n"
        "    out, softmax_lse, S_dmask, rng_state = flash_attn_gpu.fwd(\n"
        "RuntimeError: FlashAttention only supports Ampere GPUs or newer.\n",
    },
    "kind:issue": {
        "text": "### What happened\n\nImporting the model fails since I updated torch:\n\n```\n"
        "ImportError: /opt/venv/lib/python3.10/site-packages/"
        "flash_attn_2_cuda.cpython-310-x86_64-linux-gnu.so: undefined symbol: "
        "_ZN3c105ErrorC2ENS_14SourceLocationENSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEEE\n"
        "```\n\n### Versions\n\n- torch 2.6.0+cu124\n- flash-attn 2.7.3\n- RTX 4090\n",
    },
    "kind:report": {
        "text": "PyTorch version: 2.6.0+cu124\nIs debug build: False\n"
        "CUDA used to build PyTorch: 12.4\n\nOS: Ubuntu 22.04.4 LTS (x86_64)\n"
        "Python version: 3.11.9 (main) [GCC 11.4.0] (64-bit runtime)\n"
        "Is CUDA available: True\nCUDA runtime version: 12.4.131\n"
        "GPU models and configuration: GPU 0: Tesla T4\nNvidia driver version: 550.54.15\n\n"
        "Versions of relevant libraries:\n[pip3] flash-attn==2.7.4.post1\n[pip3] numpy==1.26.4\n"
        "[pip3] torch==2.6.0\n[pip3] triton==3.2.0\n",
    },
    "kind:requirements": {
        "text": "torch==2.8.0\nflash-attn==2.8.3\nvllm==0.15.0\ntransformers>=4.50\n",
        "gpu": "A100",
    },
    "kind:unpinned": {
        "text": "torch>=2.4\nflash-attn>=2.5\nvllm\ntransformers>=4.40\ntriton\nxformers\n",
        "gpu": "A100",
    },
    "kind:configuration": {
        "text": "model_name_or_path: meta-llama/Llama-3.1-8B\nstage: sft\ndo_train: true\n"
        "finetuning_type: lora\nflash_attn: fa2\nbf16: true\n",
        "gpu": "V100",
    },
}
