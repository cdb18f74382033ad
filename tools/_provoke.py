"""Runs in a child: do what fails, and let the traceback go to standard error.

Reads one JSON object from the variable FADOCTOR_JOB: ``model`` (the attention of a tiny model),
``kernel`` and ``arguments`` (of get_kernel), ``activate`` (an attention that torch is told to use),
``module`` (imported) or ``ask`` (what a forward of transformers 4.54 imports). ``capability``
pretends a GPU.
"""

import importlib
import json
import os
from typing import Any

TINY = {"hidden_size": 32, "intermediate_size": 64, "num_hidden_layers": 1, "vocab_size": 64,
        "num_attention_heads": 2, "num_key_value_heads": 2}  # fmt: skip


def pretend(capability: list[int] | None) -> None:
    """Make torch look like a build for CUDA 13.0, and like one that sees a GPU."""
    torch: Any = importlib.import_module("torch")
    torch.version.cuda = "13.0"
    if capability:
        torch.cuda.is_available = lambda: True
        torch.cuda.device_count = lambda: 1
        torch.cuda.current_device = lambda: 0
        torch.cuda.get_device_capability = lambda *_: tuple(capability)


def main() -> None:
    """Do it."""
    job = json.loads(os.environ["FADOCTOR_JOB"])
    pretend(job.get("capability"))
    if "model" in job:
        transformers: Any = importlib.import_module("transformers")
        config = transformers.LlamaConfig(**TINY)
        transformers.AutoModelForCausalLM.from_config(config, attn_implementation=job["model"])
    if "kernel" in job:
        kernels: Any = importlib.import_module("kernels")
        kernels.get_kernel(job["kernel"], **job.get("arguments", {}))
    if "activate" in job:
        attention: Any = importlib.import_module("torch.nn.attention")
        attention.activate_flash_attention_impl(job["activate"])
    if "module" in job:
        importlib.import_module(job["module"])
    if "ask" in job:
        flash: Any = importlib.import_module("transformers.modeling_flash_attention_utils")
        flash._lazy_imports(job["ask"])  # noqa: SLF001 -- what a forward calls


if __name__ == "__main__":
    main()
