"""Each rule that shows in logs: its cases, the wordings of the world, and what is harmless."""

from __future__ import annotations

import re
from pathlib import Path

import msgspec
import pytest

from fadoctor.judging.engine.symptoms import Matcher
from fadoctor.model.finding import Severity
from tests.plain_yaml import read_plain
from tests.shipped import compiled
from tests.work import which_ends

COMPILED = compiled()
MATCHER = Matcher(COMPILED.knowledge)
TEXTS = read_plain(Path(__file__).with_name("wordings.yaml"))
WORDINGS = [(rule_id, text) for rule_id, texts in TEXTS["wordings"].items() for text in texts]
HARMLESS = TEXTS["harmless"]
WITH_SYMPTOMS = sorted(rule.id for rule in COMPILED.knowledge.rules if rule.symptoms)

CATEGORIES = """
build-no-torch-isolation build-nvcc-missing build-oom-killed build-packaging-missing
cuda-home-unset cuda-toolkit-too-old cuda-version-mismatch-build gcc-too-new nvcc-arch-dropped
nvcc-arch-unsupported rocm-build-cuda-ext wheel-not-supported windows-long-path windows-msvc-build
driver-lib-missing-container driver-too-old dora-fp32-promotion dtype-fp32-into-fa2
fa2-dtype-valueerror fa2-init-dtype-warning fa2-mixed-qkv-dtype sdpa-mixed-qkv-dtype
tensors-on-cpu xformers-mixed-qkv-dtype bf16-unsupported-gpu fa3-arch-unsupported
gpu-below-minimum gpu-too-old-fa2 headdim-limit headdim-limit-rocm hf-bf16-unsupported
hf-tf32-unsupported kernel-image-missing-ext kernel-image-missing-fa2 kernel-image-missing-torch
kernels-hub-fa3-wrong-arch torch-arch-unsupported abi-undefined-symbol abi-undefined-symbol-cxx11
abi-undefined-symbol-nccl cuda-major-mix fa-extension-missing fa-kwarg-too-old
fa-private-api-changed fa-stub-shadow fa-submodule-version fa1-api-renamed fa3-import-name
glibc-too-old ld-library-path-cuda-mix libcudart-missing libstdcxx-too-old torch-cpu-only
windows-dll-load wrong-python-pip rocm-arch-unsupported rocm-ck-invalid-arg
rocm-sdpa-flash-unavailable sdpa-no-available-kernel fa2-padding-side hf-attn-impl-typo
hf-fa2-not-installed hf-fa2-version-too-old hf-import-renamed hf-model-no-fa2
hf-remote-code-check-imports hf-submodel-no-fa2 unsloth-fa2-broken python-h-missing
triton-cpu-pointer triton-launcher-gcc-fail triton-libcuda-missing triton-missing
triton-ptxas-arch triton-pyssize triton-torch-version windows-triton-python-libs
vllm-backend-fallback-turing vllm-backend-invalid-device vllm-backend-unknown
vllm-fa-illegal-memory vllm-fa-package-missing vllm-no-valid-backend vllm-sinks-need-fa3
xformers-fa-version-range xformers-no-cuda-ext xformers-no-operator xformers-torch-mismatch
"""
"""Kinds of reports that a log must be recognised for, by rule."""


def log_outcomes(rule_id: str) -> set[str]:
    return {raw["expect"]["outcome"] for raw in COMPILED.cases[rule_id] if "log" in raw}


@pytest.mark.parametrize("rule_id", WITH_SYMPTOMS)
def test_each_rule_with_symptoms_has_a_log_and_a_near_miss(rule_id: str) -> None:
    assert log_outcomes(rule_id) == {"fail", "pass"}


def test_every_kind_of_report_has_a_rule_that_shows_in_logs() -> None:
    assert set(CATEGORIES.split()) - set(WITH_SYMPTOMS) == set()


def test_cases_with_a_log_belong_to_rules_with_symptoms() -> None:
    logged = {rule_id for rule_id in COMPILED.cases if log_outcomes(rule_id)}
    assert logged == set(WITH_SYMPTOMS)


@pytest.mark.parametrize(("rule_id", "text"), WORDINGS)
def test_each_wording_shows_its_rule_first(rule_id: str, text: str) -> None:
    assert [match.rule_id for match in MATCHER.match(text)][:1] == [rule_id]


