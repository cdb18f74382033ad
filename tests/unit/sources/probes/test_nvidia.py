"""NVML's and nvidia-smi's answers as recordings: what becomes of them."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING, Any

import msgspec
import pytest

from fadoctor.model.environment import Target
from fadoctor.model.fact import Fact, Known, Unknown
from fadoctor.processes.command import Command, Ending, Result
from fadoctor.processes.run import run
from fadoctor.sources.probes.nvidia import GpuListObstacle
from fadoctor.sources.probes.nvidia_smi import find_program, read_nvidia_smi
from fadoctor.sources.probes.nvml import read_nvml
from fadoctor.sources.probes.world import World

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

NOW = "index,name,compute_cap,memory.total,mig.mode.current,driver_version,uuid"
BANNER = """\
Fri Nov 20 09:12:01 2026
+-----------------------------------------------------------------------------------------+
| NVIDIA-SMI 550.54.15              Driver Version: 550.54.15      CUDA Version: 12.4     |
|-----------------------------------------+------------------------+----------------------+
| GPU  Name                 Persistence-M | Bus-Id          Disp.A | Volatile Uncorr. ECC |
"""
RENAMED = "| NVIDIA-SMI 610.57.04     KMD Version: 610.57.04     CUDA UMD Version: 13.3     |\n"
TWO = """\
0, NVIDIA A100-SXM4-80GB, 8.0, 81920, Enabled, 550.54.15, GPU-8932f937-d72c-4106-c12f-20bd9faed9f6
1, Tesla T4, 7.5, 15360, [N/A], 550.54.15, GPU-1df5e2a8-0b7d-9c51-35a4-5f0c4f3e8a11
"""


def exited(stdout: str, code: int = 0, stderr: str = "") -> Result:
    return Result(Ending.EXITED, code, stdout, stderr, 0.01)


def world(
    root: Path, answer: Callable[[Command], Result] = run, system: str = "linux", **environ: str
) -> World:
    target = Target(kind="environment", label="test", reason="test")
    return World(target=target, environ=environ, run=answer, os=system, root=root)


def installed(root: Path) -> Path:
    """Put a program nvidia-smi below the root, where drivers have it."""
    program = root / "usr" / "bin" / "nvidia-smi"
    program.parent.mkdir(parents=True)
    program.write_text("#!/bin/sh\nexit 1\n")
    program.chmod(0o755)
    return program


def smi(root: Path, rows: Result, banner: Result | None = None) -> World:
    """Return a world where nvidia-smi gives these answers."""
    installed(root)
    plain = banner or exited(BANNER)
    return world(root, lambda command: rows if len(command.argv) > 1 else plain)


def value(fact: Fact) -> Any:
    assert isinstance(fact, Known), fact
    return fact.value


def test_two_gpus(tmp_path: Path) -> None:
    reading = read_nvidia_smi(smi(tmp_path, exited(TWO)))
    assert reading.trouble is None
    assert value(reading.driver) == "550.54.15"
    assert value(reading.cuda) == "12.4"
    a100, t4 = reading.gpus
    assert value(a100.name) == "NVIDIA A100-SXM4-80GB"
    assert value(a100.compute_capability) == "8.0"
    assert value(a100.memory_bytes) == 81920 << 20
    assert (value(a100.mig), value(t4.mig)) == (True, False)
    assert (a100.mig_uuids, t4.mig_uuids) == (None, ())
    assert t4.uuid == "GPU-1df5e2a8-0b7d-9c51-35a4-5f0c4f3e8a11"


def test_the_renamed_banner_is_read(tmp_path: Path) -> None:
    reading = read_nvidia_smi(smi(tmp_path, exited(TWO), exited(RENAMED)))
    assert value(reading.cuda) == "13.3"


@pytest.mark.parametrize(
    ("banner", "reason"),
    [
        (exited("| Driver Version: 470.82.01   CUDA Version: N/A |"), "names no CUDA version"),
        (exited("", 1, "boom"), "status 1"),
        (Result(Ending.TIMED_OUT, 0, "", "", 10.0), "gave no answer"),
    ],
)
def test_a_banner_without_a_cuda_version(tmp_path: Path, banner: Result, reason: str) -> None:
    reading = read_nvidia_smi(smi(tmp_path, exited(TWO), banner))
    assert isinstance(reading.cuda, Unknown)
    assert reason in reading.cuda.reason
    assert len(reading.gpus) == 2


def test_an_old_driver_refuses_fields_one_by_one(tmp_path: Path) -> None:
    installed(tmp_path)
    asked: list[str] = []

    def answer(command: Command) -> Result:
        if len(command.argv) == 1:
            return exited("| NVIDIA-SMI 418.67   Driver Version: 418.67   CUDA Version: 10.1 |")
        asked.append(command.argv[1])
        for field in ("compute_cap", "mig.mode.current"):
            if field in command.argv[1]:
                return exited(f'Field "{field}" is not a valid field to query.\n\n', 2)
        return exited("0, Tesla V100-SXM2-16GB, 16130, 418.67, GPU-a1\n")

    reading = read_nvidia_smi(world(tmp_path, answer))
    assert len(asked) == 3
    assert asked[0] == f"--query-gpu={NOW}"
    gpu = reading.gpus[0]
    assert value(gpu.name) == "Tesla V100-SXM2-16GB"
    assert value(gpu.mig) is False
    assert isinstance(gpu.compute_capability, Unknown)
    assert "too old" in gpu.compute_capability.reason
    assert value(reading.driver) == "418.67"


def test_a_refusal_without_end_does_not_loop(tmp_path: Path) -> None:
    refusal = exited('Field "index" is not a valid field to query.\n', 2)
    reading = read_nvidia_smi(smi(tmp_path, refusal))
    assert reading.trouble is not None


def test_values_that_are_not_there_are_unknown(tmp_path: Path) -> None:
    row = "0, [Unknown Error], [N/A], [Not Supported], [Unknown Error], [N/A], [Unknown Error]\n"
    reading = read_nvidia_smi(smi(tmp_path, exited(row)))
    gpu = reading.gpus[0]
    facts = (gpu.name, gpu.compute_capability, gpu.memory_bytes, gpu.mig, reading.driver)
    assert all(isinstance(fact, Unknown) for fact in facts)
    assert (gpu.uuid, gpu.mig_uuids) == (None, None)


def test_hostile_rows_are_harmless(tmp_path: Path) -> None:
    rows = (
        "WARNING: infoROM is corrupted at gpu 0000:05:00.0\n"
        f"0, \x1b[31m{'x' * 10_000}, with, commas, 9.0, 99999999999999999, Disabled, 1.2, GPU-1\n"
        "1, short row\n" + "junk\n" * 5000
    )
    reading = read_nvidia_smi(smi(tmp_path, exited(rows)))
    (gpu,) = reading.gpus
    name = value(gpu.name)
    assert name.startswith("?[31mxxx")
    assert len(name) == 2000
    assert value(gpu.compute_capability) == "9.0"
    assert isinstance(gpu.memory_bytes, Unknown)


def test_no_devices_is_an_answer(tmp_path: Path) -> None:
    reading = read_nvidia_smi(smi(tmp_path, exited("No devices were found\n", 6)))
    assert reading.trouble is None
    assert reading.gpus == ()


@pytest.mark.parametrize(
    ("result", "obstacle", "words"),
    [
        (
            exited(
                "NVIDIA-SMI has failed because it couldn't communicate with the NVIDIA driver", 9
            ),
            GpuListObstacle.NO_DRIVER,
            "couldn't communicate",
        ),
        (
            exited("NVIDIA-SMI couldn't find libnvidia-ml.so library in your system.", 12),
            GpuListObstacle.NO_DRIVER,
            "couldn't find libnvidia-ml.so",
        ),
        (
            exited("Failed to initialize NVML: Driver/library version mismatch\nNVML library", 18),
            GpuListObstacle.FAILED,
            "Driver/library version mismatch",
        ),
        (
            exited(TWO + "Unable to determine the device handle for GPU1: 0000:34:00.0: Unknown"),
            GpuListObstacle.FAILED,
            "Unable to determine the device handle for GPU1",
        ),
        (exited(""), GpuListObstacle.FAILED, "status 0"),
        (exited("", 127, "sh: error"), GpuListObstacle.FAILED, "status 127: sh: error"),
        (Result(Ending.SIGNALLED, 11, "0, GPU", "", 0.1), GpuListObstacle.FAILED, "SIGSEGV"),
        (Result(Ending.TIMED_OUT, 0, "", "", 10.0), GpuListObstacle.HUNG, "within 10 s"),
        (Result(Ending.STUCK, 0, "", "", 15.0), GpuListObstacle.HUNG, "stuck"),
    ],
)
def test_failures_are_told_apart(
    tmp_path: Path, result: Result, obstacle: GpuListObstacle, words: str
) -> None:
    reading = read_nvidia_smi(smi(tmp_path, result))
    assert reading.trouble is not None
    assert reading.trouble.obstacle is obstacle
    assert words in reading.trouble.reason
    assert isinstance(reading.driver, Unknown)


def test_a_real_process_that_hangs_costs_its_time_limit(tmp_path: Path) -> None:
    installed(tmp_path).write_text("#!/bin/sh\nsleep 1000\n")
    reading = read_nvidia_smi(world(tmp_path), timeout_s=0.3)
    assert reading.trouble is not None
    assert reading.trouble.obstacle is GpuListObstacle.HUNG


def test_a_real_process_is_read(tmp_path: Path) -> None:
    script = f"#!/bin/sh\nif [ $# -gt 0 ]; then\ncat <<E\n{TWO}E\nelse\ncat <<E\n{BANNER}E\nfi\n"
    installed(tmp_path).write_text(script)
    reading = read_nvidia_smi(world(tmp_path, PATH="/usr/bin:/bin"))
    assert len(reading.gpus) == 2
    assert value(reading.cuda) == "12.4"


def test_the_program_is_looked_for_on_path_first(tmp_path: Path) -> None:
    installed(tmp_path)
    other = tmp_path / "opt" / "nvidia-smi"
    other.parent.mkdir()
    other.write_text("")
    assert find_program(world(tmp_path, PATH="relative::/opt")) == str(
        tmp_path / "usr" / "bin" / "nvidia-smi"
    )
    other.chmod(0o755)
    assert find_program(world(tmp_path, PATH="relative::/opt")) == str(other)


def test_one_of_the_examined_environment_is_never_run(tmp_path: Path) -> None:
    """Regression: the first nvidia-smi on PATH was run, and an active environment comes first."""
    program = installed(tmp_path)
    planted = tmp_path / "venv" / "bin" / "nvidia-smi"
    planted.parent.mkdir(parents=True)
    planted.write_text("#!/bin/sh\nexit 0\n")
    planted.chmod(0o755)
    here = world(tmp_path, PATH="/venv/bin:/usr/bin")
    roots = {"prefix": str(tmp_path / "venv")}
    target = Target("environment", "test", "test", roots=roots)
    assert find_program(msgspec.structs.replace(here, target=target)) == str(program)


def test_without_the_program(tmp_path: Path) -> None:
    reading = read_nvidia_smi(world(tmp_path, PATH="/usr/bin"))
    assert reading.trouble is not None
    assert reading.trouble.obstacle is GpuListObstacle.NOT_INSTALLED
    assert find_program(world(tmp_path, system="windows", PATH="/usr/bin")) is None


def nvml(root: Path, result: Result) -> World:
    return world(root, lambda _: result)


def test_the_child_is_our_interpreter_apart_from_the_target(tmp_path: Path) -> None:
    commands: list[Command] = []

    def answer(command: Command) -> Result:
        commands.append(command)
        return exited("")

    read_nvml(world(tmp_path, answer, LD_LIBRARY_PATH="/stub"), timeout_s=3.0)
    (command,) = commands
    assert command.argv[:3] == (sys.executable, "-I", "-S")
    assert command.argv[3].endswith("_fadoctor_nvml.py")
    assert (command.timeout_s, command.env) == (3.0, {"LD_LIBRARY_PATH": "/stub"})


@pytest.mark.parametrize(
    ("error", "obstacle"),
    [
        (
            "libnvidia-ml.so.1: cannot open shared object file: No such file or directory",
            GpuListObstacle.NOT_INSTALLED,
        ),
        (
            "Error loading shared library libnvidia-ml.so.1: No such file or directory",
            GpuListObstacle.NOT_INSTALLED,
        ),
        (
            "libdxcore.so: cannot open shared object file: No such file or directory",
            GpuListObstacle.FAILED,
        ),
        ("libnvidia-ml.so.1: wrong ELF class: ELFCLASS32", GpuListObstacle.FAILED),
    ],
)
def test_what_the_loader_says(tmp_path: Path, error: str, obstacle: GpuListObstacle) -> None:
    trouble = {"call": "dlopen", "code": None, "error": error}
    report = json.dumps({"schema": 1, "ok": False, "trouble": trouble})
    reading = read_nvml(nvml(tmp_path, exited(report)))
    assert reading.trouble is not None
    assert reading.trouble.obstacle is obstacle


@pytest.mark.parametrize(
    ("result", "words"),
    [
        (exited("", 1, "call nvmlInit\nTraceback"), "nvmlInit exited with status 1"),
        (exited("not json"), "without an answer"),
        (exited('{"schema": 1}'), "not understood"),
        (exited('{"schema": 1, "ok": "yes"}'), "not understood"),
        (exited('{"schema": 1, "ok": true}'), "without a reason"),
        (exited(json.dumps({"schema": 1, "ok": True, "gpus": [1]})), "not understood"),
        (Result(Ending.NOT_STARTED, 0, "", "No such file", 0.0), "could not be started"),
        (Result(Ending.SIGNALLED, 6, "", "call nvmlInit\n", 0.1), "nvmlInit died of SIGABRT"),
        (Result(Ending.STUCK, 0, "", "call nvmlInit\n", 0.1), "nvmlInit does not end"),
    ],
)
def test_a_child_without_a_usable_answer(tmp_path: Path, result: Result, words: str) -> None:
    reading = read_nvml(nvml(tmp_path, result))
    assert reading.trouble is not None
    assert words in reading.trouble.reason


def test_a_complete_answer_counts_whatever_came_after(tmp_path: Path) -> None:
    """A driver that hangs while the process ends has answered all the same."""
    answer = {"schema": 1, "ok": True, "driver": {"value": "570.86.15"}, "cuda": {"value": 12080}}
    result = Result(Ending.TIMED_OUT, 0, json.dumps(answer), "", 10.0)
    reading = read_nvml(nvml(tmp_path, result))
    assert reading.trouble is None
    assert value(reading.driver) == "570.86.15"
