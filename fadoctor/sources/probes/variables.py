"""The environment variables of the allow-list, without secrets."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from fadoctor.model.fact_rows import ENVIRONMENT_VARIABLES
from fadoctor.sources.probes.world import Facts, World, absent, known, unknown
from fadoctor.syntax.secrets import HIDDEN, hide_secrets, is_secret_name

if TYPE_CHECKING:
    from collections.abc import Mapping

    from fadoctor.model.fact import Fact

SOURCE = "the environment"
MAX_MATCHES = 100
"""Variables that one entry with a ``*`` may bring."""
VALUE_LIMIT = 4_000
"""Characters of a value that are looked at; the fact keeps fewer."""

_NAME = re.compile(r"[A-Za-z0-9_]{1,100}")
_SEPARATORS = re.compile(r"([\s:;,=\"']+)")
_SEPARATORS_WINDOWS = re.compile(r"([;,=\"']+)")  # colons belong to drives, spaces to folders


def probe(world: World, facts: dict[str, Fact]) -> Facts:  # noqa: ARG001 -- the probes' contract
    """Return ``env.NAME`` for every variable of the allow-list.

    ``env.PREFIX_*`` itself stands for all variables of that form that are not set.
    """
    out: Facts = {}
    for name in ENVIRONMENT_VARIABLES:
        if name.endswith("*"):
            out |= _matching(world, name)
        elif name in world.environ:
            out[f"env.{name}"] = _value(world, name)
        else:
            out[f"env.{name}"] = absent(f"{SOURCE}: {name} is not set")
    return out


def _matching(world: World, pattern: str) -> Facts:
    names = sorted(name for name in _names(world.environ) if name.startswith(pattern[:-1]))
    out: Facts = {f"env.{name}": _value(world, name) for name in names[:MAX_MATCHES]}
    if len(names) > MAX_MATCHES:
        reason = f"more than {MAX_MATCHES} variables of this form are set; not all were read"
        out[f"env.{pattern}"] = unknown(reason, SOURCE)
    else:
        out[f"env.{pattern}"] = absent(f"{SOURCE}: no other variable {pattern} is set")
    return out


def _names(environ: Mapping[str, str]) -> list[str]:
    return [name for name in environ if _NAME.fullmatch(name)]


def _value(world: World, name: str) -> Fact:
    if is_secret_name(name):
        return known(HIDDEN, SOURCE)
    text = hide_secrets(world.environ[name][:VALUE_LIMIT])
    separators = _SEPARATORS_WINDOWS if world.os == "windows" else _SEPARATORS
    return known("".join(world.name(part) for part in separators.split(text)), SOURCE)
