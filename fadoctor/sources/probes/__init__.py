"""Probes: one module per source of facts. A probe reads; it never judges, nor raises on purpose.

Each module has ``probe(world, facts) -> dict[str, Fact]``; `facts` holds what the probes that it
needs have found. A fact that a probe could not read is Unknown, one that is not there is Absent.
"""

from __future__ import annotations

PROBES: dict[str, tuple[str, tuple[str, ...]]] = {
    "host": ("fadoctor.sources.probes.host", ()),
    "variables": ("fadoctor.sources.probes.variables", ()),
    "interpreter": ("fadoctor.sources.probes.interpreter", ()),
    "driver": ("fadoctor.sources.probes.driver", ()),
    "gpu": ("fadoctor.sources.probes.gpu", ()),
    "rocm": ("fadoctor.sources.probes.rocm", ()),
    "packages": ("fadoctor.sources.probes.packages", ("host", "interpreter")),
    "torch": ("fadoctor.sources.probes.torch", ("packages",)),
    "flash_attn": ("fadoctor.sources.probes.flash_attn", ("packages",)),
    "binaries": (
        "fadoctor.sources.probes.binaries",
        ("packages", "torch", "interpreter", "variables"),
    ),
    "toolkit": ("fadoctor.sources.probes.toolkit", ("packages", "interpreter")),
    "hub": ("fadoctor.sources.probes.hub", ()),
}
"""Name -> (module, names of the probes whose facts it needs). Probes without needs run at once."""

MACHINE_PROBES: dict[str, tuple[str, tuple[str, ...]]] = {
    **{
        name: PROBES[name] for name in ("host", "variables", "interpreter", "driver", "gpu", "rocm")
    },
    "toolkit": (PROBES["toolkit"][0], ("interpreter",)),
}
"""Those that read the machine and its Python, whatever is installed."""

WAITING = frozenset({"driver", "gpu", "rocm", "toolkit"})
"""Those that mostly wait for child processes. The interpreter has answered before probes begin."""
