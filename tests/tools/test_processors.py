"""The table of graphics in processors, as it is written from a list of processors."""

from __future__ import annotations

from tools.refresh.processors import graphics_of, read, with_known, written

LINES = (
    '["AMD Ryzen 7 PRO 7840U",8,16,"3.3GHZ","","AMD Radeon 780M",12,"2700MHZ"],',
    '["AMD Ryzen AI 9 HX 370",12,24,"2GHZ","","AMD Radeon 890M",16,"2900MHZ"],',
    '["AMD Ryzen 5 5600G",6,12,"3.9GHZ","","Radeon Graphics",7,"1900MHZ"],',
    '["AMD Ryzen 9 9950X",16,32,"4.3GHZ","","AMD Radeon Graphics",2,"2200MHZ"],',
    '["AMD Ryzen 5 7500F",6,12,"3.7GHZ","","",0,""],',
)


def test_graphics_are_told_apart_by_their_number_or_by_that_of_the_processor() -> None:
    assert read(LINES) == {
        ("Radeon 780M", "gfx1103"): ["7840U"],
        ("Radeon 890M", "gfx1150"): ["AI-370"],
        ("Radeon Graphics", "gfx90c"): ["5600G"],
    }
    assert graphics_of("2400G", "Radeon RX Vega 11 Graphics") == ("Radeon Graphics", "gfx902")


def test_processors_that_the_list_lacks_stay() -> None:
    row = {"processor": "8845H 7840U", "graphics": "Radeon 780M", "gfx": "gfx1103"}
    merged = with_known(read(LINES[:1]), [row])
    assert merged == {("Radeon 780M", "gfx1103"): ["7840U", "8845H"]}
    assert written(merged) == (
        "  - {processor: 7840U 8845H, graphics: Radeon 780M, gfx: gfx1103}\n"
    )
