"""The text of other tools' reports, as people paste it: one module a tool, text in, claims out.

Each module has ``read(lines) -> Iterator[Claim]`` and takes from any text what has its own shape,
so that several reports can stand in one paste. What no line says stays Unknown.
"""

from __future__ import annotations

READERS = {
    "fadoctor.sources.pasted.torch_report": ("PyTorch version", "Is debug build"),
    "fadoctor.sources.pasted.dashed_report": ("ersion", "GPU "),
    "fadoctor.sources.pasted.xformers_info": ("xFormers ",),
    "fadoctor.sources.pasted.deepspeed_report": (" .....",),
    "fadoctor.sources.pasted.unsloth_banner": ("((====))",),
    "fadoctor.sources.pasted.nvidia_tools": (
        "NVIDIA-SMI",
        "Version",
        "Product Name",
        "(UUID:",
        "name",
        "driver_version",
        "compute_cap",
        "Cuda compilation tools",
    ),
    "fadoctor.sources.pasted.package_lists": ("==", " @ ", "Version", "# packages in environment"),
}
"""Each reader, and the marks without one of which a text holds nothing for it."""
