"""How to take a step back without fadoctor: the commands that bring back what was there."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from fadoctor.knowledge.matrix.versions import version_part
from fadoctor.knowledge.matrix.wheels import TRITON_WINDOWS
from fadoctor.model.fact import Known
from fadoctor.model.packages import BESIDE_TORCH, FLASH_ATTN, PACKAGES, TORCH, TRITON, package_of
from fadoctor.repair.plan.choices.other_index import has_no_labels
from fadoctor.repair.plan.choices.wheel_facts import text_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from fadoctor.model.environment import Environment
    from fadoctor.repair.plan.choices.indexes import Indexes
    from fadoctor.repair.plan.written.dialect import Dialect

_WHEEL_URL = re.compile(r"https://[A-Za-z0-9._~%+/-]{1,400}\.whl")

_EXACTLY = ("--force-reinstall", "--no-deps")
"""The installer takes 2.8.0+cu126 for the 2.8.0 that it is asked for, unless it is told to."""

_ON_PYPI = (PACKAGES[TRITON][0], TRITON_WINDOWS)
"""Distributions of triton that PyPI has; the others lie beside their torch."""

_BY_LABEL = ("rocm", "other")
"""Builds of torch whose index only their label names: ``+rocm6.4``, ``+xpu``."""


def undo_commands(
    before: Mapping[str, str], environment: Environment, dialect: Dialect, indexes: Indexes
) -> list[tuple[str, ...]]:
    """Return the commands that bring distributions back to the versions that they had.

    `before`: name -> version, "" for what was not there.
    """
    sources: dict[tuple[str, tuple[str, ...]], list[str]] = {}
    for name, version in before.items():
        if version:
            item, source = origin(name, version, environment, indexes)
            sources.setdefault(source, []).append(item)
    found = [
        dialect.install(tuple(items), index, options=(*_EXACTLY, *options))
        for (index, options), items in sources.items()
    ]
    new = tuple(name for name, version in before.items() if not version)
    return [*found, dialect.uninstall(new)] if new else found


def is_wheel_url(text: str) -> bool:
    """Return whether a text is the address of a wheel that can go into a command."""
    return _WHEEL_URL.fullmatch(text) is not None


def origin(
    name: str, version: str, environment: Environment, indexes: Indexes
) -> tuple[str, tuple[str, tuple[str, ...]]]:
    """Return what installs a version again, and the index and options that this needs."""
    package = package_of(name, "")
    url = text_of(environment, f"{package}.direct_url")
    if is_wheel_url(url):
        return f"{name} @ {url}", ("", ())
    if package == FLASH_ATTN:
        # its setup.py asks for the file that fits, and compiles where there is none
        item = f"{name}=={version_part(version, 'base') or version}"
        return item, ("", ("--no-build-isolation",))
    build = version_part(version, "local")
    known = environment.fact("torch.build")
    if package == TORCH and isinstance(known, Known) and known.value not in _BY_LABEL:
        build = str(known.value)
    if package == TRITON and name not in _ON_PYPI:
        torch = text_of(environment, "torch.version")
        build = version_part(torch, "local") or _rocm_of(name, torch, indexes)
    if package in BESIDE_TORCH and not build and has_no_labels(environment, indexes):
        build = text_of(environment, "torch.build")
    return f"{name}=={version}", (indexes.of(build or ""), ())


def _rocm_of(name: str, torch: str, indexes: Indexes) -> str:
    """Return the ROCm of a release of torch, for a triton for ROCm that lies beside another."""
    if "rocm" not in name or not torch:
        return ""
    keys = {"version": Known(version_part(torch, "base") or torch, "asked")}
    cell = indexes.matrix.find("torch-rocm-index", keys).cell("index")
    return str(cell.value) if isinstance(cell, Known) else ""
