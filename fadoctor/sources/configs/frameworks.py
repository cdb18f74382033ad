"""Files of frameworks that a table knows by their keys: litgpt, nanotron, NeMo and others."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fadoctor.sources.configs import settings
from fadoctor.sources.configs.intent import Configuration
from fadoctor.sources.configs.words import Said

if TYPE_CHECKING:
    from fadoctor.sources.configs.source import Source

KIND = "frameworks"


def recognises(source: Source) -> bool:
    """Return whether a table knows whose keys it has, and these say something."""
    document = source.document()
    if document is None or (framework := settings.framework_of(document)) is None:
        return False
    said = Said(source)
    settings.say(said, document, framework.name)
    return bool(said.intents)


def is_silent(source: Source) -> bool:
    """Return whether a table knows whose it is, whatever its keys say."""
    document = source.document()
    return document is not None and settings.framework_of(document) is not None


def read(source: Source) -> Configuration:
    """Return what it asks for; a note where it says nothing of that."""
    document, said = source.content(), Said(source)
    framework = settings.framework_of(document)
    name = framework.name if framework is not None else settings.ANY
    if framework is not None:
        said.framework(framework.name, document)
        said.default("config.purpose", document, framework.purpose)
        if framework.computes:
            said.default("config.fsdp_precision", document, framework.computes)
    met = settings.say(said, document, name)
    settings.finished(said, document)
    silent = f"{source.name}: of {name}; none of its keys names a dtype or an attention"
    return Configuration(source.name, KIND, tuple(said.intents), () if met else (silent,))
