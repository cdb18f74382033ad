"""What a configuration asks for, before it is held against other files and the environment."""

from __future__ import annotations

import msgspec

from fadoctor.model.fact import Value
from fadoctor.model.place import Place


class Computed(msgspec.Struct, frozen=True):
    """A value that only running the configuration would tell: Unknown, never guessed."""

    why: str
    """``an expression``, ``a variable of the shell``."""


class Intent(msgspec.Struct, frozen=True):
    """One thing that a configuration asks for."""

    name: str
    """Of a fact: ``config.attention``."""
    value: Value | Computed | None
    """In the words of the catalogue (bf16, 4bit); None where the file says that there is none."""
    place: Place
    written: str = ""
    """How the file says it: ``flash_attn: fa2``, ``torch_dtype="float16"``."""


OWN_IMAGE = "the image that the file makes"


class AskedGpu(msgspec.Struct, frozen=True):
    """A GPU that a file asks a cloud or a cluster for."""

    name: str
    """As written: ``nvidia-tesla-t4``."""
    place: Place
    has_environment: bool
    """Whether the program finds the environment of this machine there, as on a cluster."""


class Configuration(msgspec.Struct, frozen=True):
    """One file, read."""

    file: str
    kind: str
    """``llamafactory``, ``deepspeed``, ``peft-adapter``, ``python``, ..."""
    intents: tuple[Intent, ...] = ()
    notes: tuple[str, ...] = ()
    """What could not be followed, in words."""
    named: tuple[str, ...] = ()
    """Other configurations that it names, as written."""
    adapters: tuple[str, ...] = ()
    """Folders of adapters that it names, as written."""
    image: str = ""
    """The container image in which its program runs; "" where it runs in an environment here."""
    gpus: tuple[AskedGpu, ...] = ()
    started: str = ""
    """The one script of Python that a script of the shell surely starts, as written."""
