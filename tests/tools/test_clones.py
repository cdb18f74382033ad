"""Tables about AMD's GPUs, held against files of a repository at its tags."""

from __future__ import annotations

from tools.refresh.clones import HELD, of_aotriton, of_flash_attn
from tools.refresh.unheld import group_of_tables

UTIL = """
  { "gfx90a", Classifier<A>() },
  {"gfx1101", Classifier<B>() },
bool isArchExperimentallySupported(hipStream_t stream) {
  return (arch == CAT32(GpuVendor::kAMD, 0x1101));
}
bool isArchTechPreview(hipStream_t stream) {
  return arch == CAT32(GpuVendor::kAMD, 0x90a);
}
"""
OLD = """
  {"gfx90a", 1},
bool isArchExperimentallySupported(hipStream_t stream) {
  case GPU_AMD_ARCH_GFX90A_MOD0: return true;
}
"""
ROW = {"backend": "sdpa-flash", "engine": "aotriton", "version": ">=0.9", "dtype": "bf16 fp16"}


def show(tag: str, path: str) -> str:
    texts = {
        ("0.10b", "v3src/util.cc"): UTIL,
        ("0.9b", "v2src/util.cc"): OLD,
        ("v2.8.0", "setup.py"): 'allowed_archs = ["native", "gfx90a", "gfx950"]',
    }
    return texts.get((tag, path), "")


def wrong(*rows: dict[str, object], tag: str = "0.10b") -> list[str]:
    found = of_aotriton([tag, "legal-scan", "0.8b"], show, [{**ROW, **row} for row in rows])
    return [each.what for each in found if each.wrong]


def test_what_the_source_lists_works() -> None:
    assert wrong({"gfx": "gfx90a", "support": "works"}) == []
    assert wrong({"gfx": "gfx90a", "support": "fails"}) == [
        "aotriton 0.10 sdpa-flash gfx90a support"
    ]
    assert wrong({"gfx": "gfx1030", "support": "fails"}) == []
    assert wrong({"gfx": "gfx1030", "support": "works"})[0].endswith("gfx1030 support")


def test_what_is_experimental_needs_the_variable() -> None:
    assert wrong({"gfx": "gfx1101", "support": "works", "switch": "X=1"}) == []
    assert wrong({"gfx": "gfx1101", "support": "works"}) == [
        "aotriton 0.10 sdpa-flash gfx1101 switch"
    ]
    assert wrong({"gfx": "gfx90a", "support": "works"}, tag="0.9b") == [
        "aotriton 0.9 sdpa-flash gfx90a switch"
    ]


def test_what_is_unknown_and_other_engines_are_not_held() -> None:
    assert wrong({"gfx": "gfx90a", "support": {"unknown": "why"}}) == []
    assert wrong({"gfx": "gfx90a", "support": "fails", "engine": "own"}) == []


def test_the_gpus_that_flash_attn_compiles_for() -> None:
    right = {"version": ">=2.8,<3", "gfx": "gfx90a gfx950"}
    for row, count in ((right, 0), ({**right, "gfx": "gfx90a"}, 1)):
        [held] = of_flash_attn(["v2.8.0", "v2.7.0", "fa4-v4"], show, [row])
        assert held.wrong == count


def test_tables_that_are_held_have_no_other_reason() -> None:
    assert not set(HELD) & group_of_tables().keys()
