"""What is in the target's flash-attn, and which wheel it came from, as far as that is recorded."""

from __future__ import annotations

import re
from pathlib import Path

from fadoctor.model.fact import Absent, Fact, Known, Unknown
from fadoctor.probes.import_path import (
    ImportPath,
    Package,
    editable_folders,
    find_package,
    read_import_path,
)
from fadoctor.probes.world import Facts, World, absent, known, unknown

STEM = "flash_attn_2_cuda"

# flash_attn-2.8.3+cu12torch2.4cxx11abiFALSE-cp311-cp311-linux_x86_64.whl
_WHEEL = re.compile(
    r"flash_attn-[^-+]{1,60}(?:\+(?P<local>[^-]{1,120}))?"
    r"(?:-[0-9][^-]{0,40})?-(?P<python>\w[\w.]{0,60})-[\w.]{1,60}-[\w.]{1,200}\.whl",
    re.ASCII,
)
_OFFICIAL = "https://github.com/dao-ailab/flash-attention/releases/download/"
# cu12torch2.6cxx11abiFALSE, cu128torch2.7, cu124torch2.6.0cxx11abifalse
_CUDA = re.compile(r"(?<![a-z0-9])cu([0-9]{2,3})(?![0-9])", re.IGNORECASE)
_TORCH = re.compile(r"torch([0-9]{1,2}\.[0-9]{1,3})(?![0-9])", re.IGNORECASE)
_ABI = re.compile(r"cxx11abi(true|false)(?![a-z])", re.IGNORECASE)
# flash_attn_2_cuda.cpython-311-x86_64-linux-gnu.so, flash_attn_2_cuda.cp311-win_amd64.pyd
_EXTENSION_TAG = re.compile(r"\.(?:cpython-|cp)([0-9]{2,4}t?)-")
_WHEEL_FACTS = ("origin", "torch", "cuda", "cuda_major", "cxx11_abi", "python")


def probe(world: World, facts: dict[str, Fact]) -> Facts:
    """Return the files that tell FA2, FA4 and leftovers apart, and what names say of the build."""
    path = read_import_path(world, *editable_folders(world, facts, "flash_attn"))
    out = _files(world, path, find_package(path, "flash_attn"))
    out["flash_attn.extension"] = _extension(world, path, facts)
    version = facts.get("flash_attn.version", absent("no metadata of flash-attn"))
    if not isinstance(version, Known):
        return out | {f"flash_attn.wheel.{name}": version for name in _WHEEL_FACTS}
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


def wheel_facts(version: Known, extension: Fact, facts: dict[str, Fact]) -> Facts:
    """Return what version, file name and origin say of the build."""
    recorded = facts.get("flash_attn.direct_url", absent("no metadata of flash-attn"))
    url = recorded if isinstance(recorded, Known) else None
    name = _WHEEL.fullmatch(str(url.value).rpartition("/")[2].replace("%2B", "+")) if url else None
    local = str(version.value).partition("+")[2]
    if name is not None and url is not None and name["local"]:
        label, source = name["local"], url.source
    else:
        label, source = local, version.source
    out = _label_facts(label, f"{source}: {label}" if label else f"{source}: no label")
    if not label and isinstance(recorded, Unknown):
        out = dict.fromkeys(out, recorded)
    out["flash_attn.wheel.python"] = _python_tag(extension, facts, name["python"] if name else "")
    out["flash_attn.wheel.origin"] = _origin(recorded, local, version.source)
    return out


def _label_facts(label: str, source: str) -> Facts:
    cuda, torch, abi = _CUDA.search(label), _TORCH.search(label), _ABI.search(label)
    missing = absent(source)
    return {
        "flash_attn.wheel.cuda": known(f"cu{cuda[1]}", source) if cuda else missing,
        "flash_attn.wheel.cuda_major": known(cuda[1][:2], source) if cuda else missing,
        "flash_attn.wheel.torch": known(torch[1], source) if torch else missing,
        "flash_attn.wheel.cxx11_abi": known(abi[1].lower() == "true", source) if abi else missing,
    }


def _python_tag(extension: Fact, facts: dict[str, Fact], in_url: str) -> Fact:
    """Return the tag of the extension's name, else of WHEEL, else of the recorded file name."""
    if isinstance(extension, Known) and (found := _EXTENSION_TAG.search(str(extension.value))):
        return known(f"cp{found[1]}", extension.source)
    tags = facts.get("flash_attn.wheel.tags", absent("no WHEEL"))
    if isinstance(tags, Known) and isinstance(tags.value, tuple) and tags.value:
        return known(tags.value[0].partition("-")[0], f"{tags.source}: Tag: {tags.value[0]}")
    if in_url:
        return known(in_url, "file name in direct_url.json")
    return absent(tags.source) if not isinstance(tags, Unknown) else tags


def _origin(recorded: Fact, local: str, version_source: str) -> Fact:
    match recorded:
        case Unknown():
            return recorded
        case Known(value=str(url), source=source):
            remote = url.lower().startswith(("http://", "https://")) and url.lower().endswith(
                ".whl"
            )
            if not remote:
                return known("local", source)  # a file, a folder, a checkout or a source archive
            official = url.lower().startswith(_OFFICIAL)
            return known("official" if official else "community", source)
        case _:
            # The official files are renamed after the build: their metadata has no local version.
            if _TORCH.search(local):
                return known("community", version_source)
            return absent(recorded.source) if isinstance(recorded, Absent) else recorded
