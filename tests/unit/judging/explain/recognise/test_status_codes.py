"""Each code of CUDA and of its libraries has an answer, in whichever form a text tells it."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING

import pytest

from fadoctor.judging.explain.explain import explain, read_log
from fadoctor.judging.explain.recognise.status_codes import StatusCodes
from fadoctor.knowledge.matrix.load import load_knowledge
from fadoctor.knowledge.matrix.query import cell_words
from fadoctor.model.finding import Severity

if TYPE_CHECKING:
    from fadoctor.model.finding import Finding

KNOWLEDGE = load_knowledge()
TABLES = KNOWLEDGE.tables
ROWS = TABLES["status-codes"].rows
MEANT = {name: row for row in TABLES["status-meanings"].rows for name in cell_words(row["name"])}
CUDA = [row for row in ROWS if row["family"] == "CUDA" and isinstance(row.get("text"), str)]
OF_TEXT = (
    "RuntimeError: CUDA error: {}",
    "torch.AcceleratorError: CUDA error: {}",
    "RuntimeError: cuda runtime error ({number}) : {} at /pytorch/aten/src/THC/THCGeneral.cpp:50",
    "CUDA failure {number}: {} ; GPU=0 ; hostname=n1",
    "GPUassert: {} kernel.cu 12",
    "[CUDA ERROR] {} at kernel.cu:12",
    "CUDA Runtime Error: {}",
    "Error in cudaFuncSetAttribute: {}",
    "[TensorRT-LLM][ERROR] CUDA runtime error in cudaMalloc: {}",
    "RuntimeError: Triton Error [CUDA]: {}",
    "Cuda failure '{}'",
)
OF_NUMBER = (
    "cuInit(0) failed with error {number}",
    "cuInit() returned {number}",
    "cuInit err: {number}",
    "cudaGetDeviceCount returned {number}",
    "CUDA initialization failure with error: {number}",
    "cuda driver error {number}",
)
OF_NAME = (
    "RuntimeError: CUDA error: {}",
    "cuInit failed: {} ({number})",
    "cudaMalloc returned {}",
    "Search for `{}' in the documentation of NVIDIA",
)


def codes() -> StatusCodes:
    return StatusCodes.of(KNOWLEDGE)


def explained(text: str) -> tuple[Finding, ...]:
    return explain(read_log(io.BytesIO(text.encode()), "a.log", KNOWLEDGE), KNOWLEDGE).findings


@pytest.mark.parametrize("form", OF_TEXT)
def test_a_text_of_cuda_is_its_code(form: str) -> None:
    for row in CUDA:
        text = str(row["text"])
        worded = codes().worded(form.format(text, number=row["number"]))
        same = {cell_words(each["name"])[0] for each in CUDA if each["text"] == text}
        assert any(f"CUDA error: {text} ({name})" in worded for name in same), (text, worded)


@pytest.mark.parametrize("form", OF_NAME)
def test_a_name_of_cuda_is_its_code(form: str) -> None:
    for row in CUDA:
        names = cell_words(row["name"])
        for name in names:
            worded = codes().worded(form.format(name, number=row["number"]))
            assert f"CUDA error: {row['text']} ({names[0]})" in worded


@pytest.mark.parametrize("form", OF_NUMBER)
def test_a_number_that_a_call_returns_is_its_code(form: str) -> None:
    for row in CUDA:
        worded = codes().worded(form.format(number=row["number"]))
        assert f"({cell_words(row['name'])[0]})" in worded


@pytest.mark.parametrize(
    ("text", "worded"),
    [
        ("hipMalloc failed with error code 98", "HIP error: invalid device function"),
        ("hipErrorInvalidDeviceFunction on my 6700 XT", "HIP error: invalid device function"),
        ("hipModuleLoad: failed: device kernel image is invalid", "HIP error: device kernel image"),
        ("the container says unknown error 999", "CUDA error: unknown error"),
        ("error 35: CUDA driver version is insufficient for CUDA runtime version",
         "CUDA error: CUDA driver version is insufficient"),
    ],
)  # fmt: skip
def test_codes_of_hip_and_texts_beside_their_number(text: str, worded: str) -> None:
    assert worded in codes().worded(text)


@pytest.mark.parametrize("family", sorted({str(row["family"]) for row in ROWS}))
def test_each_code_has_an_answer_of_its_family(family: str) -> None:
    wrong = []
    for row in ROWS:
        name = cell_words(row["name"])[-1]
        if row["family"] != family:
            continue
        rule, first = MEANT[name]["rule"], MEANT[name].get("first")
        findings = explained(f"RuntimeError: {family} error: {name}")
        told = [(each.rule_id, *(fix.id for fix in each.fixes[:1])) for each in findings[:1]]
        if not told or told[0][0] != rule or (isinstance(first, str) and told[0][1:] != (first,)):
            wrong.append((name, told))
    assert wrong == []


def test_each_code_has_a_meaning_and_each_meaning_a_code() -> None:
    names = {name for row in ROWS for name in cell_words(row["name"])}
    assert names == set(MEANT)


@pytest.mark.parametrize(
    "text",
    [
        "    if (status != cudaErrorNotReady) return status;",
        "        case cudaErrorAssert:",
        'kernel.cu(7): error: identifier "cudaErrorStubLibrary" is undefined',
        "src/x.c:434:7: error: 'cudaErrorStubLibrary' undeclared (first use in this function)",
        "fatal error: cuda_runtime.h: file not found",
        "CUDA 12.1 was found, and error handling is on",
        "cudaErrorSomethingElse",
        "CUDA error handling 101 for beginners",
        "cudaMalloc failed 3 times",
        "cudaGetDeviceCount returned 2 devices",
        "CUDA failed 700 times since noon",
        "unknown error 404 in the page",
        "error 999: the printer is out of memory",
    ],
)
def test_what_is_no_answer_of_a_call_stays(text: str) -> None:
    assert codes().worded(text) == text


@pytest.mark.parametrize(
    "text",
    [
        "tensorflow/compiler/xla/stream_executor/cuda: CUDA_ERROR_INVALID_CONTEXT",
        "jaxlib: XlaRuntimeError: INTERNAL: cuDNN error: CUDNN_STATUS_BAD_PARAM",
        "game.exe crashed while shaders were compiled",
        "Blender 4.1: CUDA_ERROR_NO_DEVICE while the scene is rendered",
    ],
)
def test_other_programs_alone_are_not_explained(text: str) -> None:
    assert all(each.severity is Severity.NOTE for each in explained(text))


def test_a_code_of_the_driver_and_the_runtime_has_one_answer() -> None:
    forms = ("cudaErrorNoDevice", "CUDA_ERROR_NO_DEVICE", "no CUDA-capable device is detected")
    rules = {explained(f"RuntimeError: CUDA error: {form}")[0].rule_id for form in forms}
    assert rules == {"torch-sees-no-gpu"}


def test_what_a_code_means_in_general_gives_way_to_what_is_told() -> None:
    log = (
        "Since my laptop woke up from sleep Ollama computes on the CPU alone, Linux.\n"
        'cudaSetDevice err: 999\nmsg="Unable to load cudart" error="cudart init failure: 999"\n'
    )
    assert explained(log)[0].rule_id == "ollama-cuda-not-started"
    assert explained("cudaSetDevice err: 999")[0].rule_id == "device-launch-failure"
