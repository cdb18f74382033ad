"""The first cause first, its consequences under it; a warning is no cause of another failure."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.unit.judging.explain.conftest import found, noise

if TYPE_CHECKING:
    from collections.abc import Callable

    from fadoctor.judging.explain.explain import Reading

SYMBOL = "ImportError: /v/flash_attn_2_cuda.so: undefined symbol: _ZN3c104cuda9SetDeviceEi\n"
TRACEBACK = 'Traceback (most recent call last):\n  File "/w/a.py", line 1, in <module>\n'
REMOTE = (
    "ImportError: This modeling file requires the following packages that were not found in your"
    " environment: flash_attn. Run `pip install flash_attn`\n"
)
AMPERE = "RuntimeError: FlashAttention only supports Ampere GPUs or newer.\n"
MIXED = "RuntimeError: query and key must have the same dtype\n"
TOO_NEW = (
    "NVIDIA B200 with CUDA capability sm_100 is not compatible with the current PyTorch"
    " installation.\n"
)
NO_IMAGE = "RuntimeError: CUDA error: no kernel image is available for execution on the device\n"


def test_of_several_failures_the_first_stands_first(read: Callable[[str], Reading]) -> None:
    log = TRACEBACK + SYMBOL + TRACEBACK + AMPERE
    assert [rule_id for rule_id, _ in found(read(log))] == [
        "abi-undefined-symbol",
        "gpu-too-old-fa2",
    ]
    assert [rule_id for rule_id, _ in found(read(TRACEBACK + AMPERE + TRACEBACK + SYMBOL))] == [
        "gpu-too-old-fa2",
        "abi-undefined-symbol",
    ]


def test_a_consequence_far_below_stands_under_its_root(read: Callable[[str], Reading]) -> None:
    reading = read(TOO_NEW + noise(5_000) + TRACEBACK + NO_IMAGE)
    (cause,) = reading.ranked.causes
    assert cause.rule.id == "torch-arch-unsupported"
    assert cause.severity.value == "error"
    assert cause.consequences == ("kernel-image-missing-ext",)


def test_the_warning_alone_stays_a_warning(read: Callable[[str], Reading]) -> None:
    assert found(read(TOO_NEW)) == [("torch-arch-unsupported", "warning")]


def test_a_warning_is_a_note_where_the_log_ends_otherwise(read: Callable[[str], Reading]) -> None:
    reading = read(f"{TOO_NEW}{TRACEBACK}KeyError: 'labels'\n")
    assert found(reading) == [("torch-arch-unsupported", "note")]
    assert reading.ranked.unexplained is not None
    assert reading.ranked.unexplained.text == "KeyError: 'labels'"


def test_a_status_of_miopen_at_the_end_is_no_other_error(read: Callable[[str], Reading]) -> None:
    failed = "MIOpen Error: conv.cpp:275: No suitable algorithm was found\n"
    reading = read(f"{failed}{TRACEBACK}RuntimeError: miopenStatusUnknownError\n")
    assert found(reading) == [("miopen-layer-failed", "warning")]
    assert reading.ranked.unexplained is None


def test_an_exception_that_the_title_repeats_is_no_other(read: Callable[[str], Reading]) -> None:
    raised = "ImportError: DLL load failed while importing onnxruntime_pybind11_state: x"
    reading = read(f"{raised}\n\nIt happens at the start.\n{TRACEBACK}{raised}\n")
    assert found(reading) == [("windows-dll-load", "warning")]
    assert reading.ranked.unexplained is None


def test_a_notice_does_not_hide_an_error_that_it_could_explain(
    read: Callable[[str], Reading],
) -> None:
    log = f"INFO Cannot use FlashAttention-2 backend for Volta and Turing GPUs.\n{AMPERE}"
    assert found(read(log))[0] == ("gpu-too-old-fa2", "error")


def test_who_falls_back_has_gone_on(read: Callable[[str], Reading]) -> None:
    log = "rotary is missing, falling back to torch: No module named 'flash_attn.ops'\n"
    assert found(read(log)) == [("fa-submodule-version", "note")]
    later = f"{log}{TRACEBACK}ModuleNotFoundError: No module named 'flash_attn.ops'\n"
    assert found(read(later)) == [("fa-submodule-version", "error")]


@pytest.mark.parametrize(
    "line",
    [
        f"WARNING:root:Flash Attention failed, using default SDPA: {AMPERE}",
        f"Error running flash attention: {AMPERE.strip()}, using pytorch attention instead.\n",
    ],
)
def test_who_takes_another_in_its_place_was_asked_for_the_first(
    read: Callable[[str], Reading], line: str
) -> None:
    assert found(read(line))[0] == ("gpu-too-old-fa2", "warning")
    assert found(read(f"{line}{TRACEBACK}{AMPERE}"))[0] == ("gpu-too-old-fa2", "error")


def test_the_same_failure_of_many_processes_is_one(read: Callable[[str], Reading]) -> None:
    log = "".join(f"[rank{rank}]: {line}\n" for line in (TRACEBACK + AMPERE).splitlines()
                  for rank in range(8))  # fmt: skip
    (cause,) = read(log).ranked.causes
    assert cause.times == 8


def test_a_setting_and_the_failure_of_another_part_belong_together(
    read: Callable[[str], Reading],
) -> None:
    dtype = "RuntimeError: FlashAttention only support fp16 and bf16 data type\n"
    log = f"use_dora: true\n{TRACEBACK}ValueError: x\nretrying\n{TRACEBACK}{dtype}"
    (cause,) = (cause for cause in read(log).ranked.causes if cause.severity.value == "error")
    assert (cause.rule.id, cause.consequences) == (
        "dora-fp32-promotion",
        ("dtype-fp32-into-fa2",),
    )


def test_lines_that_a_narrow_terminal_wrapped(read: Callable[[str], Reading]) -> None:
    log = "RuntimeError: FlashAttention only\nsupports Ampere GPUs or\nnewer.\n"
    (cause,) = read(log).ranked.causes
    assert cause.rule.id == "gpu-too-old-fa2"
    assert [line.number for line in cause.lines] == [1, 2]


def test_a_line_that_a_terminal_wrapped_beside_one_that_is_explained(
    read: Callable[[str], Reading],
) -> None:
    log = (
        "/opt/conda/lib/python3.10/site-packages/torch/include/ATen/cuda/L.h:8:10: fatal error: "
        "cusparse.h: No such\nfile or directory\nERROR: Failed building wheel for flash-attn\n"
    )
    assert read(log).ranked.causes[0].rule.id == "cuda-toolkit-incomplete"


def test_a_command_is_not_put_behind_the_longest_line(read: Callable[[str], Reading]) -> None:
    log = (
        "RuntimeError: Failed to import transformers.models.a.modeling_a because of the following "
        "error: cannot import name 'is_flash_attn_greater_or_equal_2_10' from\n"
        "!pip install trl transformers\n"
    )
    assert [cause.rule.id for cause in read(log).ranked.causes] == ["hf-import-renamed"]


def test_a_blank_line_ends_what_a_terminal_wrapped(read: Callable[[str], Reading]) -> None:
    """An error, and below it a command that helped, were put together as one message."""
    log = "TypeError: expected string or bytes-like object\n\nThis is how I go on:\n\n{}\n"
    assert read(log.format("!pip install xformers")).ranked.causes == ()
    assert read(log.format("pip install -U xformers")).ranked.causes == ()


def test_lines_that_a_terminal_cut_inside_words(read: Callable[[str], Reading]) -> None:
    before = f"{'x' * 50} RuntimeError: query and key must have the sa"
    log = f"{before}\nme dtype\n{'z' * len(before)}\nend\n"
    (cause,) = read(log).ranked.causes
    assert cause.rule.id == "fa2-mixed-qkv-dtype"
    assert cause.lines[0].number == 1


def test_an_import_that_hides_a_broken_binary(read: Callable[[str], Reading]) -> None:
    assert (
        found(read(TRACEBACK + SYMBOL + "\n" + TRACEBACK + REMOTE))[0][0] == "abi-undefined-symbol"
    )


def test_what_a_person_retells_is_less_certain(read: Callable[[str], Reading]) -> None:
    (printed,) = read(MIXED).ranked.causes
    for retold in (MIXED.upper(), MIXED.replace("have the same", "have **the `same`**")):
        (cause,) = read(f"it says {retold}").ranked.causes
        assert cause.rule.id == printed.rule.id == "fa2-mixed-qkv-dtype"
        assert (printed.match.confidence.value, cause.match.confidence.value) == ("high", "medium")


def test_what_is_printed_stands_before_what_is_retold(read: Callable[[str], Reading]) -> None:
    assert found(read(f"{TRACEBACK}{SYMBOL}maybe {MIXED.upper()}")) == [
        ("abi-undefined-symbol", "error")
    ]


def test_how_a_build_ends_is_no_other_failure(read: Callable[[str], Reading]) -> None:
    """A warning about a build stayed a note, since the build's own last words followed it."""
    crash = "nvcc error   : 'cudafe++' died with status 0xC0000005 (ACCESS_VIOLATION)\n"
    log = "FAILED: C:/fa/csrc/flash_attn/src/flash_bwd_hdim64.obj\n" + crash
    last = "RuntimeError: Error compiling objects for extension\n"
    for ending in (last, "subprocess.CalledProcessError: Command '['ninja', '-v']' returned 1.\n"):
        assert found(read(log + TRACEBACK + ending)) == [("windows-msvc-build", "warning")]
    assert found(read(log + TRACEBACK + "KeyError: 'lr'\n")) == [("windows-msvc-build", "note")]


