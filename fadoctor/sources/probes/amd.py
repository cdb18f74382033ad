"""AMD GPUs from the kernel's compute topology, /sys/class/kfd: no library and no process."""

from __future__ import annotations

import re
from itertools import islice

import msgspec

from fadoctor.model.fact import Fact
from fadoctor.sources.probes.world import World, known, unknown

TOPOLOGY = "/sys/class/kfd/kfd/topology/nodes"

_NODE_LIMIT = 256
_GPU_LIMIT = 256
_BANK_LIMIT = 16
_FILE_LIMIT = 16_384
_LOCAL_HEAPS = (1, 2)
"""heap_type of memory on the GPU: visible to the host, and private. 0 is the host's own memory."""


class AmdGpu(msgspec.Struct, frozen=True):
    """What was read about one GPU."""

    name: Fact
    gfx: Fact
    memory_bytes: Fact
    uuid: str | None = None
    """``GPU-4fd3d0e445b9207e``, from unique_id; None where the GPU has none."""


def read_amd(world: World) -> tuple[AmdGpu, ...] | None:
    """Return the GPUs in the order of the topology, which is ROCm's; None where there is no kfd.

    A node whose properties cannot be read belongs to a GPU that a container was not given.
    """
    try:
        entries = list(islice(world.path(TOPOLOGY).iterdir(), _NODE_LIMIT))
    except OSError:
        return None
    names = (entry.name for entry in entries)
    numbers = sorted(int(name) for name in names if re.fullmatch(r"[0-9]{1,6}", name))
    gpus = (_read_node(world, f"{TOPOLOGY}/{number}") for number in numbers)
    return tuple(islice((gpu for gpu in gpus if gpu is not None), _GPU_LIMIT))


def parse_properties(text: str) -> dict[str, int]:
    """Return the properties of a node or of a memory bank, one ``name value`` a line.

    gfx_target_version 90402
    """
    found = re.findall(r"^([a-z0-9_]{1,40}) ([0-9]{1,20})$", text, re.MULTILINE)
    return {name: int(value) for name, value in found}


def gfx_name(version: int) -> str | None:
    """Return gfx90a for 90010: major x 10000 + minor x 100 + step, the last two as hex digits."""
    major, minor, step = version // 10_000, version // 100 % 100, version % 100
    if not 1 <= major < 100 or minor > 15 or step > 15:
        return None
    return f"gfx{major}{minor:x}{step:x}"


def _read_node(world: World, node: str) -> AmdGpu | None:
    properties = parse_properties(world.read(f"{node}/properties", _FILE_LIMIT) or "")
    if properties.get("simd_count", 0) == 0:
        return None
    gfx = gfx_name(properties.get("gfx_target_version", 0))
    source = f"{node}/properties"
    unique = properties.get("unique_id", 0)
    return AmdGpu(
        name=_name(world, node, properties, gfx),
        gfx=known(gfx, source) if gfx else unknown("no gfx_target_version", source),
        memory_bytes=_memory(world, node),
        uuid=f"GPU-{unique:016x}" if unique else None,
    )


def _name(world: World, node: str, properties: dict[str, int], gfx: str | None) -> Fact:
    """Return the product name where the card's own memory holds one, else the chip's name."""
    minor = properties.get("drm_render_minor", 0)
    card = f"/sys/class/drm/renderD{minor}/device/product_name"
    for file in (card, f"{node}/name"):
        text = (world.read(file, _FILE_LIMIT) or "").strip()
        if text and text != "ip discovery":
            return known(text, file)
    if gfx:
        return known(gfx, f"{node}/properties; the product's name is not recorded")
    return unknown("no name is recorded", node)


def _memory(world: World, node: str) -> Fact:
    """Return the bytes of the memory banks that are on the GPU."""
    source = f"{node}/mem_banks"
    total = 0
    for bank in range(_BANK_LIMIT):
        properties = parse_properties(world.read(f"{source}/{bank}/properties", _FILE_LIMIT) or "")
        size = properties.get("size_in_bytes", 0)
        if properties.get("heap_type") in _LOCAL_HEAPS and size < 1 << 56:
            total += size
    return known(total, source) if total else unknown("no memory bank of the GPU is listed", source)
