"""The text of other tools' reports, as people paste it: one module a tool, text in, claims out.

Each module has ``read(lines) -> Iterator[Claim]`` and takes from any text what has its own shape,
so that several reports can stand in one paste. What no line says stays Unknown.
"""

from __future__ import annotations

READERS = (
    "fadoctor.pasted.torch_report",
    "fadoctor.pasted.dashed_report",
    "fadoctor.pasted.xformers_info",
    "fadoctor.pasted.deepspeed_report",
    "fadoctor.pasted.unsloth_banner",
    "fadoctor.pasted.nvidia_tools",
    "fadoctor.pasted.package_lists",
)
