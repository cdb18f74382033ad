"""Training and serving configurations: what a run will ask of its environment.

Each reader is a module for one framework, with ``recognises(source) -> bool``, which looks at the
name, the text and the parsed document of a file, and ``read(source) -> Configuration``. The first
one that recognises a file reads it: what is known by keys of its own stands before what shares its
keys with others. The names are the kinds that ``--config-kind`` takes.
"""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

# Read-only: a caller that left out a kind for itself would leave it out for the whole process.
READERS: Mapping[str, str] = MappingProxyType(
    {
        "python": "fadoctor.sources.configs.python",
        "shell": "fadoctor.sources.configs.shell",
        "dockerfile": "fadoctor.sources.configs.dockerfile",
        "recipes": "fadoctor.sources.configs.recipes",
        "deepspeed": "fadoctor.sources.configs.deepspeed",
        "peft-adapter": "fadoctor.sources.configs.peft_adapter",
        "accelerate": "fadoctor.sources.configs.accelerate",
        "axolotl": "fadoctor.sources.configs.axolotl",
        "torchtune": "fadoctor.sources.configs.torchtune",
        "verl": "fadoctor.sources.configs.verl",
        "ms-swift": "fadoctor.sources.configs.ms_swift",
        "llamafactory-v1": "fadoctor.sources.configs.llamafactory_v1",
        "llamafactory": "fadoctor.sources.configs.llamafactory",
        "openrlhf": "fadoctor.sources.configs.openrlhf",
        "sglang": "fadoctor.sources.configs.sglang",
        "vllm": "fadoctor.sources.configs.vllm",
        "frameworks": "fadoctor.sources.configs.frameworks",
        "model": "fadoctor.sources.configs.model",
        "fsdp": "fadoctor.sources.configs.fsdp",
        "trainer": "fadoctor.sources.configs.trainer",
        "container": "fadoctor.sources.configs.containers",
        "settings": "fadoctor.sources.configs.settings",
    }
)
