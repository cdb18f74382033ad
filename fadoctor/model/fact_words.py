"""What facts are called in sentences for people, where their own names say nothing to a reader."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fadoctor.model.packages import PACKAGES

if TYPE_CHECKING:
    from collections.abc import Iterable

_THINGS = {
    "config": "the configuration",
    "contract": "the names that packages import from each other",
    "driver": "the driver",
    "extension": "the compiled extensions",
    "gpu": "the GPU",
    "hf": "the cache of the Hub",
    "host": "the system",
    "optional_extension": "the compiled extensions",
    "package": "the installed packages",
    "packages": "the installed packages",
    "python": "Python",
    "requirer": "the installed packages",
    "toolkit": "the CUDA toolkit",
}
"""The first part of a name -> the thing that it is a part of."""

_PARTS = {
    "build": "the build",
    "cuda": "the CUDA",
    "requires": "the requirements",
    "version": "the version",
}


def in_words(name: str) -> str:
    """Return what a fact is called: ``torch.binary.cause`` is of the files of torch."""
    head, _, rest = name.partition(".")
    head = head.partition("[")[0]
    if head == "env":
        return f"the variable {rest}"
    if head in PACKAGES:
        return f"{_PARTS.get(rest, 'the files')} of {PACKAGES[head][0]}"
    return _THINGS.get(head, name)


def all_in_words(names: Iterable[str]) -> str:
    """Return what some facts are called, each thing once."""
    return ", ".join(dict.fromkeys(map(in_words, names)))
