"""The recommendation: what is known to work on every visible GPU."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec import structs

from fadoctor.judging.verdicts.recommendation import recommend
from fadoctor.knowledge.matrix.kernels import Kernels
from fadoctor.knowledge.matrix.query import Matrix
from fadoctor.model.verdict import Backend, Dtype, Measured, Predicted, Recommendation, Verdict
from tests.unit.judging.engine.builders import ABSENT, UNREAD, environment, shipped
from tests.unit.judging.engine.kernel_tables import kernels, on


def best(*capabilities: Any, **facts: Any) -> Recommendation:
    found = recommend(kernels(on(*capabilities, **facts)))
    assert found is not None
    return found


def test_one_new_gpu_gets_bf16_and_the_fused_kernel() -> None:
    found = best("8.0")
    assert (found.dtype, found.backend) == (Dtype.BF16, Backend.FA2)
    assert found.settings == {
        "transformers": {
            "attn_implementation": '"flash_attention_2"',
            "dtype": "torch.bfloat16",
        },
        "vllm": {"VLLM_ATTENTION_BACKEND": "FLASH_ATTN"},
    }
    assert found.why.endswith(" has kernels for bf16 on gpu[0] GPU 8.0 (compute capability 8.0).")


def test_an_old_gpu_gets_fp16_and_learns_what_was_ruled_out() -> None:
    found = best("7.0")
    assert (found.dtype, found.backend) == (Dtype.FP16, Backend.SDPA_MATH)
    assert found.settings == {"unsloth": {"dtype": "torch.float16"}}
    assert "Ruled out: fa2 in bf16 on gpu[0] (gpu-too-old); sdpa-flash in bf16" in found.why


def test_what_is_ruled_out_is_told_in_a_few_words() -> None:
    assert best(*["7.0"] * 64).why.count(";") == 3


def test_several_gpus_get_what_works_on_all_of_them() -> None:
    found = best("8.0", "7.0")
    assert (found.dtype, found.backend) == (Dtype.FP16, Backend.SDPA_MATH)
    assert "on gpu[0] GPU 8.0 (compute capability 8.0), gpu[1] GPU 7.0" in found.why
    hidden = {"gpu[1].visible": False}
    assert recommend(kernels({**on("8.0", "7.0"), **hidden})) == best("8.0")


def test_settings_on_which_the_gpus_differ_are_left_out() -> None:
    assert set(best("8.0", "9.0").settings) == {"transformers"}


def test_the_newest_kernel_that_is_installed_comes_first() -> None:
    assert best("9.0", flash_attn_3__version="3.0.0").backend is Backend.FA3
    assert best("8.0", flash_attn_3__version="3.0.0").backend is Backend.FA2
    assert best("8.0", flash_attn__version=ABSENT).backend is Backend.SDPA_FLASH
    assert best("8.0", flash_attn__version=UNREAD).backend is Backend.SDPA_FLASH


def test_nothing_is_recommended_where_there_is_no_torch() -> None:
    gone = {"flash_attn__version": ABSENT, "torch__version": ABSENT}
    assert recommend(kernels(on("8.0", **gone))) is None


def test_what_the_table_says_to_fail_is_not_recommended() -> None:
    """The report said "use sdpa-flash" above a table in which every cell of it failed."""
    facts = on("8.0")
    rows = [failing(backend) for backend in (Backend.FA2, Backend.SDPA_FLASH)]
    found = recommend(kernels(facts), rows)
    assert found is not None
    assert found.backend not in (Backend.FA2, Backend.SDPA_FLASH)
    assert "fa2 in bf16 on gpu[0] (some-rule)" in found.why
    everywhere = [failing(backend, dtype) for backend in Backend for dtype in Dtype]
    assert recommend(kernels(facts), everywhere) is None


def failing(backend: Backend, dtype: Dtype = Dtype.BF16) -> Verdict:
    words = (Predicted.FAILS, ("some-rule",), Measured.NOT_RUN, "")
    return Verdict("gpu[0] GPU 8.0", backend, "1", dtype, *words)


def test_settings_are_those_of_the_installed_version() -> None:
    old = best("8.0", transformers__version="4.40.0").settings["transformers"]
    assert old == {"torch_dtype": "torch.bfloat16"}
    assert "transformers" not in best("8.0", transformers__version=UNREAD).settings


@pytest.mark.parametrize(
    "facts",
    [
        on(),
        on(UNREAD),
        on(ABSENT),
        on("8.0", UNREAD),
        {**on("8.0"), "gpu.count": UNREAD},
        {**on("8.0"), "gpu[0].visible": False},
    ],
)
def test_nothing_is_recommended_where_nothing_is_known(facts: dict[str, Any]) -> None:
    assert recommend(kernels(facts)) is None


def test_the_reason_stays_a_sentence_on_a_large_machine() -> None:
    assert len(best(*["8.0"] * 64).why) < 1_000


INSTALLED: dict[str, Any] = {
    "torch.version": "2.8.0",
    "flash_attn.version": "2.8.3",
    "transformers.version": "4.57.0",
    "xformers.version": None,
    "flash_attn_3.version": None,
    "flash_attn_4.version": None,
    "vllm.version": None,
    "unsloth.version": None,
    "llamafactory.version": None,
    "triton.version": "3.4.0",
}


@pytest.mark.parametrize(
    ("capabilities", "dtype", "attention"),
    [
        (["7.0"], Dtype.FP16, '"sdpa"'),
        (["7.5"], Dtype.FP16, '"sdpa"'),
        (["8.0"], Dtype.BF16, '"flash_attention_2"'),
        (["8.9", "8.0"], Dtype.BF16, '"flash_attention_2"'),
        (["9.0"], Dtype.BF16, '"flash_attention_2"'),
        (["12.0"], Dtype.BF16, '"flash_attention_2"'),
        (["8.0", "7.0"], Dtype.FP16, '"sdpa"'),
    ],
)
def test_the_shipped_tables(capabilities: list[str], dtype: Dtype, attention: str) -> None:
    facts = {**on(*capabilities), **INSTALLED}
    found = recommend(Kernels(environment(facts), Matrix(shipped().tables)))
    assert found is not None
    assert found.dtype is dtype
    assert found.settings["transformers"]["attn_implementation"] == attention


def test_a_card_for_a_display_is_left_out_and_named() -> None:
    cards = {"gpu[0].tensor_cores": True, "gpu[1].tensor_cores": False}
    found = recommend(kernels({**on("8.0", "7.0"), **cards}))
    assert found is not None
    assert (found.dtype, found.backend) == (Dtype.BF16, Backend.FA2)
    assert "Left out: gpu[1] GPU 7.0, without tensor cores; CUDA_VISIBLE_DEVICES" in found.why
    alone = recommend(kernels({**on("7.0"), "gpu[0].tensor_cores": False}))
    assert alone is not None
    assert "Left out" not in alone.why


def test_what_is_known_to_work_goes_before_what_is_not_known() -> None:
    """FlashAttention-4 without what it requires was recommended beside an attention that works."""
    known = structs.replace(failing(Backend.SDPA_FLASH), predicted=Predicted.WORKS)
    doubt = structs.replace(failing(Backend.FA2), predicted=Predicted.UNKNOWN)
    found = recommend(kernels(on("8.0")), [doubt, known])
    assert found is not None
    assert found.backend is Backend.SDPA_FLASH
    assert "fa2 in bf16 on gpu[0] (not known to work" in found.why
    found = recommend(kernels(on("8.0")), [doubt])
    assert found is not None
    assert found.backend is Backend.FA2


def test_what_is_not_known_to_run_is_not_promised() -> None:
    """On Windows it said that flash-attn has kernels, beside cells that are unknown."""
    doubt = structs.replace(failing(Backend.FA2), predicted=Predicted.UNKNOWN)
    found = recommend(kernels(on("8.0")), [doubt])
    assert found is not None
    assert found.why.endswith("; not verified for these versions.")
    works = structs.replace(doubt, predicted=Predicted.WORKS)
    passed = structs.replace(doubt, measured=Measured.PASSED)
    for verdict in (works, passed):
        found = recommend(kernels(on("8.0")), [verdict])
        assert found is not None
        assert "not known" not in found.why


def test_graphics_in_a_processor_are_left_out_beside_a_card() -> None:
    facts: dict[str, Any] = {"gpu.count": 2, "torch.version": "2.13.0+rocm7.2", "torch.hip": "7.2",
                             "torch.aotriton": "0.12.0"}  # fmt: skip
    for number, gfx in enumerate(("gfx1036", "gfx1100")):
        gpu = f"gpu[{number}]"
        facts |= {f"{gpu}.vendor": "amd", f"{gpu}.visible": True, f"{gpu}.name": gfx}
        facts |= {f"{gpu}.gfx": gfx, f"{gpu}.isa": gfx, f"{gpu}.discrete": gfx == "gfx1100"}
    found = recommend(Kernels(environment(facts), Matrix(shipped().tables)))
    assert found is not None
    assert (found.dtype, found.backend) == (Dtype.BF16, Backend.SDPA_FLASH)
    assert "Left out: gpu[0] gfx1036, which does not compute beside" in found.why
    alone = {**facts, "gpu[1].visible": False}
    found = recommend(Kernels(environment(alone), Matrix(shipped().tables)))
    assert found is not None
    assert "gpu[0] gfx1036 (gfx1036)" in found.why
