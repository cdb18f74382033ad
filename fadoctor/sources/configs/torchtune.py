"""torchtune's recipes.

Read in ``training/precision.py`` and ``modules/attention_utils.py`` at commit bd2a0fc7c: the model
is built in ``dtype`` and runs in it, without autocast; ``dtype`` left out is float32; attention is
torch's own, so that no key names it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from fadoctor.sources.configs import words
from fadoctor.sources.configs.intent import Configuration
from fadoctor.sources.configs.kinds import TORCHTUNE
from fadoctor.sources.configs.words import Said

if TYPE_CHECKING:
    from fadoctor.sources.configs.source import Source
    from fadoctor.syntax.tree import Node

KIND = TORCHTUNE
_TRAINING = ("optimizer", "loss", "epochs")
_TOPICS = (
    ("dtype", "config.weights_dtype", words.loaded_dtype),
    ("enable_activation_checkpointing", "config.gradient_checkpointing", words.flag),
    ("compile", "config.compile", words.flag),
    ("model.use_dora", "config.use_dora", words.flag),
    ("model.lora_attn_modules", "config.adapter_modules", words.names),
    ("model.attn_dropout", "config.dropout", words.text),
    ("model._component_", "config.model", words.text),
)


def recognises(source: Source) -> bool:
    """Return whether it is one: a part that names a component of torchtune."""
    document = source.document()
    if document is None:
        return False
    parts = (each.get("_component_") for each in document.mapping.values())
    return any(part is not None and TORCHTUNE in str(part.scalar) for part in parts)


def read(source: Source) -> Configuration:
    """Return what it asks for."""
    document, said = source.content(), Said(source)
    said.framework(KIND, document)
    is_training = any(document.get(key) is not None for key in _TRAINING)
    said.default("config.purpose", document, "training" if is_training else "inference")
    said.default("config.autocast", document, None)
    said.take_all(document, _TOPICS)
    _adapter(said, document)
    return Configuration(source.name, KIND, tuple(said.intents))


def _adapter(said: Said, document: Node) -> None:
    """Read the kind of adapter from the name of the model's builder."""
    component = document.get("model", "_component_")
    if component is None:
        return
    builder = str(component.scalar).rpartition(".")[2]
    quantise = document.get("model", "quantize_base")
    if builder.startswith(("lora_", "qlora_", "dora_", "qdora_")):
        said.add("config.adapter", component, "lora", "model._component_")
    if builder.startswith(("qlora_", "qdora_")) or (
        quantise is not None and words.flag(quantise) is True
    ):
        said.add("config.quantization", quantise or component, "nf4", "model")
