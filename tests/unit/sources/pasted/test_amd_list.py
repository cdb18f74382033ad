"""Lists of AMD's GPUs with their chips, and the chips that torch was compiled for."""

from __future__ import annotations

from fadoctor.sources.pasted.amd_list import CODE, read
from fadoctor.sources.pasted.claims import PastedLine, gpu_claims


def said(*lines: str) -> dict[str, object]:
    found = read(PastedLine(number, text) for number, text in enumerate(lines, 1))
    return {claim.name: claim.value for claim in found}


def test_several_cards_with_their_chips() -> None:
    found = said("GPU 0: AMD Radeon RX6500 XT   | gfx1034   | 3.98 GiB",
                 "  Device 1: AMD Radeon Graphics, gfx1036 (0x1036), VMM: no")  # fmt: skip
    assert found["gpu[0].gfx"] == "gfx1034"
    assert found["gpu[1].gfx"] == "gfx1036"
    assert found["gpu[1].vendor"] == "amd"


def test_the_chips_of_torchs_kernels_in_one_line_and_in_two() -> None:
    assert said("kernels built for: gfx1030, gfx1031")[CODE] == ("gfx1030", "gfx1031")
    two = said(">>> torch.cuda.get_arch_list()", "['gfx900', 'gfx1100']")
    assert two[CODE] == ("gfx900", "gfx1100")


def test_what_is_no_such_list() -> None:
    assert not said("a build for gfx1100 and gfx1101", "['gfx900']", "GPU 0: NVIDIA L4, 24 GB")


def test_a_card_in_small_letters_is_one_of_amd() -> None:
    claims = {each.name: each.value for each in gpu_claims(0, "rx6800", 1, "a form")}
    assert claims["gpu[0].vendor"] == "amd"
