"""Training and serving configurations: what a run will ask of its environment.

Each reader is a module for one framework, with ``recognises(source) -> bool``, which looks at the
name, the text and the parsed document of a file, and ``read(source) -> Configuration``. The first
one that recognises a file reads it: what is known by keys of its own stands before what shares its
keys with others. The names are the kinds that ``--config-kind`` takes.
"""

from __future__ import annotations

READERS: dict[str, str] = {
    "python": "fadoctor.configs.python",
    "shell": "fadoctor.configs.shell",
    "dockerfile": "fadoctor.configs.dockerfile",
    "deepspeed": "fadoctor.configs.deepspeed",
    "peft-adapter": "fadoctor.configs.peft_adapter",
    "accelerate": "fadoctor.configs.accelerate",
    "axolotl": "fadoctor.configs.axolotl",
    "torchtune": "fadoctor.configs.torchtune",
    "verl": "fadoctor.configs.verl",
    "ms-swift": "fadoctor.configs.ms_swift",
    "llamafactory-v1": "fadoctor.configs.llamafactory_v1",
    "llamafactory": "fadoctor.configs.llamafactory",
    "openrlhf": "fadoctor.configs.openrlhf",
    "sglang": "fadoctor.configs.sglang",
    "vllm": "fadoctor.configs.vllm",
    "model": "fadoctor.configs.model",
    "fsdp": "fadoctor.configs.fsdp",
    "trainer": "fadoctor.configs.trainer",
}
