"""ROCm and the kernel's driver for AMD's GPUs, by files: versions, and who may use the device."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from fadoctor.sources.probes.world import Facts, World, absent, known, unknown

if TYPE_CHECKING:
    from collections.abc import Mapping

    from fadoctor.model.fact import Fact

KFD = "/dev/kfd"
_MODULE = "/sys/module/amdgpu"
_GROUPS = "/etc/group"
_FOLDERS = ("ROCM_PATH", "ROCM_HOME")
_DEFAULT = "/opt/rocm"
_FILES = (".info/version", ".info/version-dev", ".info/version-rocm")
_LIMIT = 4096
_GROUPS_LIMIT = 1 << 18
# 6.4.3-128
_VERSION = r"(\d{1,4}(?:\.\d{1,4}){1,3})(?:-\d{1,9})?\s{0,9}"
# 6.12.12, of AMD's own packages; the kernel's own has no version
_DRIVER = r"\d{1,4}(?:\.\d{1,5}){1,3}"


def probe(world: World, facts: Mapping[str, Fact]) -> Facts:  # noqa: ARG001 -- every probe's form
    """Return the facts that files tell; on other systems than Linux there are none."""
    if world.os != "linux":
        nothing = absent("AMD's driver is read on Linux only")
        return dict.fromkeys(("rocm.version", "rocm.driver", *_OF_KFD), nothing)
    return {"rocm.version": _version(world), "rocm.driver": _driver(world), **_access(world)}


_OF_KFD = ("rocm.kfd_access", "rocm.kfd_group")


def _version(world: World) -> Fact:
    """Return the version of the ROCm that variables name, else of the one in /opt."""
    named = [
        world.environ[name] for name in _FOLDERS if world.environ.get(name, "").startswith("/")
    ]
    for folder in (*named, _DEFAULT):
        for file in _FILES:
            path = f"{folder.rstrip('/')}/{file}"
            text = world.read(path, _LIMIT)
            if text is None:
                continue
            found = re.fullmatch(_VERSION, text)
            return known(found[1], path) if found else unknown(f"not understood: {text}", path)
    return absent(f"no {_FILES[0]} in {', '.join((*named, _DEFAULT))}")


def _driver(world: World) -> Fact:
    text = (world.read(f"{_MODULE}/version", _LIMIT) or "").strip()
    if re.fullmatch(_DRIVER, text):
        return known(text, f"{_MODULE}/version")
    if _exists(world, _MODULE):
        return known("inbox", f"{_MODULE}: no version, as in the kernel's own module")
    return absent(f"no {_MODULE}: the kernel module amdgpu is not loaded")


def _access(world: World) -> Facts:
    """Return whether this process may use the device, and the group that may."""
    group = world.group_of(KFD)
    if group is None:
        return dict.fromkeys(_OF_KFD, absent(f"{KFD} is not there"))
    allowed = world.may_use(KFD)
    return {
        "rocm.kfd_access": known(
            allowed, f"{KFD}: " + ("may" if allowed else "may not") + " be used"
        ),
        "rocm.kfd_group": known(_group_name(world, group), KFD),
    }


def _group_name(world: World, number: int) -> str:
    # render:x:993:kim
    text = world.read(_GROUPS, _GROUPS_LIMIT) or ""
    found = re.search(rf"^([a-z_][a-z0-9_-]{{0,31}}):[^:\n]{{0,64}}:{number}:", text, re.MULTILINE)
    return found[1] if found else str(number)


def _exists(world: World, absolute: str) -> bool:
    try:
        return world.path(absolute).exists()
    except (OSError, ValueError):
        return False
