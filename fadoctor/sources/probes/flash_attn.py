"""What is in the target's flash-attn, and which wheel it came from, as far as that is recorded."""

from __future__ import annotations

from pathlib import Path

from fadoctor.knowledge.matrix.wheel_label import STEM, WHEEL_FACTS, wheel_facts
from fadoctor.model.fact import Fact, Known
from fadoctor.model.packages import FLASH_ATTN
from fadoctor.sources.probes.import_path import (
    ImportPath,
    Package,
    editable_folders,
    find_package,
    read_import_path,
)
from fadoctor.sources.probes.world import Facts, World, absent, known, unknown


def probe(world: World, facts: dict[str, Fact]) -> Facts:
    """Return the files that tell FA2, FA4 and leftovers apart, and what names say of the build."""
    path = read_import_path(world, *editable_folders(world, facts, FLASH_ATTN))
    out = _files(world, path, find_package(path, FLASH_ATTN))
    out["flash_attn.extension"] = _extension(world, path, facts)
    version = facts.get("flash_attn.version", absent("no metadata of flash-attn"))
    if not isinstance(version, Known):
        return out | {f"flash_attn.wheel.{name}": version for name in WHEEL_FACTS}
    return out | wheel_facts(version, out["flash_attn.extension"], facts)


def _files(world: World, path: ImportPath, package: Package | None) -> Facts:
    names = ("flash_attn.interface", "flash_attn.namespace_only")
    if package is None:
        source = "import path: no folder flash_attn"
        fact = unknown(path.problem, source) if path.problem else absent(source)
        return dict.fromkeys(names, fact)
    source = ", ".join(world.name(folder) for folder in package.folders[:3])
    interface = any(Path(f, "flash_attn_interface.py").is_file() for f in package.folders)
    return {
        names[0]: known(interface, f"{source}: flash_attn_interface.py"),
        names[1]: known(not package.regular, f"{source}: __init__.py"),
    }


def _extension(world: World, path: ImportPath, facts: dict[str, Fact]) -> Fact:
    suffix = facts.get("python.ext_suffix")
    preferred = STEM + str(suffix.value) if isinstance(suffix, Known) else ""
    for folder in path.folders:
        found = [
            n for n in folder.names if n.startswith(f"{STEM}.") and n.endswith((".so", ".pyd"))
        ]
        found = [name for name in found if Path(folder.path, name).is_file()]
        if found:
            name = preferred if preferred in found else found[0]
            return known(name, f"{world.name(folder.path)}/{name}")
    source = f"import path: no {STEM}*.so, no {STEM}*.pyd"
    return unknown(path.problem, source) if path.problem else absent(source)
