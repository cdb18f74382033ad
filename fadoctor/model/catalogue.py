"""The fact catalogue: every fact's name, type, unit and provider.

A rule that names a fact outside this catalogue does not compile, and a probe that provides one
fails its test. Names are dotted, the noun last; ``gpu[].name`` stands for ``gpu[0].name`` etc.
Facts whose provider is ``later`` are named here so that rules can be written for them; no probe
fills them yet, and `Environment.fact` answers Unknown.
"""

from __future__ import annotations

import re
from functools import cache
from types import MappingProxyType
from typing import TYPE_CHECKING

import msgspec

from fadoctor.model.fact_rows import (
    DERIVED_ROWS,
    ENVIRONMENT_VARIABLES,
    EXTENSION_ROWS,
    FACT_ROWS,
    HUB_ROWS,
    PACKAGE_ROWS,
    REQUIRER_ROWS,
    UNMET_ROWS,
)
from fadoctor.model.packages import EXTENSIONS, PACKAGES

if TYPE_CHECKING:
    from collections.abc import Mapping

REQUIRER = "requirer"
"""The kind of subject that a package is, or another distribution that requires one of them."""

LATER = "later"


class FactSpec(msgspec.Struct, frozen=True):
    """What one fact is."""

    name: str
    type: str
    """version, text, integer, boolean, list or mapping."""
    provider: str
    """The probe that provides it, or ``later``."""
    meaning: str
    """One line, with the unit where there is one."""


_UNEXPLAINED = "that one of its extensions does not load, where no extension says why"

_REQUIRERS = "distributions without facts of their own that require a part of the stack"

OPTIONAL_EXTENSION = "optional_extension"
"""The kind of subject that an extension is which its package does without."""

COUNTED = ("gpu", "toolkit", "contract")
"""The kinds of subjects that are numbered: ``gpu[0]``."""

CONFIG = "config"
"""The provider of what the configurations ask for that a command line names."""

CONTRACTS = "contracts"
"""The provider of what packages ask of each other: their sources, followed without running them."""

FLEET = "fleet"
"""The provider of what nodes have in common: only where several are compared."""

LOG = "log"
"""The provider of facts that a log names and that fixes hang on."""

CAUSES = "log.causes"
"""The fact which rules' wordings a log shows: Absent wherever no log is explained."""

DERIVED = "derived"
"""The provider of facts that follow from others and the matrix."""


def _rows(text: str) -> list[list[str]]:
    return [[cell.strip() for cell in line.split("|")] for line in text.strip().splitlines()]


@cache
def build_catalogue() -> Mapping[str, FactSpec]:
    """Return fact name -> its specification. Built on demand, once: nothing happens at import."""
    specs = [FactSpec(*row) for row in _rows(FACT_ROWS)]
    of_package, of_requirement = _rows(PACKAGE_ROWS), _rows(UNMET_ROWS)
    of_extension = (("binaries", _rows(EXTENSION_ROWS)), (DERIVED, _rows(DERIVED_ROWS)))
    for key in PACKAGES:
        specs += [FactSpec(f"{key}.{n}", t, "packages", m) for n, t, m in of_package]
        specs += [FactSpec(f"{key}.{n}", t, DERIVED, m) for n, t, m in of_requirement]
    specs.append(FactSpec(f"{REQUIRER}.count", "integer", "packages", _REQUIRERS))
    for by, rows in (("packages", _rows(REQUIRER_ROWS)), (DERIVED, of_requirement)):
        specs += [FactSpec(f"{REQUIRER}[].{n}", t, by, m) for n, t, m in rows]
    meaning = (
        "the loader would load each of its compiled extensions, after torch where it needs torch"
    )
    for key, names in EXTENSIONS.items():
        specs.append(FactSpec(f"{key}.loads", "boolean", "binaries", meaning))
        specs.append(FactSpec(f"{key}.unexplained", "text", DERIVED, _UNEXPLAINED))
        for extension in (f"{key}.{name}" for name in names):
            for by, rows in of_extension:
                specs += [FactSpec(f"{extension}.{n}", t, by, m) for n, t, m in rows]
    of_hub = _rows(HUB_ROWS)
    for generation in ("fa2", "fa3", "fa4", "sage"):
        specs += [FactSpec(f"hub.{generation}.{n}", t, DERIVED, m) for n, t, m in of_hub]
    specs += [
        FactSpec(f"env.{name}", "text", "variables", "environment variable, redacted")
        for name in ENVIRONMENT_VARIABLES
    ]
    return MappingProxyType({spec.name: spec for spec in specs})


def generic_name(name: str) -> str:
    """Return the catalogue's form of a fact name: ``gpu[3].name`` -> ``gpu[].name``."""
    return re.sub(r"\[\d+\]", "[]", name)


def example_name(path: str, kinds: tuple[str, ...]) -> str:
    """Return a fact that a path of a rule can mean, which is judged for each of some kinds.

    ``gpu.name`` -> ``gpu[].name``, ``extension.needed`` -> ``torch.binary.needed``.
    """
    head, dot, rest = path.partition(".")
    is_package = "package" in kinds or REQUIRER in kinds
    bound = {"package": next(iter(PACKAGES))} if is_package else {}
    if "extension" in kinds or OPTIONAL_EXTENSION in kinds:
        first = next(iter(EXTENSIONS))
        bound = {"package": first, "extension": f"{first}.binary"}
    bound |= {kind: f"{kind}[]" for kind in kinds if kind in COUNTED}
    return bound.get(head, head) + dot + rest


def find_spec(catalogue: Mapping[str, FactSpec], name: str) -> FactSpec | None:
    """Return the specification of a fact name, wildcards of ``env.*`` included, or None."""
    generic = generic_name(name)
    found = catalogue.get(generic)
    if found is None and generic.startswith("env."):
        wild = (s for n, s in catalogue.items() if n.endswith("*") and generic.startswith(n[:-1]))
        found = next(wild, None)
    return found
