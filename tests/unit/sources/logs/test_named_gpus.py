"""GPUs that a line names, also those of which no table has the chip."""

from __future__ import annotations

import pytest

from fadoctor.sources.logs.mentions import mentions
from fadoctor.sources.logs.named_gpus import named_gpus
from fadoctor.sources.pasted.claims import PastedLine
from fadoctor.sources.targets.gpu_name import models
from tests.unit.judging.engine.builders import shipped


def said(text: str) -> dict[str, str]:
    claims = named_gpus(PastedLine(1, text), {}, shipped().tables)
    return {claim.name: str(claim.value) for claim, _ in claims}


@pytest.mark.parametrize(
    "name",
    [
        "RX 560D", "RX 6750 GRE", "6750 GRE", "RX-6850M XT", "Vega 8", "Vega Frontier", "R9 390",
        "R7 M370", "Navi 21", "Polaris 10", "MI-50", "BC-250", "Radeon 610M",
    ],
)  # fmt: skip
def test_what_only_amd_calls_so_is_a_gpu_of_amd(name: str) -> None:
    found = said(f"my {name} is idle")
    assert found["gpu[0].vendor"] == "amd"
    assert "gpu[0].compute_capability" not in found


@pytest.mark.parametrize(
    ("name", "gfx"),
    [
        ("WX 5100", "gfx803"), ("Radeon Pro WX 9100", "gfx900"), ("RX 580 2048SP", "gfx803"),
        ("RX 560X", "gfx803"), ("RX 6600", "gfx1032"), ("AMD6700XT", "gfx1031"),
    ],
)  # fmt: skip
def test_names_of_workstations_and_older_cards(name: str, gfx: str) -> None:
    assert said(f"my {name} is idle")["gpu[0].gfx"] == gfx


@pytest.mark.parametrize(
    "text", ["an AMD r5 5600X", "vega 5.2 draws charts", "a Ryzen 9 7950X", "GeForce 610M"]
)
def test_what_is_no_gpu_of_amd(text: str) -> None:
    assert said(text).get("gpu[0].vendor") != "amd"


def test_a_card_beside_the_graphics_of_a_processor_of_which_no_chip_is_known() -> None:
    assert said("an RTX 3060 beside Vega 8")["gpu[0].vendor"] == "nvidia"


def test_a_line_without_a_digit_may_name_a_gpu() -> None:
    tables = shipped().tables
    spelt = [gpu.name for gpu in models(tables) if not any(map(str.isdigit, gpu.name))]
    of_amd = [name for name in spelt if name.startswith(("Radeon", "Strix", "Krackan"))]
    assert {"Strix Halo", "Radeon VII"} <= set(of_amd)
    for name in of_amd:
        claims = mentions([PastedLine(1, f"my {name} is idle")], tables)
        assert "gpu[0].vendor" in {claim.name for claim in claims}, name


@pytest.mark.parametrize(
    ("text", "name", "many"),
    [
        ("4 x NVIDIA v100", "V100", 1), ("两张v100", "V100", 2), ("8xT4 in one box", "T4", 8),
        ("4*T4", "T4", 4), ("四卡T4", "T4", 4), ("2卡3090", "RTX 3090", 2),
        ("双卡4090", "RTX 4090", 2), ("卡为4090", "RTX 4090", 1), ("an h100 node", "H100", 1),
    ],
)  # fmt: skip
def test_cards_are_counted_as_people_write_them(text: str, name: str, many: int) -> None:
    found = said(text)
    assert [found.get(f"gpu[{at}].name") for at in range(many)] == [name] * many


@pytest.mark.parametrize("text", ["打卡4090次", "0xA100", "port 0xT4", "step v1000"])
def test_numbers_that_are_no_cards(text: str) -> None:
    assert said(text) == {}


def test_what_a_build_is_made_for_is_no_gpu_of_the_machine() -> None:
    found = {
        claim.name: claim.value
        for text in ("llama-b5000-bin-win-hip-x64-gfx1030 on a Radeon 780M", "amdhsa--gfx1100")
        for claim in mentions([PastedLine(1, text)], shipped().tables)
        if claim.name.endswith(".gfx")
    }
    assert found == {"gpu[0].gfx": "gfx1100"}


@pytest.mark.parametrize(
    ("text", "gfx"),
    [
        ("GPU: AMD Raven", "gfx902"), ("[AMD/ATI] Barcelo (rev c1)", "gfx90c"),
        ("a Cezanne APU", "gfx90c"), ("[AMD/ATI] Phoenix1 (rev cb)", "gfx1103"),
        ("[AMD/ATI] Navi 33", "gfx1102"), ("Ellesmere in lspci", "gfx803"),
        ("ROCm on a 5600G", "gfx90c"), ("ROCm on R5 3400G", "gfx902"),
        ("ROCm on a Ryzen 7 8700G", "gfx1103"), ("ROCm on a Ryzen AI 5 340", "gfx1152"),
        ("ROCm on a Ryzen AI 9 365", "gfx1150"), ("ROCm on a Ryzen 7 PRO 4750U", "gfx90c"),
    ],
)  # fmt: skip
def test_code_names_and_models_of_processors(text: str, gfx: str) -> None:
    assert said(text)["gpu[0].gfx"] == gfx


@pytest.mark.parametrize(
    "text", ["a garden by Renoir and Cezanne", "i7-5500U with ROCm", "a raven on a roof, 4 of them"]
)
def test_painters_birds_and_processors_of_others(text: str) -> None:
    assert "gpu[0].gfx" not in said(text)


def test_a_card_that_one_is_only_compared_with() -> None:
    assert "gpu[0].name" not in said("It should be as powerful as an NVidia GT 1030")
    assert said("I am running with AMD RX 7900XTX")["gpu[0].gfx"] == "gfx1100"


@pytest.mark.parametrize(
    ("text", "name", "count"),
    [
        ("Google Colab, free tier (T4).", "T4", 1),
        ("Kaggle T4 x2", "T4", 2),
        ("RTX A6000 x 2", "RTX A6000", 2),
        ("two 3090s hang", "RTX 3090", 2),
        ("dual 4090, each 24 GB", "RTX 4090", 2),
        ("A6000 (48GB)", "RTX A6000", 1),
        ("quadro rtx 5000", "Quadro RTX 5000", 1),
        ("a Titan RTX", "TITAN RTX", 1),
        ("my DGX Spark", "DGX Spark", 1),
        ("L40s nodes", "L40S", 1),
        ("RTX 4000 SFF Ada", "RTX 4000 SFF Ada", 1),
        ("GPUは3060です", "RTX 3060", 1),
        ("на 3070 не работает", "RTX 3070", 1),
        ("4090 x 24 GB", "", 0),
    ],
)
def test_names_as_people_write_them(text: str, name: str, count: int) -> None:
    found = said(text)
    assert found.get("gpu[0].name", "") == name
    assert sum(key.endswith("].name") for key in found) == count


@pytest.mark.parametrize(
    "text",
    ["a 3060s timeout", "waited 3090s", "port 3090", "Xavier wrote it", "my spark job", "layer L40",
     "epoch 3070 of 5000", "на 3000 шаге", "L4 cache miss"],
)  # fmt: skip
def test_numbers_and_words_that_are_no_gpu(text: str) -> None:
    assert said(text) == {}
