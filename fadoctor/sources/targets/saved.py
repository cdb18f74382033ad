"""Saved facts: an environment that was read earlier, perhaps on another machine."""

from __future__ import annotations

from typing import Any

import msgspec

from fadoctor.model.environment import FACTS_SCHEMA_VERSION, Environment, Target
from fadoctor.model.errors import InputError
from fadoctor.model.typed import convert, decode
from fadoctor.syntax.credentials.document import without_secrets

SIZE_LIMIT = 32 << 20
"""Bytes of a facts file that are read."""


def read_facts(data: bytes, name: str) -> Environment:
    """Return the environment of saved facts: the output of ``facts``, or a report of ``check``.

    Raises InputError, with the key path where there is one.
    """
    if len(data) > SIZE_LIMIT:
        raise InputError(name, f"larger than {SIZE_LIMIT >> 20} MiB")
    try:
        raw = decode(data, object)
        if not isinstance(raw, dict):
            raise InputError(name, "not facts: a JSON object is needed")
        environment = convert(_as_facts(without_secrets(raw)), Environment)
    except msgspec.ValidationError as error:
        raise InputError(name, f"not facts: {error}") from error
    except msgspec.DecodeError as error:
        raise InputError(name, f"not JSON: {error}") from error
    except RecursionError as error:  # whose words differ from one Python to the next
        raise InputError(name, "not facts: nested too deeply") from error
    if environment.schema_version != FACTS_SCHEMA_VERSION:
        version = environment.schema_version
        raise InputError(name, f"facts of schema version {version}; this fadoctor reads version 1")
    return environment


def _as_facts(raw: dict[str, Any]) -> dict[str, Any]:
    """Return a report of ``check`` as facts; facts are returned as they are."""
    if "facts" not in raw and isinstance(raw.get("environment"), dict):
        return {**raw, "facts": raw["environment"]}
    return raw


def replayed(environment: Environment, name: str) -> Target:
    """Return the target of saved facts: what they were about, and that they were saved."""
    target = environment.target
    return Target(
        kind="manifest" if target.kind == "manifest" else "facts",
        label=target.label,
        reason=f"saved facts from {name}",
        roots=target.roots,
        notes=(f"facts were read by fadoctor {environment.fadoctor}",),
    )
