"""How the sources together become the facts of the GPUs and of the driver."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from fadoctor.model.catalogue import build_catalogue, find_spec
from fadoctor.model.environment import Target
from fadoctor.model.fact import Absent, Fact, Known, Unknown
from fadoctor.processes.command import Command, Ending, Result
from fadoctor.sources.probes.gpu import probe
from fadoctor.sources.probes.world import World

if TYPE_CHECKING:
    from pathlib import Path

GONE = {
    "call": "dlopen",
    "code": None,
    "error": "libnvidia-ml.so.1: cannot open shared object file: No such file or directory",
}
ROWS = "0, Tesla T4, 7.5, 15360, [N/A], 550.54.15, GPU-1df5e2a8\n"
BANNER = "| NVIDIA-SMI 550.54.15   Driver Version: 550.54.15   CUDA Version: 12.4 |\n"
VERSION = (
    "NVRM version: NVIDIA UNIX x86_64 Kernel Module  470.82.01  Wed Oct 27 21:21:55 UTC 2021\n"
)
KFD = "sys/class/kfd/kfd/topology/nodes"


def answer(value: Any) -> dict[str, Any]:
    return {"value": value}


def gpu(name: str, number: int = 0) -> dict[str, Any]:
    return {
        "name": answer(name),
        "compute_capability": answer([8, 0]),
        "memory_bytes": answer(1 << 30),
        "mig": answer(0),
        "uuid": answer(f"GPU-{number}"),
        "mig_uuids": answer([]),
    }


def nvml(*gpus: dict[str, Any], **changes: Any) -> Result:
    """Return what the child prints for these GPUs."""
    report = {
        "schema": 1,
        "ok": True,
        "driver": answer("570.86.15"),
        "cuda": answer(12080),
        "gpus": list(gpus),
    }
    return Result(Ending.EXITED, 0, json.dumps(report | changes), "", 0.1)


def failed(call: str, code: int) -> Result:
    trouble = {"call": call, "code": code, "error": ""}
    report = {"schema": 1, "ok": False, "trouble": trouble}
    return Result(Ending.EXITED, 0, json.dumps(report), "", 0.1)


NO_LIBRARY = Result(
    Ending.EXITED, 0, json.dumps({"schema": 1, "ok": False, "trouble": GONE}), "", 0.1
)
HUNG = Result(Ending.TIMED_OUT, 0, "", "call nvmlInit\n", 10.0)


def look(root: Path, child: Result, smi: str | None = None, **environ: str) -> dict[str, Fact]:
    """Return the facts of a machine whose NVML, and nvidia-smi, say this."""
    if smi is not None:
        put(root, "usr/bin/nvidia-smi", "")
        (root / "usr/bin/nvidia-smi").chmod(0o755)

    def run(command: Command) -> Result:
        if command.argv[-1].endswith("nvidia-smi"):
            return Result(Ending.EXITED, 0, BANNER, "", 0.1)
        if "nvidia-smi" in command.argv[0]:
            return Result(Ending.EXITED, 0 if smi == ROWS else 9, smi or "", "", 0.1)
        return child

    target = Target(kind="environment", label="test", reason="test")
    system = environ.pop("system", "linux")
    return probe(World(target=target, environ=environ, run=run, os=system, root=root), {})


def put(root: Path, name: str, text: str) -> None:
    file = root / name
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text)


def add_amd(root: Path, number: int) -> None:
    put(root, f"{KFD}/{number}/properties", "simd_count 1216\ngfx_target_version 90402\n")


def value(fact: Fact) -> Any:
    assert isinstance(fact, Known), fact
    return fact.value


def reason(fact: Fact) -> str:
    assert isinstance(fact, Unknown), fact
    return fact.reason


def test_every_fact_is_in_the_catalogue_with_this_probe(tmp_path: Path) -> None:
    add_amd(tmp_path, 1)
    catalogue = build_catalogue()
    facts = look(tmp_path, nvml(gpu("NVIDIA A100")))
    for name in facts:
        spec = find_spec(catalogue, name)
        assert spec is not None
        assert spec.provider == "gpu"
    promised = {name for name, spec in catalogue.items() if spec.provider == "gpu"}
    assert promised == {name.replace("[0]", "[]") for name in facts if "[1]" not in name}


def test_a_machine_without_a_gpu(tmp_path: Path) -> None:
    facts = look(tmp_path, NO_LIBRARY)
    assert value(facts["gpu.count"]) == 0
    assert facts["gpu.count"].source == (
        "NVIDIA: NVML: libnvidia-ml.so.1 is not there; nvidia-smi is not there; no device node; "
        "AMD: no /sys/class/kfd/kfd/topology/nodes"
    )
    assert value(facts["gpu.visible_count"]) == 0
    for name in ("driver.version", "driver.cuda", "driver.nvml"):
        assert isinstance(facts[name], Absent)


def test_nvidia_smi_where_nvml_cannot_be_loaded(tmp_path: Path) -> None:
    facts = look(tmp_path, NO_LIBRARY, ROWS)
    assert value(facts["gpu.count"]) == 1
    assert value(facts["driver.nvml"]) == "nvidia-smi"
    assert facts["driver.nvml"].source == "NVML: libnvidia-ml.so.1 is not there"
    assert value(facts["driver.version"]) == "550.54.15"
    assert value(facts["driver.cuda"]) == "12.4"
    assert value(facts["gpu[0].compute_capability"]) == "7.5"


def test_nvidia_smi_is_not_asked_where_nvml_answers_or_hangs(tmp_path: Path) -> None:
    assert value(look(tmp_path, nvml(), ROWS)["driver.nvml"]) == "nvml"
    facts = look(tmp_path, HUNG, ROWS)
    assert reason(facts["gpu.count"]) == "NVML: nvmlInit gave no answer within 10 s and was stopped"


def test_the_kernel_knows_the_version_when_the_libraries_fail(tmp_path: Path) -> None:
    put(tmp_path, "proc/driver/nvidia/version", VERSION)
    facts = look(tmp_path, failed("nvmlInit", 18))
    assert value(facts["driver.version"]) == "470.82.01"
    assert facts["driver.version"].source.startswith("/proc/driver/nvidia/version: NVRM")
    for name in ("gpu.count", "gpu.visible_count", "driver.cuda", "driver.nvml"):
        assert "Driver/library version mismatch" in reason(facts[name])


def test_a_container_that_was_given_no_gpu(tmp_path: Path) -> None:
    put(tmp_path, "proc/driver/nvidia/version", VERSION)
    facts = look(tmp_path, NO_LIBRARY)
    assert value(facts["gpu.count"]) == 0
    assert value(facts["driver.version"]) == "470.82.01"
    assert isinstance(facts["driver.cuda"], Unknown)


@pytest.mark.parametrize("node", ["nvidiactl", "nvidia0", "nvmap"])
def test_device_nodes_without_nvml(tmp_path: Path, node: str) -> None:
    put(tmp_path, f"dev/{node}", "")
    facts = look(tmp_path, NO_LIBRARY)
    assert f"/dev/{node} is there" in reason(facts["gpu.count"])
    assert "utility" in reason(facts["gpu.count"])
    assert isinstance(facts["driver.version"], Unknown)


def test_wsl_without_nvidia(tmp_path: Path) -> None:
    put(tmp_path, "dev/dxg", "")
    assert value(look(tmp_path, NO_LIBRARY)["gpu.count"]) == 0
    assert "/dev/dxg is there" in reason(look(tmp_path, failed("nvmlInit", 9))["gpu.count"])


def test_nvidia_smi_that_finds_no_driver(tmp_path: Path) -> None:
    facts = look(tmp_path, NO_LIBRARY, "NVIDIA-SMI has failed because it couldn't communicate")
    assert value(facts["gpu.count"]) == 0
    assert "couldn't communicate" in facts["gpu.count"].source


def test_a_version_that_nvml_does_not_give_comes_from_the_kernel(tmp_path: Path) -> None:
    child = nvml(driver={"call": "nvmlSystemGetDriverVersion", "code": 999})
    assert "error 999" in reason(look(tmp_path, child)["driver.version"])
    put(tmp_path, "proc/driver/nvidia/version", VERSION)
    assert value(look(tmp_path, child)["driver.version"]) == "470.82.01"


def test_an_amd_machine(tmp_path: Path) -> None:
    add_amd(tmp_path, 1)
    add_amd(tmp_path, 2)
    put(tmp_path, "dev/kfd", "")
    facts = look(tmp_path, NO_LIBRARY, HIP_VISIBLE_DEVICES="1")
    assert value(facts["gpu.count"]) == 2
    assert value(facts["gpu[0].vendor"]) == "amd"
    assert value(facts["gpu[1].gfx"]) == "gfx942"
    assert isinstance(facts["gpu[0].compute_capability"], Absent)
    assert [value(facts[f"gpu[{i}].visible"]) for i in (0, 1)] == [False, True]
    assert value(facts["gpu.visible_count"]) == 1


def test_amd_gpus_without_their_device_node_are_not_visible(tmp_path: Path) -> None:
    add_amd(tmp_path, 1)
    facts = look(tmp_path, NO_LIBRARY)
    assert value(facts["gpu.count"]) == 1
    assert facts["gpu[0].visible"] == Known(False, "/dev/kfd is not there")


def test_both_vendors_nvidia_first(tmp_path: Path) -> None:
    add_amd(tmp_path, 0)
    put(tmp_path, "dev/kfd", "")
    facts = look(tmp_path, nvml(gpu("NVIDIA A100")))
    assert value(facts["gpu.count"]) == 2
    assert [value(facts[f"gpu[{i}].vendor"]) for i in (0, 1)] == ["nvidia", "amd"]


def test_cuda_visible_devices(tmp_path: Path) -> None:
    child = nvml(gpu("NVIDIA A100", 0), gpu("NVIDIA A100", 1))
    facts = look(tmp_path, child, CUDA_VISIBLE_DEVICES="1")
    assert facts["gpu[0].visible"] == Known(False, "CUDA_VISIBLE_DEVICES=1")
    assert value(facts["gpu.visible_count"]) == 1
    assert value(look(tmp_path, child, CUDA_VISIBLE_DEVICES="")["gpu.visible_count"]) == 0


def test_the_order_of_mixed_models_is_named_as_an_assumption(tmp_path: Path) -> None:
    child = nvml(gpu("NVIDIA A100", 0), gpu("Tesla T4", 1))
    facts = look(tmp_path, child, CUDA_VISIBLE_DEVICES="1")
    assert "PCI bus order" in facts["gpu[1].visible"].source
    facts = look(tmp_path, child, CUDA_VISIBLE_DEVICES="GPU-1")
    assert facts["gpu[1].visible"] == Known(True, "CUDA_VISIBLE_DEVICES=GPU-1")


def test_visibility_that_cannot_be_decided(tmp_path: Path) -> None:
    partitioned = gpu("NVIDIA A100", 1) | {"mig": answer(1), "mig_uuids": answer(["MIG-1"])}
    facts = look(tmp_path, nvml(gpu("NVIDIA A100"), partitioned), CUDA_VISIBLE_DEVICES="1")
    assert "MIG" in reason(facts["gpu[0].visible"])
    assert "MIG" in reason(facts["gpu.visible_count"])
    assert value(facts["gpu.count"]) == 2


def test_macos_and_windows(tmp_path: Path) -> None:
    facts = look(tmp_path, nvml(gpu("never asked")), system="macos")
    assert value(facts["gpu.count"]) == 0
    facts = look(tmp_path, nvml(gpu("NVIDIA GeForce RTX 4090")), system="windows")
    assert value(facts["gpu.count"]) == 1
    assert "not looked for here" in facts["gpu.count"].source
