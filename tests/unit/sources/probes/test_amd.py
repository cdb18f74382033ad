"""AMD GPUs from trees that look like /sys/class/kfd."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from fadoctor.model.environment import Target
from fadoctor.model.fact import Known, Unknown
from fadoctor.processes.run import run
from fadoctor.sources.probes.amd import TOPOLOGY, gfx_name, parse_properties, read_amd
from fadoctor.sources.probes.world import World

if TYPE_CHECKING:
    from pathlib import Path

CPU = "cpu_cores_count 48\nsimd_count 0\ngfx_target_version 0\ndrm_render_minor 0\n"
MI300X = """\
cpu_cores_count 0
simd_count 1216
mem_banks_count 1
gfx_target_version 90402
vendor_id 4098
drm_render_minor 128
unique_id 5752170827923136638
num_xcc 8
"""


def world(root: Path) -> World:
    target = Target(kind="environment", label="test", reason="test")
    return World(target=target, environ={}, run=run, os="linux", root=root)


def write(root: Path, files: dict[str, str]) -> None:
    for name, text in files.items():
        file = root / name.lstrip("/")
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)


def node(number: int | str, properties: str, name: str = "ip discovery\n") -> dict[str, str]:
    folder = f"{TOPOLOGY}/{number}"
    return {f"{folder}/properties": properties, f"{folder}/name": name}


def bank(number: int, index: int, heap: int, size: int) -> dict[str, str]:
    file = f"{TOPOLOGY}/{number}/mem_banks/{index}/properties"
    return {file: f"heap_type {heap}\nsize_in_bytes {size}\nflags 0\nwidth 8192\n"}


def test_without_kfd(tmp_path: Path) -> None:
    assert read_amd(world(tmp_path)) is None


def test_a_processor_is_no_gpu(tmp_path: Path) -> None:
    write(tmp_path, node(0, CPU))
    assert read_amd(world(tmp_path)) == ()


def test_an_mi300x(tmp_path: Path) -> None:
    product = "/sys/class/drm/renderD128/device/product_name"
    write(tmp_path, node(0, CPU) | node(1, MI300X) | bank(1, 0, 1, 206141652992))
    write(tmp_path, bank(1, 1, 0, 1 << 40) | {product: "AMD Instinct MI300X OAM\n"})
    (gpu,) = read_amd(world(tmp_path)) or ()
    assert gpu.name == Known("AMD Instinct MI300X OAM", product)
    assert gpu.gfx == Known("gfx942", f"{TOPOLOGY}/1/properties")
    assert gpu.memory_bytes == Known(206141652992, f"{TOPOLOGY}/1/mem_banks")
    assert gpu.uuid == "GPU-4fd3d0e445b9207e"


def test_nodes_are_in_the_order_of_their_numbers(tmp_path: Path) -> None:
    for number, version in ((10, 100300), (9, 90010), (2, 110000)):
        write(tmp_path, node(number, f"simd_count 4\ngfx_target_version {version}\n"))
    write(tmp_path, node("junk", MI300X))
    gpus = read_amd(world(tmp_path)) or ()
    found = [gpu.gfx.value for gpu in gpus if isinstance(gpu.gfx, Known)]
    assert found == ["gfx1100", "gfx90a", "gfx1030"]


def test_names_where_no_product_is_recorded(tmp_path: Path) -> None:
    write(tmp_path, node(1, MI300X) | node(2, MI300X, "aldebaran\n") | node(3, "simd_count 1\n"))
    names = [gpu.name for gpu in read_amd(world(tmp_path)) or ()]
    assert names[0] == Known(
        "gfx942", f"{TOPOLOGY}/1/properties; the product's name is not recorded"
    )
    assert names[1] == Known("aldebaran", f"{TOPOLOGY}/2/name")
    assert isinstance(names[2], Unknown)


def test_what_is_missing_is_unknown(tmp_path: Path) -> None:
    write(tmp_path, node(1, "simd_count 64\n"))
    (gpu,) = read_amd(world(tmp_path)) or ()
    assert isinstance(gpu.gfx, Unknown)
    assert isinstance(gpu.memory_bytes, Unknown)
    assert gpu.uuid is None


def test_a_gpu_that_a_container_was_not_given_is_not_counted(tmp_path: Path) -> None:
    write(tmp_path, node(1, "") | node(2, MI300X))
    (tmp_path / TOPOLOGY.lstrip("/") / "3").mkdir()
    assert len(read_amd(world(tmp_path)) or ()) == 1


def test_a_hostile_topology_is_bounded(tmp_path: Path) -> None:
    (tmp_path / TOPOLOGY.lstrip("/")).mkdir(parents=True)
    for number in range(300):
        write(tmp_path, {f"{TOPOLOGY}/{number}/properties": "simd_count 1\n"})
    write(tmp_path, node(1, "simd_count 1\n" * 100_000, "\x1b[31m" + "x" * 10_000))
    gpus = read_amd(world(tmp_path)) or ()
    assert 200 < len(gpus) <= 256
    assert all("\x1b" not in str(gpu.name) for gpu in gpus)


@pytest.mark.parametrize(
    ("version", "name"),
    [
        (90402, "gfx942"),
        (90010, "gfx90a"),
        (90008, "gfx908"),
        (90006, "gfx906"),
        (90500, "gfx950"),
        (100300, "gfx1030"),
        (110000, "gfx1100"),
        (110501, "gfx1151"),
        (120001, "gfx1201"),
        (0, None),
        (90416, None),
        (91600, None),
        (99_999_999, None),
    ],
)
def test_gfx_names(version: int, name: str | None) -> None:
    assert gfx_name(version) == name


def test_properties_that_are_no_numbers_are_passed_over() -> None:
    text = "simd_count 304\nbad line\nname x\nsize_in_bytes -1\nunique_id 18446744073709551615\n"
    assert parse_properties(text) == {"simd_count": 304, "unique_id": (1 << 64) - 1}
