"""The real child, the real pynvml, and a library that plays the driver."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from fadoctor.model.environment import Target
from fadoctor.model.fact import Absent, Fact, Known, Unknown
from fadoctor.processes.run import run
from fadoctor.sources.probes.gpu import QueryLimits, probe
from fadoctor.sources.probes.nvidia import GpuListObstacle
from fadoctor.sources.probes.nvml import find_pynvml, read_nvml
from fadoctor.sources.probes.world import World

if TYPE_CHECKING:
    from collections.abc import Callable

BUILDER = Path(__file__).parents[3] / "stubs" / "build.py"
T4 = "Tesla T4|7|5|15360|none|0"
H200 = "NVIDIA H200|9|0|143771|off|0"
MIG_A100 = "NVIDIA A100-SXM4-80GB|8|0|81920|on|2"

CALLS = (
    "nvmlInitWithFlags",
    "nvmlSystemGetDriverVersion",
    "nvmlSystemGetCudaDriverVersion_v2",
    "nvmlDeviceGetCount_v2",
    "nvmlDeviceGetHandleByIndex_v2",
    "nvmlDeviceGetName",
    "nvmlDeviceGetCudaComputeCapability",
    "nvmlDeviceGetMemoryInfo",
    "nvmlDeviceGetMigMode",
    "nvmlDeviceGetUUID",
    "nvmlDeviceGetMaxMigDeviceCount",
    "nvmlDeviceGetMigDeviceHandleByIndex",
)
"""Every function of the library that the child calls."""

LOST = {
    "nvmlSystemGetDriverVersion": ("driver.version",),
    "nvmlSystemGetCudaDriverVersion_v2": ("driver.cuda",),
    "nvmlDeviceGetHandleByIndex_v2": (
        "gpu[0].name",
        "gpu[0].compute_capability",
        "gpu[0].memory_bytes",
        "gpu[0].mig",
    ),
    "nvmlDeviceGetName": ("gpu[0].name",),
    "nvmlDeviceGetCudaComputeCapability": ("gpu[0].compute_capability",),
    "nvmlDeviceGetMemoryInfo": ("gpu[0].memory_bytes",),
    "nvmlDeviceGetMigMode": ("gpu[0].mig",),
}
"""What each call costs; those that are missing here cost no fact."""


@pytest.fixture(scope="session")
def stub(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., Path]:
    """Return a function that compiles the library, without some functions, once each."""
    if sys.platform != "linux" or shutil.which("gcc") is None:
        pytest.skip("the stub driver is compiled by gcc for Linux, one of which is not there")
    folders: dict[tuple[str, ...], Path] = {}

    def build(*left_out: str) -> Path:
        if left_out not in folders:
            folder = tmp_path_factory.mktemp("nvml")
            argv = [sys.executable, str(BUILDER), "nvml", str(folder), *left_out]
            subprocess.run(argv, check=True, timeout=60)
            folders[left_out] = folder
        return folders[left_out]

    return build


def play(root: Path, library: Path, *gpus: str, **environ: str) -> World:
    """Return a world without a driver but for the stub, with those GPUs."""
    settings = {f"NVML_STUB_{name}": value for name, value in environ.items()}
    variables = {"LD_LIBRARY_PATH": str(library), "NVML_STUB_GPUS": ";".join(gpus), **settings}
    target = Target(kind="environment", label="test", reason="test")
    return World(target=target, environ=variables, run=run, os="linux", root=root)


def value(fact: Fact) -> Any:
    assert isinstance(fact, Known), fact
    return fact.value


def test_no_gpu(stub: Callable[..., Path], tmp_path: Path) -> None:
    facts = probe(play(tmp_path, stub()), {})
    assert facts["gpu.count"] == Known(0, facts["gpu.count"].source)
    assert value(facts["gpu.visible_count"]) == 0
    assert value(facts["driver.version"]) == "570.86.15"
    assert value(facts["driver.cuda"]) == "12.8"
    assert value(facts["driver.nvml"]) == "nvml"
    assert not [name for name in facts if name.startswith("gpu[")]


def test_one_gpu(stub: Callable[..., Path], tmp_path: Path) -> None:
    facts = probe(play(tmp_path, stub(), H200), {})
    found = {name: fact.value for name, fact in facts.items() if isinstance(fact, Known)}
    assert found == {
        "gpu.count": 1,
        "gpu.visible_count": 1,
        "gpu[0].name": "NVIDIA H200",
        "gpu[0].vendor": "nvidia",
        "gpu[0].compute_capability": "9.0",
        "gpu[0].memory_bytes": 143771 << 20,
        "gpu[0].mig": False,
        "gpu[0].visible": True,
        "driver.version": "570.86.15",
        "driver.cuda": "12.8",
        "driver.nvml": "nvml",
    }
    assert isinstance(facts["gpu[0].gfx"], Absent)
    assert "nvmlDeviceGetName" in facts["gpu[0].name"].source


def test_eight_gpus_of_mixed_models(stub: Callable[..., Path], tmp_path: Path) -> None:
    facts = probe(play(tmp_path, stub(), *[T4, H200] * 4, CUDA="13010"), {})
    assert value(facts["gpu.count"]) == 8
    names = [value(facts[f"gpu[{index}].name"]) for index in range(8)]
    assert names == ["Tesla T4", "NVIDIA H200"] * 4
    assert value(facts["gpu[6].compute_capability"]) == "7.5"
    assert value(facts["gpu[6].mig"]) is False  # a T4 answers: not supported
    assert value(facts["driver.cuda"]) == "13.1"


def test_mig(stub: Callable[..., Path], tmp_path: Path) -> None:
    facts = probe(play(tmp_path, stub(), MIG_A100, H200), {})
    assert value(facts["gpu.count"]) == 2
    assert [value(facts[f"gpu[{index}].mig"]) for index in (0, 1)] == [True, False]
    reading = read_nvml(play(tmp_path, stub(), MIG_A100, H200))
    assert reading.gpus[0].mig_uuids == (
        "MIG-00000000-0000-0000-0000-000000000000",
        "MIG-00000000-0000-0000-0000-000000000001",
    )


def test_a_mig_instance_makes_its_gpu_visible(stub: Callable[..., Path], tmp_path: Path) -> None:
    world = play(tmp_path, stub(), H200, MIG_A100)
    named = {"CUDA_VISIBLE_DEVICES": "MIG-00000001-0000-0000-0000-000000000001"}
    chosen = World(world.target, {**world.environ, **named}, run, "linux", tmp_path)
    facts = probe(chosen, {})
    assert [value(facts[f"gpu[{index}].visible"]) for index in (0, 1)] == [False, True]


# 3 is "not supported", which some calls may say; the others are alike, and each is a process.
@pytest.mark.sampled(every=5)
@pytest.mark.parametrize(
    "code", [3, 15, 4711, *(pytest.param(code, marks=pytest.mark.long) for code in (4, 18, 999))]
)
@pytest.mark.parametrize("call", CALLS)
def test_an_error_code_from_every_call(
    stub: Callable[..., Path], tmp_path: Path, call: str, code: int
) -> None:
    facts = probe(play(tmp_path, stub(), MIG_A100, FAIL=f"{call}={code}"), {})
    if call in ("nvmlInitWithFlags", "nvmlDeviceGetCount_v2"):
        count = facts["gpu.count"]
        assert isinstance(count, Unknown)
        assert f"error {code}" in count.reason
        assert isinstance(facts["driver.nvml"], Unknown)
        return
    unknown = {name for name, fact in facts.items() if isinstance(fact, Unknown)}
    expected = set(LOST.get(call, ()))
    if (call, code) == ("nvmlDeviceGetMigMode", 3):
        expected = set()  # a GPU that does not support MIG has it off
    assert unknown == expected
    for name in unknown:
        fact = facts[name]
        assert isinstance(fact, Unknown)
        assert f"error {code}" in fact.reason


@pytest.mark.parametrize("code", [1, 2, 6, 9, 12, 13, 17, 28])
def test_other_error_codes_of_the_first_call(
    stub: Callable[..., Path], tmp_path: Path, code: int
) -> None:
    reading = read_nvml(play(tmp_path, stub(), H200, FAIL=f"nvmlInitWithFlags={code}"))
    assert reading.trouble is not None
    expected = GpuListObstacle.NO_DRIVER if code in (9, 12) else GpuListObstacle.FAILED
    assert reading.trouble.obstacle is expected
    assert f"error {code}" in reading.trouble.reason


def test_a_mismatch_is_named_in_words(stub: Callable[..., Path], tmp_path: Path) -> None:
    facts = probe(play(tmp_path, stub(), H200, FAIL="nvmlInitWithFlags=18"), {})
    count = facts["gpu.count"]
    assert isinstance(count, Unknown)
    assert "Driver/library version mismatch" in count.reason


def test_a_failing_gpu_leaves_the_others_alone(stub: Callable[..., Path], tmp_path: Path) -> None:
    failing = "nvmlDeviceGetHandleByIndex_v2:1=15,nvmlDeviceGetName:2=999"
    facts = probe(play(tmp_path, stub(), H200, H200, H200, H200, FAIL=failing), {})
    assert value(facts["gpu.count"]) == 4
    lost = facts["gpu[1].compute_capability"]
    assert isinstance(lost, Unknown)
    assert "GPU is lost" in lost.reason
    assert isinstance(facts["gpu[2].name"], Unknown)
    assert value(facts["gpu[2].compute_capability"]) == "9.0"
    assert value(facts["gpu[3].name"]) == "NVIDIA H200"


def test_library_there_but_no_driver_and_no_device_nodes(
    stub: Callable[..., Path], tmp_path: Path
) -> None:
    facts = probe(play(tmp_path, stub(), FAIL="nvmlInitWithFlags=9"), {})
    assert value(facts["gpu.count"]) == 0
    assert "driver not loaded" in facts["gpu.count"].source
    assert isinstance(facts["driver.version"], Absent)


def test_no_driver_but_device_nodes(stub: Callable[..., Path], tmp_path: Path) -> None:
    (tmp_path / "dev").mkdir()
    (tmp_path / "dev" / "nvidia0").touch()
    facts = probe(play(tmp_path, stub(), FAIL="nvmlInitWithFlags=9"), {})
    count = facts["gpu.count"]
    assert isinstance(count, Unknown)
    assert "/dev/nvidia0 is there" in count.reason


@pytest.mark.sampled(every=3)
@pytest.mark.parametrize("call", CALLS)
def test_a_library_without_a_function(stub: Callable[..., Path], tmp_path: Path, call: str) -> None:
    facts = probe(play(tmp_path, stub(call), MIG_A100), {})
    unknown = {name for name, fact in facts.items() if isinstance(fact, Unknown)}
    if call in ("nvmlInitWithFlags", "nvmlDeviceGetCount_v2"):
        count = facts["gpu.count"]
        assert isinstance(count, Unknown)
        assert "function not found" in count.reason
    else:
        assert value(facts["gpu.count"]) == 1
        assert unknown == set(LOST.get(call, ()))


@pytest.mark.long
@pytest.mark.parametrize("call", ["dlopen", "nvmlInitWithFlags", "nvmlDeviceGetMemoryInfo"])
def test_a_hang_costs_its_time_limit_and_is_named(
    stub: Callable[..., Path], tmp_path: Path, call: str
) -> None:
    facts = probe(play(tmp_path, stub(), H200, HANG=call), {}, QueryLimits(nvml_s=2.0))
    count = facts["gpu.count"]
    assert isinstance(count, Unknown)
    assert "gave no answer" in count.reason
    assert call.removesuffix("WithFlags") in count.reason
    assert isinstance(facts["driver.version"], Unknown)


@pytest.mark.parametrize("call", ["dlopen", "nvmlDeviceGetMemoryInfo"])
def test_a_crash_is_named(stub: Callable[..., Path], tmp_path: Path, call: str) -> None:
    facts = probe(play(tmp_path, stub(), H200, CRASH=call), {})
    count = facts["gpu.count"]
    assert isinstance(count, Unknown)
    assert count.reason.startswith(f"NVML: {call} died of SIGSEGV")


def test_names_with_escapes_or_without_end_are_harmless(
    stub: Callable[..., Path], tmp_path: Path
) -> None:
    names = ["\x1b]0:owned\x07\x1b[31mGPU", "x" * 10_000, " "]
    gpus = [f"{name}|9|0|1|off|0" for name in names]
    facts = probe(play(tmp_path, stub(), *gpus), {})
    assert value(facts["gpu[0].name"]) == "?]0:owned??[31mGPU"
    assert value(facts["gpu[1].name"]) == "x" * 96
    assert isinstance(facts["gpu[2].name"], Unknown)


def test_a_name_that_is_not_utf8_costs_only_the_name(
    stub: Callable[..., Path], tmp_path: Path
) -> None:
    facts = probe(play(tmp_path, stub(), "\udcff\udcfe|9|0|1|off|0"), {})
    assert isinstance(facts["gpu[0].name"], Unknown)
    assert value(facts["gpu[0].compute_capability"]) == "9.0"


def test_answers_that_cannot_be(stub: Callable[..., Path], tmp_path: Path) -> None:
    world = play(tmp_path, stub(), "GPU|-1|0|0|off|0", DRIVER="next year's", CUDA="-5")
    facts = probe(world, {})
    unknown = {name for name, fact in facts.items() if isinstance(fact, Unknown)}
    assert unknown == {
        "gpu[0].compute_capability",
        "gpu[0].memory_bytes",
        "driver.version",
        "driver.cuda",
    }


def test_more_gpus_than_can_be_are_not_read(stub: Callable[..., Path], tmp_path: Path) -> None:
    facts = probe(play(tmp_path, stub(), H200, COUNT="4294967295"), {})
    count = facts["gpu.count"]
    assert isinstance(count, Unknown)
    assert "more GPUs than can be read" in count.reason
    assert value(facts["driver.version"]) == "570.86.15"


def test_noise_of_the_library_is_passed_over(stub: Callable[..., Path], tmp_path: Path) -> None:
    facts = probe(play(tmp_path, stub(), H200, NOISE="1"), {})
    assert value(facts["gpu.count"]) == 1


def test_a_library_that_is_no_library(tmp_path: Path) -> None:
    (tmp_path / "libnvidia-ml.so.1").write_bytes(b"\x7fELF, and no more")
    facts = probe(play(tmp_path, tmp_path), {})
    count = facts["gpu.count"]
    assert isinstance(count, Unknown)
    assert count.reason.startswith("NVML: dlopen:")


def test_pynvml_is_found_without_importing_it() -> None:
    folder = find_pynvml()
    assert (Path(folder) / "pynvml.py").is_file() or (Path(folder) / "pynvml").is_dir()
