"""Training and serving configurations: what a run will ask of its environment.

Each reader is a module for one framework, with ``recognises(source) -> bool``, which looks at the
name, the text and the parsed document of a file, and ``read(source) -> Configuration``. The first
one that recognises a file reads it: what is known by keys of its own stands before what shares its
keys with others. The names are the kinds that ``--config-kind`` takes.
"""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING

from fadoctor.sources.configs import kinds

if TYPE_CHECKING:
    from collections.abc import Mapping

# Read-only: a caller that left out a kind for itself would leave it out for the whole process.
READERS: Mapping[str, str] = MappingProxyType(
    {
        "python": "fadoctor.sources.configs.python",
        "shell": "fadoctor.sources.configs.shell",
        "dockerfile": "fadoctor.sources.configs.dockerfile",
        "recipes": "fadoctor.sources.configs.recipes",
        kinds.DEEPSPEED: "fadoctor.sources.configs.deepspeed",
        "peft-adapter": "fadoctor.sources.configs.peft_adapter",
        kinds.ACCELERATE: "fadoctor.sources.configs.accelerate",
        kinds.AXOLOTL: "fadoctor.sources.configs.axolotl",
        kinds.TORCHTUNE: "fadoctor.sources.configs.torchtune",
        kinds.VERL: "fadoctor.sources.configs.verl",
        kinds.MS_SWIFT: "fadoctor.sources.configs.ms_swift",
        "llamafactory-v1": "fadoctor.sources.configs.llamafactory_v1",
        kinds.LLAMAFACTORY: "fadoctor.sources.configs.llamafactory",
        kinds.OPENRLHF: "fadoctor.sources.configs.openrlhf",
        kinds.SGLANG: "fadoctor.sources.configs.sglang",
        kinds.VLLM: "fadoctor.sources.configs.vllm",
        kinds.COMFYUI: "fadoctor.sources.configs.comfyui",
        "frameworks": "fadoctor.sources.configs.frameworks",
        "model": "fadoctor.sources.configs.model",
        "fsdp": "fadoctor.sources.configs.fsdp",
        "trainer": "fadoctor.sources.configs.trainer",
        "container": "fadoctor.sources.configs.containers",
        "settings": "fadoctor.sources.configs.settings",
    }
)
