"""Read configurations from texts, and their facts as plain values."""

from __future__ import annotations

from importlib import import_module

from fadoctor.model.fact import Known, Unknown
from fadoctor.sources.configs import READERS
from fadoctor.sources.configs.intent import Computed, Configuration
from fadoctor.sources.configs.join import join
from fadoctor.sources.configs.source import Source

UNREAD = "?"
"""How an Unknown fact is written in tests."""


def read(text: str, name: str = "train.yaml", kind: str = "") -> Configuration:
    source = Source(name, text)
    modules = [import_module(module) for each, module in READERS.items() if kind in ("", each)]
    module = next(module for module in modules if kind or module.recognises(source))
    found: Configuration = module.read(source)
    return found


def intents(text: str, name: str = "train.yaml", kind: str = "") -> dict[str, object]:
    """Return intent name -> value of the last; `UNREAD` where it is computed."""
    return {
        each.name: UNREAD if isinstance(each.value, Computed) else each.value
        for each in read(text, name, kind).intents
    }


def facts(*files: str | tuple[str, str]) -> dict[str, object]:
    """Return the facts that files come to, without the Absent ones."""
    named = [each if isinstance(each, tuple) else ("train.yaml", each) for each in files]
    joined = join([read(text, name) for name, text in named])
    return {
        name.removeprefix("config."): fact.value if isinstance(fact, Known) else UNREAD
        for name, fact in joined.facts.items()
        if isinstance(fact, Known | Unknown)
    }
