"""A recipe: what an environment made anew holds, for files that people take along."""

from __future__ import annotations

import msgspec


class Ingredient(msgspec.Struct, frozen=True):
    """One thing that is installed."""

    requirement: str
    """As pip takes it: ``torch==2.8.0+cu126``, ``flash-attn @ https://...``."""
    index: str = ""
    """The index that has it, where it is not the usual one."""
    is_built: bool = False
    """Whether it is compiled, with what is installed before it."""
    env: dict[str, str] = {}
    """Variables for the compilation."""
    is_interpreted: bool = False
    """Whether what is built from its sources has no compiled part, because of its variables."""

    @property
    def name(self) -> str:
        """Return the distribution that it is."""
        return self.requirement.partition("@")[0].partition("=")[0].strip(" <>!~")


class Recipe(msgspec.Struct, frozen=True):
    """What a plan ends in, from an empty environment."""

    ingredients: tuple[Ingredient, ...]
    """In the order of installing; none where there is no plan."""
    python: str = ""
    """``3.12``; "" where nobody knows."""
    platform: str = ""
    """``linux_x86_64``."""
    glibc: str = ""
    """Version with which it was proved."""
    image: str = ""
    """Container image that it may start from; "" where none is known."""
    image_glibc: str = ""
    variables: dict[str, str] = {}
    """What programs need to be set."""
    comments: tuple[str, ...] = ()
    """What a reader should know: what was assumed, what is left, what was not written."""
    check: tuple[str, ...] = ()
    """Arguments of ``fadoctor check`` for the machine that it was made for."""

    @property
    def indexes(self) -> tuple[str, ...]:
        """Return the indexes beside the usual one."""
        return tuple(dict.fromkeys(each.index for each in self.ingredients if each.index))

    @property
    def ready(self) -> tuple[Ingredient, ...]:
        """Return what is installed in one resolution."""
        return tuple(each for each in self.ingredients if not each.is_built)

    @property
    def built(self) -> tuple[Ingredient, ...]:
        """Return what is compiled afterwards."""
        return tuple(each for each in self.ingredients if each.is_built)