@pytest.mark.parametrize("text", HARMLESS.values(), ids=HARMLESS)
def test_nothing_is_said_aloud_about_what_is_harmless(text: str) -> None:
    found = MATCHER.match(text)
    assert [match for match in found if match.severity is not Severity.NOTE] == []


PARTS = 3


@pytest.mark.long
@pytest.mark.thinned(every=PARTS)
@pytest.mark.parametrize("part", range(PARTS))
def test_around_anchors_the_same_is_found_as_in_the_whole_text(part: int) -> None:
    rules = [
        msgspec.structs.replace(
            rule,
            worded=tuple(msgspec.structs.replace(each, width=0) for each in rule.symptoms),
            packed_symptoms="",
            packed_needs=(),
        )
        for rule in COMPILED.knowledge.rules
    ]
    whole = Matcher(msgspec.structs.replace(COMPILED.knowledge, rules=tuple(rules)))
    logs = [case["log"] for cases in COMPILED.cases.values() for case in cases if "log" in case]
    filling = "2026-11-22 10:00:00 INFO step 7 of 9, loss 0.25\n" * 20
    for start in range(3 * part, len(logs), 3 * PARTS):
        text = filling.join(["", *logs[start : start + 3], ""])
        assert MATCHER.match(text) == whole.match(text)


def test_a_text_without_any_anchor_shows_nothing_so_that_logs_can_be_searched_for_them() -> None:
    anchors = MATCHER.anchors()
    for _, text in WORDINGS:
        assert any(anchor in text.encode() for anchor in anchors)
    assert len(anchors) < 324  # each is searched for in the whole log; bench/explain.py times that


PATTERNS = sorted(
    {
        pattern
        for rule in COMPILED.knowledge.rules
        for symptom in rule.symptoms
        for pattern in (
            symptom.pattern,
            *symptom.near,
            *symptom.same_line,
            *symptom.absent,
            *symptom.others,
            *symptom.survived,
        )
        if pattern
    }
)
UNITS = (" ", "a", "1", "_", "/", ".", "'", "(", "a.", "a ", "a, ", "\n", " \n", "x: ", "[a", "::")
"""What repetitions of patterns are made of: a run of one is where backtracking would show."""


def hostile_texts(pattern: str, units: tuple[str, ...]) -> list[str]:
    """Return texts that begin as a match of the pattern does, and go on for ever."""
    literals = sorted(re.findall(r"[\w ,:'`-]{4,60}", pattern), key=len)[-3:]
    starts = ["", *literals, " ".join(literals)]
    return [(start + unit * 2_000 + start) for start in starts for unit in units]


@pytest.mark.long
@pytest.mark.thinned(every=PARTS)
@pytest.mark.parametrize("part", range(PARTS))
def test_no_pattern_runs_away(part: int) -> None:
    """Each pattern meets a part of the units in each landing, and all of them once a week."""
    for number, pattern in enumerate(PATTERNS):
        compiled = re.compile(pattern)
        with which_ends(pattern):
            for text in hostile_texts(pattern, UNITS[(number + part) % PARTS :: PARTS]):
                compiled.search(text)


def test_an_error_outweighs_a_notice_of_the_same_message() -> None:
    notice = "You are attempting to use Flash Attention 2 without specifying a torch dtype."
    refusal = "RuntimeError: FlashAttention only supports Ampere GPUs or newer."
    found = MATCHER.match(f"{notice}\n{refusal}\n")
    assert [(match.rule_id, match.severity.value) for match in found] == [
        ("gpu-too-old-fa2", "error"),
        ("fa2-init-dtype-warning", "note"),
    ]


def test_the_root_stands_before_what_follows_from_it() -> None:
    log = (
        "NVIDIA B200 with CUDA capability sm_100 is not compatible with the current PyTorch"
        " installation.\nRuntimeError: CUDA error: no kernel image is available for execution\n"
    )
    found = [match.rule_id for match in MATCHER.match(log)]
    assert found == ["torch-arch-unsupported", "kernel-image-missing-ext"]


def test_the_file_that_lacks_something_is_named() -> None:
    library = "/v/site-packages/bitsandbytes/libbitsandbytes_cuda128.so"
    log = f"libstdc++.so.6: version `GLIBCXX_3.4.30' not found (required by {library})"
    (found,) = MATCHER.match(log)
    assert found.message.startswith(f"{library} needs GLIBCXX_3.4.30")
