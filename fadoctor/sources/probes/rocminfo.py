"""rocminfo: the way to AMD's GPUs where the kernel has no topology of them, as under WSL."""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING

import msgspec

from fadoctor.processes.command import Command, child_environment
from fadoctor.sources.probes.amd import AmdGpu
from fadoctor.sources.probes.toolkit_files import is_foreign
from fadoctor.sources.probes.world import known, unknown

if TYPE_CHECKING:
    from collections.abc import Iterator

    from fadoctor.model.fact import Fact
    from fadoctor.sources.probes.world import World

TIMEOUT_S = 10.0
NAME = "rocminfo"

_BRIDGE = "/dev/dxg"
_FOLDERS = ("/opt/rocm/bin", "/usr/bin", "/usr/local/bin")
_AGENT_LIMIT = 256
_LINE_LIMIT = 20_000
# Agent 2
_AGENT = r"Agent \d{1,3}\s{0,9}"
#   Marketing Name:          AMD Radeon RX 7900 XTX
_FIELD = (
    r"  (?P<key>Name|Uuid|Marketing Name|Device Type):\s{1,40}(?P<value>\S[^\n]{0,80}?)\s{0,40}"
)
_GFX = r"gfx[0-9a-f]{3,4}"
#       Size:                    25149440(0x17fc000) KB
_SIZE = r" {6}Size:\s{1,40}(?P<size>\d{1,12})\(0x[0-9a-f]{1,12}\) KB\s{0,9}"


class RocminfoReading(msgspec.Struct, frozen=True):
    """What rocminfo says."""

    gpus: tuple[AmdGpu, ...]
    how: str
    trouble: str = ""
    """Why it gave no list; empty where it gave one."""


def read_rocminfo(world: World) -> RocminfoReading | None:
    """Return the GPUs that rocminfo lists under WSL; None elsewhere, and where it is not there."""
    if world.os != "linux" or not world.path(_BRIDGE).exists():
        return None
    program = _program(world)
    if program is None:
        return None
    environment = child_environment(world.environ)
    result = world.run(Command((program,), TIMEOUT_S, environment))
    gpus = tuple(parse_rocminfo(result.stdout)) if result.ok else ()
    trouble = "" if result.ok else f"{NAME}: {(result.stderr or result.stdout).strip()[:160]}"
    return RocminfoReading(gpus, NAME, trouble)


def parse_rocminfo(text: str) -> Iterator[AmdGpu]:
    """Yield the agents that are GPUs, in order, which is ROCm's."""
    agents: list[dict[str, str]] = []
    for line in text.splitlines()[:_LINE_LIMIT]:
        if re.fullmatch(_AGENT, line) and len(agents) < _AGENT_LIMIT:
            agents.append({})
        elif agents and (field := re.fullmatch(_FIELD, line)):
            agents[-1].setdefault(field["key"], field["value"])
        elif agents and (size := re.fullmatch(_SIZE, line)):
            agents[-1].setdefault("Size", size["size"])
    for agent in agents:
        if agent.get("Device Type") == "GPU" and re.fullmatch(_GFX, agent.get("Name", "")):
            yield _gpu(agent)


def _gpu(agent: dict[str, str]) -> AmdGpu:
    size = agent.get("Size")
    memory: Fact = unknown(f"{NAME} gives no size", NAME)
    if size:
        memory = known(int(size) << 10, NAME)
    identity = agent.get("Uuid", "")
    return AmdGpu(
        name=known(agent.get("Marketing Name", agent["Name"]), NAME),
        gfx=known(agent["Name"], NAME),
        memory_bytes=memory,
        uuid=identity if identity.startswith("GPU-") and identity != "GPU-XX" else None,
    )


def _program(world: World) -> str | None:
    for folder in _FOLDERS:
        path = world.path(folder) / NAME
        is_program = os.access(path, os.X_OK) and not path.is_dir()
        if is_program and not is_foreign(world, str(path)):
            return str(path)
    return None
