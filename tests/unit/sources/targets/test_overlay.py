"""What-if overlays: which facts they replace, which become unknown, what is refused."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from fadoctor.knowledge.matrix.query import Matrix
from fadoctor.model.errors import UsageError
from fadoctor.model.fact import Absent, Fact, Known, Unknown
from fadoctor.model.overlays import Overlays
from fadoctor.sources.targets.overlay import GPU_LIMIT, PLATFORMS, apply_overlays
from tests.unit.judging.engine.builders import ABSENT, environment, shipped

if TYPE_CHECKING:
    from fadoctor.model.environment import Environment

READ: dict[str, Any] = {
    "gpu.count": 2,
    "gpu.visible_count": 1,
    "gpu[0].name": "Tesla T4",
    "gpu[0].visible": True,
    "gpu[1].name": "Tesla T4",
    "gpu[1].visible": False,
    "driver.version": "470.82.01",
    "driver.cuda": "11.4",
    "driver.library": "/usr/lib/libcuda.so.1",
    "driver.kernel_module": "open",
    "host.os": "linux",
    "host.platform": "linux_x86_64",
    "host.machine": "x86_64",
    "host.glibc": "2.31",
    "host.libc": "glibc",
    "host.wsl": False,
    "python.version": "3.10.12",
    "python.tag": "cp310",
    "python.ext_suffix": ".cpython-310-x86_64-linux-gnu.so",
    "torch.version": "2.6.0",
}


@pytest.fixture
def matrix() -> Matrix:
    return Matrix(shipped().tables)


def applied(matrix: Matrix, **options: Any) -> Environment:
    return apply_overlays(environment(READ), Overlays(**options), matrix)


def state(fact: Fact) -> Any:
    match fact:
        case Known():
            return fact.value
        case Absent():
            return None
        case Unknown():
            return "?"


def states(found: Environment, *names: str) -> list[Any]:
    return [state(found.fact(name)) for name in names]


def test_no_overlay_changes_nothing(matrix: Matrix) -> None:
    found = applied(matrix)
    assert found.facts == environment(READ).facts
    assert found.overlays == ()


def test_an_assumed_gpu_replaces_all_that_were_read(matrix: Matrix) -> None:
    found = applied(matrix, gpu=("V100", "MI300X", "sm_90"))
    assert states(found, "gpu.count", "gpu.visible_count") == [3, 3]
    assert states(found, *(f"gpu[{n}].name" for n in range(3))) == ["V100", "MI300X", "sm_90"]
    assert states(found, *(f"gpu[{n}].vendor" for n in range(3))) == ["nvidia", "amd", "nvidia"]
    assert states(found, *(f"gpu[{n}].compute_capability" for n in range(3))) == [
        "7.0",
        None,
        "9.0",
    ]
    assert states(found, *(f"gpu[{n}].gfx" for n in range(3))) == [None, "gfx942", None]
    assert states(found, *(f"gpu[{n}].visible" for n in range(3))) == [True, True, True]
    assert states(found, "gpu[0].memory_bytes", "gpu[0].mig") == ["?", "?"]
    assert found.fact("gpu[0].name") == Known("V100", "--gpu V100")
    assert states(found, "torch.version", "host.glibc") == ["2.6.0", "2.31"]
    assert found.overlays == ("--gpu V100", "--gpu MI300X", "--gpu sm_90")


def test_fewer_gpus_than_were_read_leave_none_of_them(matrix: Matrix) -> None:
    found = applied(matrix, gpu=("V100",))
    assert not any(name.startswith("gpu[1]") for name in found.facts)
    assert list(found.facts) == sorted(found.facts)


def test_an_assumed_gpu_makes_the_driver_unknown(matrix: Matrix) -> None:
    found = applied(matrix, gpu=("V100",))
    driver = [name for name in found.facts if name.startswith("driver.")]
    assert {"driver.version", "driver.library", "driver.forward_compat"} <= set(driver)
    assert set(states(found, *driver)) == {"?"}
    reason = Unknown("--gpu was given without --driver", "--gpu")
    assert found.fact("driver.version") == reason


def test_gpus_of_amd_have_no_driver_of_nvidia(matrix: Matrix) -> None:
    """Regression: a CUDA torch on an MI250X was undecided, since nobody had given a driver."""
    found = applied(matrix, gpu=("MI250X", "MI300X"))
    assert isinstance(found.facts["driver.version"], Absent)
    assert isinstance(applied(matrix, gpu=("MI250X", "A100")).facts["driver.version"], Unknown)


def test_an_assumed_gpu_with_an_assumed_driver(matrix: Matrix) -> None:
    found = applied(matrix, gpu=("H100",), driver="550.54.15")
    assert states(found, "driver.version", "driver.cuda") == ["550.54.15", "12.4"]
    assert states(found, "driver.device_nodes", "driver.forward_compat") == [True, False]
    undecided = [name for name, fact in found.facts.items() if isinstance(fact, Unknown)]
    assert not [name for name in undecided if name.startswith("driver.")]


@pytest.mark.parametrize(
    ("driver", "cuda"),
    [
        ("450.80.02", "11.0"),
        ("470.82.01", "11.4"),
        ("525", "12.0"),
        ("535.183.01", "12.2"),
        ("549.99", "12.3"),
        ("550", "12.4"),
        ("580.65.06", "13.0"),
        ("567.1", "?"),  # that row is not verified
        ("390.157", "9.1"),
        ("304.137", "?"),
    ],
)
def test_the_cuda_of_an_assumed_driver_comes_from_the_table(
    matrix: Matrix, driver: str, cuda: str
) -> None:
    found = applied(matrix, driver=driver)
    assert states(found, "driver.version", "driver.cuda") == [driver, cuda]
    assert states(found, "driver.forward_compat") == ["?"]
    assert states(found, "driver.library", "gpu.count") == ["/usr/lib/libcuda.so.1", 2]


@pytest.mark.parametrize(("library", "expected"), [("470.82.01", "550.54.15"), (ABSENT, None)])
def test_an_assumed_driver_brings_its_own_library(
    matrix: Matrix, library: object, expected: object
) -> None:
    """The library that was read fits another driver: every cell failed for that alone."""
    there = environment({**READ, "driver.library_version": library})
    found = apply_overlays(there, Overlays(driver="550.54.15"), matrix)
    assert states(found, "driver.library_version") == [expected]


def test_no_gpu_means_no_driver(matrix: Matrix) -> None:
    found = applied(matrix, gpu=("none",))
    assert states(found, "gpu.count", "gpu.visible_count", "driver.version") == [0, 0, None]
    assert not any(name.startswith("gpu[") for name in found.facts)


@pytest.mark.parametrize("names", [("none", "V100"), ("V100", "none"), ("none", "none")])
def test_no_gpu_stands_alone(matrix: Matrix, names: tuple[str, ...]) -> None:
    with pytest.raises(UsageError, match="none excludes any other"):
        applied(matrix, gpu=names)


def test_how_many_gpus(matrix: Matrix) -> None:
    assert states(applied(matrix, gpu=("A100",) * GPU_LIMIT), "gpu.count") == [GPU_LIMIT]
    with pytest.raises(UsageError, match=f"at most {GPU_LIMIT}"):
        applied(matrix, gpu=("A100",) * (GPU_LIMIT + 1))


@pytest.mark.parametrize("option", ["driver", "glibc", "python_version"])
@pytest.mark.parametrize(
    "text",
    [
        "new",
        "v2",
        "2.",
        ".2",
        "2..3",
        "2.35\n",
        " 2.35",
        "2,35",
        "-1",
        "1.2.3.4.5",
        "12345",
        "2.35rc1",
        "\u0662.\u0663",
        "2.35; rm -rf /",
        "9" * 10_000,
    ],
)
def test_what_is_no_version(matrix: Matrix, option: str, text: str) -> None:
    flag = f"--{option.replace('_', '-')}"
    with pytest.raises(
        UsageError, match=f"(?s)^{flag} .*: (not a version like|must be X.Y)"
    ) as caught:
        applied(matrix, **{option: text})
    assert len(str(caught.value)) < 100


def test_an_assumed_glibc(matrix: Matrix) -> None:
    found = applied(matrix, glibc="2.17")
    assert states(found, "host.glibc", "host.libc", "host.os") == ["2.17", "glibc", "linux"]
    assert found.overlays == ("--glibc 2.17",)


def test_an_assumed_python_makes_the_rest_of_it_unknown(matrix: Matrix) -> None:
    found = applied(matrix, python_version="3.13")
    assert states(found, "python.version", "python.tag", "python.abi_tag") == [
        "3.13",
        "cp313",
        "cp313",
    ]
    assert states(found, "python.ext_suffix", "python.headers", "python.installer") == ["?"] * 3
    assert states(found, "python.implementation") == ["cpython"]
    assert states(applied(matrix, python_version="3.9.18"), "python.tag") == ["cp39"]


@pytest.mark.parametrize("text", ["3", "0", "3.11.2.1"])
def test_a_python_needs_its_minor_version(matrix: Matrix, text: str) -> None:
    with pytest.raises(UsageError):
        applied(matrix, python_version=text)


@pytest.mark.parametrize("name", sorted(PLATFORMS))
def test_an_assumed_platform(matrix: Matrix, name: str) -> None:
    found = applied(matrix, platform=name)
    assert states(found, "host.platform", "host.os", "host.machine") == [name, *PLATFORMS[name]]
    same, linux = name == "linux_x86_64", name.startswith("linux")
    assert states(found, "host.glibc") == ["2.31" if same else "?" if linux else None]
    assert states(found, "host.wsl") == [False if same else "?"]
    assert states(found, "gpu.count") == [2]
    assert found.overlays == (f"--platform {name}",)


@pytest.mark.parametrize(
    ("asked", "name"),
    [
        ("manylinux_2_28_x86_64", "linux_x86_64"),
        ("manylinux2014_aarch64", "linux_aarch64"),
        ("macosx_14_0_arm64", "macosx_arm64"),
        ("linux/amd64", "linux_x86_64"),
        ("linux/arm64", "linux_aarch64"),
        ("linux-64", "linux_x86_64"),
        ("aarch64-unknown-linux-gnu", "linux_aarch64"),
        ("windows", "win_amd64"),
        ("Windows", "win_amd64"),
        ("win-64", "win_amd64"),
        ("x86_64-pc-windows-msvc", "win_amd64"),
        ("macos", "macosx_arm64"),
        ("osx-arm64", "macosx_arm64"),
    ],
)
def test_a_platform_as_wheels_and_docker_call_it(matrix: Matrix, asked: str, name: str) -> None:
    """A Mac's `macosx_14_0_arm64`, copied from a wheel, was refused."""
    assert states(applied(matrix, platform=asked), "host.platform") == [name]


