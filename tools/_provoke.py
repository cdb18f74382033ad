"""Runs in a child: do what fails, and let the traceback go to standard error.

Reads one JSON object from the variable FADOCTOR_JOB: ``model`` (the attention of a tiny model),
``kernel`` and ``arguments`` (of get_kernel), ``activate`` (an attention that torch is told to use),
``module`` (imported), ``ask`` (what a forward of transformers 4.54 imports), ``lazy`` (a kernel by
transformers' own function), ``diffusers`` (a name of its attention), ``refuse`` (torch's FA3 or FA4
at the call), ``pretrained`` (a model by its name) or ``batching`` (continuous batching of a tiny
model). ``capability`` pretends a GPU.
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


def load(name: str) -> None:
    """Load a tiny model with an attention."""
    transformers: Any = importlib.import_module("transformers")
    config = transformers.LlamaConfig(**TINY)
    transformers.AutoModelForCausalLM.from_config(config, attn_implementation=name)


def fetch(name: str, **arguments: Any) -> None:
    """Load a kernel."""
    kernels: Any = importlib.import_module("kernels")
    kernels.get_kernel(name, **arguments)


def activate(name: str) -> None:
    """Let torch take an attention."""
    attention: Any = importlib.import_module("torch.nn.attention")
    attention.activate_flash_attention_impl(name)


def ask(name: str) -> None:
    """Import what a forward of transformers 4.54 imports."""
    flash: Any = importlib.import_module("transformers.modeling_flash_attention_utils")
    flash._lazy_imports(name)  # noqa: SLF001 -- what a forward calls


def lazy(name: str, version: int) -> None:
    """Load a kernel as layers of transformers do."""
    hub: Any = importlib.import_module("transformers.integrations.hub_kernels")
    hub.get_kernel(name, version=version)


def diffuse(name: str) -> None:
    """Choose an attention of diffusers as set_attention_backend does."""
    dispatch: Any = importlib.import_module("diffusers.models.attention_dispatch")
    backend = dispatch.AttentionBackendName(name)
    dispatch._check_attention_backend_requirements(backend)  # noqa: SLF001 -- no model is needed
    dispatch._maybe_download_kernel_for_backend(backend)  # noqa: SLF001 -- the same


def refuse(generation: str) -> None:
    """Call what torch registers for its attention, with tensors that say that they lie on a GPU."""
    torch: Any = importlib.import_module("torch")
    ours: Any = importlib.import_module(f"torch.nn.attention._fa{generation}")
    one = type(
        "OnGpu",
        (),
        {"is_cuda": True, "device": "cuda:0", "dtype": torch.float16, "dim": lambda _: 4},
    )()
    name = f"_fa{generation}_scaled_dot_product_flash_attention_forward_impl"
    getattr(ours, name)(one, one, one, 0.0)


def pretrained(name: str) -> None:
    """Load a model by its name."""
    transformers: Any = importlib.import_module("transformers")
    transformers.AutoModelForCausalLM.from_pretrained(name)


def batch(name: str) -> None:
    """Generate by continuous batching."""
    transformers: Any = importlib.import_module("transformers")
    config = transformers.LlamaConfig(**TINY)
    model = transformers.AutoModelForCausalLM.from_config(config, attn_implementation=name)
    settings = transformers.GenerationConfig(max_new_tokens=2, eos_token_id=1, pad_token_id=0)
    model.generate_batch([[2, 3, 4]], generation_config=settings)


def main() -> None:
    """Do it."""
    job = json.loads(os.environ["FADOCTOR_JOB"])
    pretend(job.get("capability"))
    if "kernel" in job:
        fetch(job["kernel"], **job.get("arguments", {}))
    if "lazy" in job:
        lazy(job["lazy"], job["version"])
    if "module" in job:
        importlib.import_module(job["module"])
    simple = {"model": load, "activate": activate, "ask": ask, "diffusers": diffuse,
              "refuse": refuse, "pretrained": pretrained, "batching": batch}  # fmt: skip
    for name, do in simple.items():
        if name in job:
            do(job[name])


if __name__ == "__main__":
    main()
