"""Probes: one module per source of facts. A probe reads; it never judges, nor raises on purpose.

Each module has ``probe(world, facts) -> dict[str, Fact]``; `facts` holds what the probes that it
needs have found. A fact that a probe could not read is Unknown, one that is not there is Absent.
"""

from __future__ import annotations

PROBES: dict[str, tuple[str, tuple[str, ...]]] = {
    "host": ("fadoctor.probes.host", ()),
    "variables": ("fadoctor.probes.variables", ()),
    "interpreter": ("fadoctor.probes.interpreter", ()),
    "driver": ("fadoctor.probes.driver", ()),
    "gpu": ("fadoctor.probes.gpu", ()),
    "packages": ("fadoctor.probes.packages", ("host", "interpreter")),
    "torch": ("fadoctor.probes.torch", ("packages",)),
    "flash_attn": ("fadoctor.probes.flash_attn", ("packages",)),
    "binaries": ("fadoctor.probes.binaries", ("packages", "torch", "interpreter", "variables")),
    "toolkit": ("fadoctor.probes.toolkit", ("packages", "interpreter")),
    "hub": ("fadoctor.probes.hub", ()),
}
"""Name -> (module, names of the probes whose facts it needs). Probes without needs run at once."""

MACHINE_PROBES: dict[str, tuple[str, tuple[str, ...]]] = {
    **{name: PROBES[name] for name in ("host", "variables", "interpreter", "driver", "gpu")},
    "toolkit": (PROBES["toolkit"][0], ("interpreter",)),
}
"""Those that read the machine and its Python, whatever is installed."""
