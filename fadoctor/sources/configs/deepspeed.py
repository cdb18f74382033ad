"""DeepSpeed's JSON: in which precision its engine holds the model.

Read in ``integrations/deepspeed.py`` of transformers 5.23.0: ``auto`` becomes what the trainer is
told, and anything else must be the same.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from fadoctor.sources.configs import settings, words
from fadoctor.sources.configs.intent import Computed, Configuration
from fadoctor.sources.configs.kinds import DEEPSPEED
from fadoctor.sources.configs.words import Said

if TYPE_CHECKING:
    from fadoctor.sources.configs.source import Source
    from fadoctor.syntax.tree import Node

KIND = DEEPSPEED
_OWN_KEYS = frozenset({
    "zero_optimization", "train_micro_batch_size_per_gpu", "zero_allow_untested_optimizer",
    "zero_force_ds_cpu_optimizer", "steps_per_print", "wall_clock_breakdown",
})  # fmt: skip
_AUTO = "auto"


def recognises(source: Source) -> bool:
    """Return whether it is one, by its own keys; gpt-neox has them beside others of its own."""
    document = source.document()
    if document is None or _OWN_KEYS.isdisjoint(document.mapping):
        return False
    return settings.framework_of(document) is None


def read(source: Source) -> Configuration:
    """Return what it asks for."""
    document, said = source.content(), Said(source)
    say_precision(said, document)
    if (autocast := document.get("torch_autocast")) is not None and _switch(autocast) is True:
        said.take(autocast, "dtype", "config.autocast", words.dtype)
    return Configuration(source.name, KIND, tuple(said.intents))


def say_precision(said: Said, document: Node, above: str = "") -> None:
    """Say what the sections ``bf16`` and ``fp16`` come to."""
    switches: dict[str, bool | str | Computed] = {}
    last = None
    for key, section in _sections(document):
        switch = _switch(section)
        node = section.get("enabled") or section
        last = node
        switches[key] = switch
        if not isinstance(switch, str):
            said.add(f"config.deepspeed_{key}", node, switch, f"{above}{key}.enabled")
        if switch is True or isinstance(switch, Computed):
            value = key if switch is True else switch
            said.add("config.deepspeed_precision", node, value, f"{above}{key}.enabled")
    if last is None or any(each is not False for each in switches.values()):
        if last is not None and _AUTO in switches.values() and True not in switches.values():
            said.add("config.deepspeed_precision", last, _AUTO, f"{above}enabled")
        return
    said.add("config.deepspeed_precision", last, "fp32", f"{above}enabled")


def _sections(document: Node) -> list[tuple[str, Node]]:
    """Return the sections that are there; bfloat16 is an older name of bf16."""
    named = (("bf16", "bf16"), ("bf16", "bfloat16"), ("fp16", "fp16"))
    return [(key, node) for key, name in named if (node := document.get(name)) is not None]


def _switch(section: Node) -> bool | str | Computed:
    """Return whether a section is enabled; it is off where it does not say so."""
    node = section.get("enabled")
    if node is None:
        return False
    return _AUTO if node.scalar == _AUTO else words.flag(node)
