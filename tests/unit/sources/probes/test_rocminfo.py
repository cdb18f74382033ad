"""What rocminfo prints, and where it is asked."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fadoctor.model.environment import Target
from fadoctor.model.fact import Known, Unknown
from fadoctor.processes.command import Command, Ending, Result
from fadoctor.sources.probes.rocminfo import parse_rocminfo, read_rocminfo
from fadoctor.sources.probes.world import World

if TYPE_CHECKING:
    from pathlib import Path

TEXT = """\
Agent 1
*******
  Name:                    AMD EPYC 9654
  Marketing Name:          AMD EPYC 9654
  Device Type:             CPU
Agent 2
*******
  Name:                    gfx1201
  Uuid:                    GPU-1234567890abcdef
  Marketing Name:          AMD Radeon RX 9070 XT
  Device Type:             GPU
  Pool Info:
    Pool 1
      Size:                    16777216(0x1000000) KB
  ISA Info:
    ISA 1
      Name:                    amdgcn-amd-amdhsa--gfx1201
Agent 3
*******
  Name:                    gfx942
  Device Type:             GPU
"""


def test_only_agents_that_are_gpus_count() -> None:
    first, second = parse_rocminfo(TEXT)
    assert first.name == Known("AMD Radeon RX 9070 XT", "rocminfo")
    assert first.memory_bytes == Known(16 << 30, "rocminfo")
    assert first.uuid == "GPU-1234567890abcdef"
    assert (second.name, second.gfx) == (Known("gfx942", "rocminfo"), Known("gfx942", "rocminfo"))
    assert isinstance(second.memory_bytes, Unknown)


def test_anything_else_lists_none() -> None:
    for text in ("", "Agent 1\n", "ROCk module is NOT loaded", "Agent 2\n  Name:   gfx1201\n"):
        assert list(parse_rocminfo(text)) == []


def world(root: Path, result: Result) -> World:
    def run(command: Command) -> Result:
        assert command.argv[0].endswith("/opt/rocm/bin/rocminfo")
        return result

    target = Target("environment", "here", "", None, (), {}, may_run=False)
    return World(target, {}, run, "linux", root)


def laid_out(root: Path) -> None:
    for name in ("dev/dxg", "opt/rocm/bin/rocminfo"):
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).touch()
    (root / "opt/rocm/bin/rocminfo").chmod(0o755)


def test_it_is_asked_under_wsl_alone(tmp_path: Path) -> None:
    there = world(tmp_path, Result(Ending.EXITED, 0, TEXT, "", 0.1))
    assert read_rocminfo(there) is None
    laid_out(tmp_path)
    found = read_rocminfo(there)
    assert found is not None
    assert [gpu.gfx.value for gpu in found.gpus if isinstance(gpu.gfx, Known)] == [
        "gfx1201", "gfx942",
    ]  # fmt: skip


def test_a_failure_is_told(tmp_path: Path) -> None:
    laid_out(tmp_path)
    failed = read_rocminfo(world(tmp_path, Result(Ending.EXITED, 1, "no device", "", 0.1)))
    assert failed is not None
    assert failed.trouble == "rocminfo: no device"
