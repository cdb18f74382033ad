"""A message of which a word was lost, added or misspelt is recognised; what says less is not."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING

import pytest

from fadoctor.judging.explain.explain import explain, read_log
from fadoctor.judging.explain.recognise.pages import load_pages
from fadoctor.judging.explain.recognise.words import is_alike, words_in

if TYPE_CHECKING:
    from fadoctor.model.rule import Knowledge


def loud(knowledge: Knowledge, log: str) -> list[tuple[str, str]]:
    report = explain(read_log(io.BytesIO(log.encode()), "a.log", knowledge), knowledge)
    return [
        (each.rule_id, each.confidence.value)
        for each in report.findings
        if each.severity.value != "note"
    ]


@pytest.mark.parametrize(
    ("line", "rule_id"),
    [
        ("AssertionError: Torch not being compiled with CUDA enabled", "torch-cpu-only"),
        ("RuntimeError: FlashAttention only suports Ampere GPUs or newer.", "gpu-too-old-fa2"),
        ("RuntimeError: FlashAttention supports Ampere GPUs or newer.", "gpu-too-old-fa2"),
        ("RuntimeError: query and key have the same dtype", "fa2-mixed-qkv-dtype"),
        ("RuntimeError: query query and key must have have the same dtype", "fa2-mixed-qkv-dtype"),
        ("FlashAttention forward only supports head dimension at 128", "headdim-limit"),
        ("ModuleNotFoundError: No named 'flash_attn_3'", "fa3-import-name"),
        ("ModuleNotFoundError: No module 'flash_attn_3'", "fa3-import-name"),
        (
            "cannot import 'NavitFlashAttention2' from 'transformers.models.navit.modeling_navit'",
            "hf-import-renamed",
        ),
        ("RuntimeError: invalid for fmha_bwd", "rocm-ck-invalid-arg"),  # bwd: a part of a name
        ("The platform should have virtual package __cuda on version 12", "conda-cuda-virtual"),
        ("nvcc fatal   : Unsupported architecture 'compute_37'", "nvcc-arch-dropped"),
        (
            "The flashinfer-cubin version (0.6.2) does not match flashinfer (0.6.4)",
            "flashinfer-parts-differ",
        ),
        (
            "ImportError: DLL load failed importing flash_attn_2_cuda: procedure introuvable.",
            "abi-undefined-symbol",
        ),
        (
            "k.cu:3:10: error: ATen/CUDAGeneratorImpl.h: No such file or directory",
            "torch-header-name-gone",
        ),
        (
            "SM89 kernel is not available. Make sure you have GPUs with compute capability 8.9.",
            "sage-kernel-missing",
        ),
    ],
)
def test_one_word_is_not_all(knowledge: Knowledge, line: str, rule_id: str) -> None:
    assert loud(knowledge, f"{line}\n")[:1] in (
        [(rule_id, "high")],
        [(rule_id, "medium")],
        [(rule_id, "low")],
    )


@pytest.mark.parametrize(
    ("line", "rule_id"),
    [
        # without the exception in front
        (
            "Expect q/k/v and block_mask to be on the same device but got cpu and cuda:0.",
            "flex-attention-limit",
        ),
        # with its beginning alone
        ("Cannot use FlashAttention-2 backend because", "vllm-fa-package-missing"),
        (
            "ImportError: init_empty_weights requires the accelerate library >= 0.26.0 it was not",
            "optional-package-missing",
        ),
    ],
)
def test_a_message_that_is_cut_is_recognised(knowledge: Knowledge, line: str, rule_id: str) -> None:
    assert [name for name, _ in loud(knowledge, f"{line}\n")] == [rule_id]


@pytest.mark.parametrize(
    "line",
    [
        "Please install flash attention with",  # many messages begin so
        "flash attention is enabled",
        "Using FlashAttention backend",
        "Loading model with options",
        "RuntimeError: CUDA error: invalid",  # what is invalid decides
    ],
)
def test_a_beginning_that_many_messages_have_is_none(knowledge: Knowledge, line: str) -> None:
    assert loud(knowledge, f"{line}\n") == []


@pytest.mark.parametrize(
    "line",
    [
        "Torch was compiled with CUDA enabled",  # the sense is the opposite
        "fastai 2.7.19 requires torch<2.7,>=1.10, but you have torch 2.8.0 which is incompatible.",
        "Flash Attn is not installed!",
        "jax.flash_attn_unpadded was called with dropout",
        "The page still prints that flash attention installed.",
        "Everything must have the same colour",
        "The kernel is available for execution on the device",
        "KeyError: '--local-rank=3'",
        "AttributeError: 'OwnTrainer' object has no attribute 'num_iterations'. trl 0.16.0",
        "The triton step stops:\nNameError('u7 is not defined')",
    ],
)
def test_no_word_is_given_that_changes_the_sense(knowledge: Knowledge, line: str) -> None:
    assert loud(knowledge, f"{line}\n") == []


@pytest.mark.parametrize(
    ("one", "other", "expected"),
    [
        ("kernel", "kemel", True),  # read off a picture
        ("turn", "tum", False),
        ("attention", "attention", True),
        ("attention", "attetion", True),
        ("attention", "attenttion", True),
        ("attention", "atetntion", True),
        ("attention", "attentive", False),
        ("dtype", "dtypo", True),
        ("key", "kay", False),  # short words say too much
    ],
)
def test_one_typing_error(one: str, other: str, *, expected: bool) -> None:
    assert is_alike(one, other) is expected
    assert is_alike(other, one) is expected


def test_a_word_ends_where_a_digit_begins() -> None:
    assert [word.text for word in words_in("1Torch flash_attn_2_cuda")] == [
        "torch", "flash", "attn", "cuda",
    ]  # fmt: skip


def test_every_wording_is_recognised_as_it_is(knowledge: Knowledge) -> None:
    pages = load_pages(knowledge)
    assert len(pages.wordings) > 500
    tolerant = pages.tolerant
    one = next(each for each in pages.wordings if each.rule == "gpu-too-old-fa2")
    words = one.text.split()
    lost = " ".join(words[:1] + words[2:])
    assert one.rule in {each.rule for each in tolerant.repaired([lost])}


def test_no_number_is_made_up(knowledge: Knowledge) -> None:
    tolerant = load_pages(knowledge).tolerant
    line = "WARNING: No libcudart.so found! Install CUDA or the cudatoolkit package"
    assert [each.text for each in tolerant.repaired([line]) if "so.1" in each.text] == []


def test_the_numbers_of_a_line_stay(knowledge: Knowledge) -> None:
    tolerant = load_pages(knowledge).tolerant
    line = "GPUs with compute capability below 6.0 not supported."
    texts = [each.text for each in tolerant.repaired([line])]
    assert "GPUs with compute capability below 6.0 are not supported." in texts


@pytest.mark.parametrize(
    "line",
    [
        "ImportError: DLL load failed while importing some_ext",
        "# DLL load failed while importing _myown_module_of_mine",
    ],
)
def test_no_words_of_another_script_are_put_in(knowledge: Knowledge, line: str) -> None:
    report = explain(read_log(io.BytesIO(line.encode()), "a.log", knowledge), knowledge)
    assert "windows-paging-file-small" not in [each.rule_id for each in report.findings]


def test_a_line_that_an_exact_pattern_explains_is_not_repaired(knowledge: Knowledge) -> None:
    """Regression: the name of an exception in torch 2.0 to 2.4 became an error of CUDA itself."""
    log = (
        "torch.cuda.OutOfMemoryError: CUDA out of memory. Tried to allocate 16.00 GiB. GPU 0 has a "
        "total capacity of 79.15 GiB of which 5.30 GiB is free.\n"
    )
    report = explain(read_log(io.BytesIO(log.encode()), "a.log", knowledge), knowledge)
    assert [each.rule_id for each in report.findings] == ["gpu-memory-too-small"]


def test_a_warning_is_no_misspelt_error(knowledge: Knowledge) -> None:
    """Regression: a program without flash-attn that goes on was told that it fails."""
    log = "Warning: flash-attn is not installed. Please install flash-attn for speed.\n"
    report = explain(read_log(io.BytesIO(log.encode()), "a.log", knowledge), knowledge)
    assert report.findings == ()


def test_another_word_at_the_end_is_not_one_that_was_lost(knowledge: Knowledge) -> None:
    line = "GCC 14 is not yet supported by the {} of this image"
    assert loud(knowledge, line.format("nvcc"))
    assert loud(knowledge, line.format("distribution")) == []


@pytest.mark.parametrize(
    ("line", "rule_id"),
    [
        ("torch: can't find libcudart.so.12 in my env", "libcudart-missing"),
        ("ldd lists libcublasLt.so.11 => not found", "libcudart-missing"),
        ("could not load libcuda.so.1 in the container", "driver-lib-missing-container"),
        ("vllm \u542f\u52a8\u65f6\u627e\u4e0d\u5230 libcudart.so.12", "libcudart-missing"),
        ("bitsandbytes on Ubuntu, no such file libbitsandbytes_rocm62.so",
         "bitsandbytes-rocm-missing"),
    ],
)  # fmt: skip
def test_a_library_that_is_told_to_be_missing_is(
    knowledge: Knowledge, line: str, rule_id: str
) -> None:
    assert [each[0] for each in loud(knowledge, line)][:1] == [rule_id]


@pytest.mark.parametrize(
    "line",
    [
        "I have libcudart.so.12, and it was found",
        "libcudart.so.12 could be loaded, the model is slow",
        "Which package has libcudart.so.12?",
    ],
)
def test_a_library_that_is_there_is_not_missing(knowledge: Knowledge, line: str) -> None:
    assert loud(knowledge, line) == []