@pytest.mark.parametrize(
    "name", ["linux", "manylinux_x86", "macosx_arm", "LINUX_X86_64", "win32", "x" * 10_000, " "]
)
def test_an_unknown_platform(matrix: Matrix, name: str) -> None:
    with pytest.raises(UsageError, match="must be one of linux_x86_64, ") as caught:
        applied(matrix, platform=name)
    assert len(str(caught.value)) < 200


def test_glibc_on_another_linux(matrix: Matrix) -> None:
    found = applied(matrix, platform="linux_aarch64", glibc="2.35")
    assert states(found, "host.machine", "host.glibc", "host.glibcxx") == ["aarch64", "2.35", "?"]


@pytest.mark.parametrize("platform", ["win_amd64", "macosx_arm64"])
def test_there_is_no_glibc_off_linux(matrix: Matrix, platform: str) -> None:
    with pytest.raises(UsageError):
        applied(matrix, platform=platform, glibc="2.35")


@pytest.mark.parametrize("name", ["python.ext_suffix", "driver.library", "driver.kernel_module"])
def test_another_platform_makes_what_belongs_to_this_one_unknown(matrix: Matrix, name: str) -> None:
    assert states(applied(matrix, platform="win_amd64"), name) == ["?"]


def test_overlays_add_up_over_saved_facts(matrix: Matrix) -> None:
    first = applied(matrix, gpu=("V100",))
    second = apply_overlays(first, Overlays(driver="550.54"), matrix)
    assert second.overlays == ("--gpu V100", "--driver 550.54")
    assert states(second, "gpu[0].name", "driver.version") == ["V100", "550.54"]


@pytest.mark.parametrize("gpu", ["V100", "B200", "GT 1030", "RTX PRO 6000", "5090", "MI300X", "T4"])
def test_with_gpu_and_driver_given_nothing_about_the_driver_is_open(
    matrix: Matrix, gpu: str
) -> None:
    found = applied(matrix, gpu=(gpu,), driver="580.95.05")
    undecided = [name for name, fact in found.facts.items() if isinstance(fact, Unknown)]
    assert not [name for name in undecided if name.startswith("driver.")]


def test_beside_gpus_of_amd_alone_there_is_no_driver_of_nvidia(matrix: Matrix) -> None:
    """Regression: a torch for CUDA on an assumed MI300X was unknown, for want of --driver."""
    assert states(applied(matrix, gpu=("MI300X",)), "driver.version") == [None]
    assert states(applied(matrix, gpu=("MI300X", "V100")), "driver.version") == ["?"]
