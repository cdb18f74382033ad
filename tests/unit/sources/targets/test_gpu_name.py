"""Names of GPUs as people and drivers write them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from fadoctor.model.errors import UsageError
from fadoctor.sources.targets.gpu_name import find_gpu
from tests.unit.judging.engine.builders import shipped, table

if TYPE_CHECKING:
    from collections.abc import Mapping

    from fadoctor.model.rule import Table

ARCHITECTURES = [{"cc": "7.0"}, {"cc": "8.9 9.0"}, {"cc": "10.0"}]
NVIDIA: list[dict[str, Any]] = [
    {"cc": "7.0", "names": ["V100", "Twin"]},
    {"cc": "8.0", "names": ["A100"]},
    {"cc": "8.6", "names": ["RTX A1000", "A10"]},
    {"cc": "8.9", "names": ["RTX 4090", "RTX 4000 Ada", "Twin"]},
    {"cc": "9.0"},
]
AMD = [{"gfx": "gfx942", "names": ["MI300X"]}]
SMALL = {
    "architectures": table("architectures", {"cc": "word"}, {}, ARCHITECTURES),
    "gpu-names": table("gpu-names", {"cc": "word"}, {"names": "list"}, NVIDIA),
    "amd-gpu-names": table("amd-gpu-names", {"gfx": "word"}, {"names": "list"}, AMD),
}


@pytest.fixture
def tables() -> Mapping[str, Table]:
    return shipped().tables


@pytest.mark.parametrize(
    ("text", "capability"),
    [
        ("V100", "7.0"),
        ("v100", "7.0"),
        (" V100 ", "7.0"),
        ("Tesla V100-SXM2-16GB", "7.0"),
        ("Tesla V100-PCIE-32GB", "7.0"),
        ("V100 32G", "7.0"),
        ("T4", "7.5"),
        ("Tesla T4", "7.5"),
        ("Quadro RTX 4000", "7.5"),
        ("NVIDIA GeForce RTX 2080 with Max-Q Design", "7.5"),
        ("A100", "8.0"),
        ("A100-SXM4-80GB", "8.0"),
        ("NVIDIA A100 80GB PCIe", "8.0"),
        ("A10", "8.6"),
        ("NVIDIA A10G", "8.6"),
        ("RTX A1000", "8.6"),
        ("NVIDIA RTX A1000 Laptop GPU", "8.6"),
        ("3090 Ti", "8.6"),
        ("RTX 3060m", "8.6"),
        ("GTX 1060m", "6.1"),
        ("L4", "8.9"),
        ("L40S", "8.9"),
        ("RTX 4090", "8.9"),
        ("rtx4090", "8.9"),
        ("RTX_4090", "8.9"),
        ("4090", "8.9"),
        ("RTX 4000 Ada", "8.9"),
        ("RTX 6000 Ada", "8.9"),
        ("NVIDIA RTX 6000 Ada Generation", "8.9"),
        ("H100", "9.0"),
        ("NVIDIA H100 80GB HBM3", "9.0"),
        ("NVIDIA H100 NVL", "9.0"),
        ("H200", "9.0"),
        ("NVIDIA GH200 480GB", "9.0"),
        ("B200", "10.0"),
        ("NVIDIA GeForce RTX 5090", "12.0"),
        ("sm_89", "8.9"),
        ("SM90", "9.0"),
        ("sm_90a", "9.0"),
        ("sm_100", "10.0"),
        ("sm_103f", "10.3"),
    ],
)
def test_nvidia(tables: dict[str, Table], text: str, capability: str) -> None:
    gpu = find_gpu(text, tables)
    assert (gpu.vendor, gpu.compute_capability, gpu.gfx) == ("nvidia", capability, "")


@pytest.mark.parametrize(
    ("text", "gfx"),
    [
        ("MI300X", "gfx942"),
        ("AMD Instinct MI300X OAM", "gfx942"),
        ("gfx942", "gfx942"),
        ("GFX90A", "gfx90a"),
        ("AMD Radeon RX 7900 XTX", "gfx1100"),
        ("7900xtx", "gfx1100"),
    ],
)
def test_amd(tables: dict[str, Table], text: str, gfx: str) -> None:
    gpu = find_gpu(text, tables)
    assert (gpu.vendor, gpu.gfx, gpu.compute_capability) == ("amd", gfx, "")


@pytest.mark.parametrize(
    ("text", "name"),
    [("A100", "A100"), ("a10", "A10"), ("4090", "RTX 4090"), ("sm_89", "sm_89"), ("l40s", "L40S")],
)
def test_the_name_is_the_one_of_the_table(tables: dict[str, Table], text: str, name: str) -> None:
    assert find_gpu(text, tables).name == name


@pytest.mark.parametrize(
    ("text", "near"),
    [
        ("RTX 4090 Ti", "RTX 4090"),
        ("A100Y", "A100"),
        ("MI300", "MI300X"),
        ("RTX PRO 6000 Blakwell", "RTX PRO 6000 Blackwell"),
        ("GTX 4090", "RTX 4090"),
    ],
)
def test_an_unknown_name_gives_near_ones(tables: dict[str, Table], text: str, near: str) -> None:
    with pytest.raises(UsageError) as caught:
        find_gpu(text, tables)
    hint = str(caught.value).partition("Did you mean ")[2].partition("?")[0]
    assert near in hint.split(", ")


def test_a_slip_of_the_fingers_is_named_first(tables: dict[str, Table]) -> None:
    """For RTX4900 it was RTX A400."""
    with pytest.raises(UsageError, match="Did you mean RTX 4090,"):
        find_gpu("RTX4900", tables)


@pytest.mark.parametrize(
    ("text", "near"),
    [
        ("RTX 4000", {"Quadro RTX 4000", "RTX 4000 Ada"}),
        ("RTX 6000", {"Quadro RTX 6000", "RTX 6000 Ada"}),
    ],
)
def test_the_names_that_hold_what_was_typed_are_near(
    tables: dict[str, Table], text: str, near: set[str]
) -> None:
    with pytest.raises(UsageError) as caught:
        find_gpu(text, tables)
    assert all(name in str(caught.value) for name in near)


@pytest.mark.parametrize(
    ("text", "capability"),
    [
        ("A6000", "8.6"),
        ("A1000", "8.6"),
        ("NVIDIA A100-SXM4-40GB MIG 1g.5gb", "8.0"),
        ("Tesla V100-DGXS-32GB", "7.0"),
        ("NVIDIA B300 SXM6 AC", "10.3"),
        ("Quadro T2000", "7.5"),
        ("Orin (nvgpu)", "8.7"),
        ("NVIDIA GeForce RTX 4090 D", "8.9"),
        ("4090D", "8.9"),
        ("NVIDIA GeForce RTX 5090 D v2", "12.0"),
        ("NVIDIA GeForce RTX 3050 A Laptop GPU", "8.9"),
        ("NVIDIA GeForce RTX 3050 6GB Laptop GPU", "8.6"),
        ("NVIDIA GeForce GTX 1650 SUPER", "7.5"),
        ("NVIDIA GeForce GTX 1660 Ti with Max-Q Design", "7.5"),
        ("NVIDIA GeForce GTX 1050 Ti", "6.1"),
        ("NVIDIA GeForce MX450", "7.5"),
        ("NVIDIA TITAN X (Pascal)", "6.1"),
        ("GeForce GTX TITAN X", "5.2"),
        ("NVIDIA A100X", "8.0"),
        ("NVIDIA A800 40GB Active", "8.0"),
        ("NVIDIA A30X", "8.0"),
        ("NVIDIA A10M", "8.6"),
        ("NVIDIA L40G", "8.9"),
        ("NVIDIA L20", "8.9"),
        ("NVIDIA T4G", "7.5"),
        ("NVIDIA T1000 8GB", "7.5"),
        ("Quadro P2000", "6.1"),
        ("P2000", "6.1"),
        ("K2200", "5.0"),
        ("Tesla K40m", "3.5"),
        ("Tesla V100-SXM2-32GB-LS", "7.0"),
        ("NVIDIA RTX A2000 Embedded GPU", "8.6"),
        ("NVIDIA RTX 5000 Ada Generation Laptop GPU", "8.9"),
        ("RTX PRO 6000", "12.0"),
        ("NVIDIA RTX PRO 5000 72GB Blackwell", "12.0"),
        ("NVIDIA RTX PRO 2000 Blackwell Generation Laptop GPU", "12.0"),
        ("NVIDIA H20-3e", "9.0"),
        ("NVIDIA H200 NVL", "9.0"),
        ("NVIDIA GH200 144G HBM3e", "9.0"),
        ("NVIDIA GB200", "10.0"),
        ("5090", "12.0"),
        ("3090", "8.6"),
        # shares of a board, as virtual machines show them
        ("GRID T4-16Q", "7.5"),
        ("NVIDIA A40-48Q", "8.6"),
        ("GRID A100D-1-10C", "8.0"),
        ("GRID V100DX-32Q", "7.0"),
        ("NVIDIA RTX6000-Ada-48Q", "8.9"),
        ("GRID RTX8000-48Q", "7.5"),
        ("NVIDIA H100XM-80C", "9.0"),
        ("NVIDIA H100-1-10CME", "9.0"),
    ],
)
def test_names_that_should_be_understood(
    tables: dict[str, Table], text: str, capability: str
) -> None:
    assert find_gpu(text, tables).compute_capability == capability


@pytest.mark.parametrize(
    "text",
    [
        "",
        "   ",
        "NVIDIA",
        "GeForce RTX",
        "RTX",
        "GPU",
        "80GB",
        "V10",
        "A1",
        "A100 A10",
        "sm_",
        "sm_1",
        "sm_90b",
        "sm_090",
        "sm_-89",
        "gfx000",
        "gfx",
        "\uff21\uff11\uff10\uff10",
        "../../etc/passwd",
        "{gpu.name}",
        "%s%n",
    ],
)
def test_what_is_no_name(tables: dict[str, Table], text: str) -> None:
    with pytest.raises(UsageError, match=r"unknown GPU|no such architecture"):
        find_gpu(text, tables)


def test_small_tables() -> None:
    assert find_gpu("NVIDIA A100", SMALL).compute_capability == "8.0"
    assert find_gpu("a10", SMALL).compute_capability == "8.6"
    assert find_gpu("RTX A1000", SMALL).name == "RTX A1000"
    assert find_gpu("sm_90", SMALL).compute_capability == "9.0"


def test_a_name_that_two_gpus_have_is_refused() -> None:
    with pytest.raises(UsageError, match="several GPUs have that name; say sm_XX"):
        find_gpu("Twin", SMALL)


@pytest.mark.parametrize("text", ["sm_75", "sm_999", "SM_12a", "sm_\uff18\uff19"])
def test_an_unknown_architecture_gives_the_known_ones(text: str) -> None:
    with pytest.raises(UsageError) as caught:
        find_gpu(text, SMALL)
    expected = "no such architecture. Known: sm_70, sm_89, sm_90, sm_100"
    assert str(caught.value) == f"--gpu {text}: {expected}"


@pytest.mark.parametrize(
    "text", ["A" * 10_240, "9" * 10_240, "rtx " * 2_560, "-" * 10_240, "a1" * 5_120]
)
def test_long_texts_are_refused_with_a_short_message(tables: dict[str, Table], text: str) -> None:
    with pytest.raises(UsageError) as caught:
        find_gpu(text, tables)
    assert len(str(caught.value)) < 400


@pytest.mark.parametrize("text", ["A100" + "-" * 10_000, "RTX 4090" + " " * 80 + "Ti"])
def test_a_long_text_is_not_taken_for_its_beginning(text: str) -> None:
    with pytest.raises(UsageError):
        find_gpu(text, SMALL)


def test_a_text_with_escapes_is_no_name() -> None:
    with pytest.raises(UsageError):
        find_gpu("\x1b[A100", SMALL)


def test_a_message_carries_no_escapes() -> None:
    with pytest.raises(UsageError) as caught:
        find_gpu("\x1b[2Jno such GPU\u202e", SMALL)
    assert str(caught.value).isprintable()


def test_every_name_of_the_tables_finds_itself(tables: dict[str, Table]) -> None:
    for kind, column in (("gpu-names", "cc"), ("amd-gpu-names", "gfx")):
        for row in tables[kind].rows:
            names = row["names"]
            assert isinstance(names, list | tuple)
            for name in names:
                gpu = find_gpu(name, tables)
                assert (gpu.compute_capability or gpu.gfx) == row[column], name


@pytest.mark.parametrize(
    ("text", "vendor"),
    [
        ("Arc B580", "Intel"),
        ("Intel Data Center GPU Max 1550", "Intel"),
        ("M3 Max", "Apple"),
        ("Ascend 910B", "Huawei"),
        ("TPU v5e", "Google"),
    ],
)
def test_a_vendor_that_no_table_has_is_named(
    text: str, vendor: str, tables: dict[str, Table]
) -> None:
    """It was "Did you mean RTX 5080, RX 6800?"."""
    with pytest.raises(UsageError, match=f"none of {vendor}'s"):
        find_gpu(text, tables)


def test_a_chip_that_no_product_is_named_after(tables: dict[str, Table]) -> None:
    assert find_gpu("gfx1036", tables).gfx == "gfx1036"
    assert find_gpu("AMD Radeon RX 6600", tables).gfx == "gfx1032"


def test_a_family_that_nothing_is_named_after_yet_names_its_architecture(
    tables: dict[str, Table],
) -> None:
    """It was "Did you mean AGX Orin, Xavier NX?"."""
    with pytest.raises(UsageError, match=r"the tables do not list it. Did you mean sm_107\? "):
        find_gpu("Vera Rubin", tables)