def test_one_line_that_a_terminal_cut_inside_a_word(read: Callable[[str], Reading]) -> None:
    line = "ImportError: /opt/venv/lib/python3.12/site-packages/flash_attn_2_cuda.so: undefined sy"
    reading = read(f"{line}\nmbol: _ZN3c104cuda9SetDeviceEi\n")
    assert [cause.rule.id for cause in reading.ranked.causes] == ["abi-undefined-symbol"]


def test_what_a_terminal_wrapped_and_indented_is_put_together(
    read: Callable[[str], Reading],
) -> None:
    log = (
        "  x Failed to build `flash-attn==2.7.3`\n      Traceback (most recent call last):\n"
        "      ModuleNotFoundError: No module named\n      'torch'\n"
    )
    assert found(read(log)) == [("build-no-torch-isolation", "error")]


def test_what_bitsandbytes_only_logs_is_no_error(read: Callable[[str], Reading]) -> None:
    log = (
        "bitsandbytes library load error: Configured CUDA binary not found at "
        "C:\\v\\bitsandbytes\\libbitsandbytes_cuda130.dll\n"
        "ImportError: DLL load failed while importing _fused: The specified module could not be "
        "found.\n"
    )
    assert ("bitsandbytes-cuda-missing", "error") not in found(read(log))
    assert ("windows-dll-load", "warning") in found(read(log))
