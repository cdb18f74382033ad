"""Every module can be imported by each supported version of Python."""

from __future__ import annotations

import importlib
import pkgutil

import fadoctor

CHILDREN = "_fadoctor_"
"""Scripts that other interpreters run; they are read, and tested, as such."""


OPTIONAL = ("fadoctor.interfaces.assistants.server",)
"""What needs an extra; tests/cli/test_mcp.py makes an environment that has it."""


def test_every_module_is_imported() -> None:
    names = [each.name for each in pkgutil.walk_packages(fadoctor.__path__, "fadoctor.")]
    modules = [name for name in names if not name.rpartition(".")[2].startswith(CHILDREN)]
    assert len(modules) > 400
    for name in modules:
        if name not in ("fadoctor.__main__", *OPTIONAL):
            importlib.import_module(name)
