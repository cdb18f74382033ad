"""What the ``__getattr__`` of a module gives for a name."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from fadoctor.sources.import_names.child._fadoctor_values import UNKNOWN, Raised

if TYPE_CHECKING:
    from fadoctor.sources.import_names.child._fadoctor_run import Runner
    from fadoctor.sources.import_names.child._fadoctor_values import Module

NOTHING = object()
"""The function surely has nothing under that name."""


def given_by(runner: Runner, module: Module, name: str) -> Any:
    """Return what the function gives, NOTHING where it surely raises AttributeError.

    Raised where following it shows that another distribution lacks a name.
    """
    getter = module.getter
    if getter is None:
        return NOTHING
    if name in module.getting or name.startswith("__"):
        return UNKNOWN
    known = runner.memory.given.get((module.name, name))
    if known is not None:
        return known
    module.getting.add(name)
    try:
        return runner.call(getter, [name], {})
    except Raised as raised:
        if raised.broken is not None:
            raise
        found = NOTHING if raised.kind == "AttributeError" else UNKNOWN
        if module.state == "done":
            runner.memory.given[module.name, name] = found
        return found
    finally:
        module.getting.discard(name)
