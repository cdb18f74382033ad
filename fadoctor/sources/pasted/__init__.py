"""The text of other tools' reports, as people paste it: one module a tool, text in, claims out.

Each module has ``read(lines) -> Iterator[Claim]`` and takes from any text what has its own shape,
so that several reports can stand in one paste. What no line says stays Unknown.
"""

from __future__ import annotations

READERS = {
    "fadoctor.sources.pasted.torch_report": ("PyTorch version", "Is debug build", "torch_version"),
    "fadoctor.sources.pasted.dashed_report": ("ersion", "GPU "),
    "fadoctor.sources.pasted.xformers_info": ("xFormers ",),
    "fadoctor.sources.pasted.deepspeed_report": (" .....",),
    "fadoctor.sources.pasted.unsloth_banner": ("((====))",),
    "fadoctor.sources.pasted.nvidia_tools": (
        "NVIDIA-SMI",
        "Version",
        "Product Name",
        "(UUID:",
        "00000000:",
        "name",
        "driver_version",
        "compute_cap",
        "--query-gpu",
        "Cuda compilation tools",
    ),
    "fadoctor.sources.pasted.rocm_tools": ("GPU[", "gfx", "MARKET_NAME", "AMDSMI", "ROCk module"),
    "fadoctor.sources.pasted.amd_list": ("gfx",),
    "fadoctor.sources.pasted.jetson_tools": ("jetson-stats", "jetson_release"),
    "fadoctor.sources.pasted.ollama_log": ('"inference compute"',),
    "fadoctor.sources.pasted.comfyui_report": ("VRAM",),
    "fadoctor.sources.pasted.package_lists": ("",),
}
"""Each reader, and the marks without one of which a text holds nothing for it."""

LINES = {
    "fadoctor.sources.pasted.prompt": (".__version__", "torch.", "sys.version", "platform."),
    "fadoctor.sources.pasted.keyed": ("",),
}
"""Readers of what people write down, and of tools without a reader: reports go before them."""
