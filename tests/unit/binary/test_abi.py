"""String ABI and causes, from names that real builds have."""

from __future__ import annotations

import pytest

from fadoctor.binary.abi import AbiCause, StringAbi, cause_of, imports_abi, symbol_abi
from fadoctor.binary.symbol_families import Family, family_of

NEW_STRING = "NSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEEE"
CHECK_FAIL = "_ZN3c106detail14torchCheckFailEPKcS2_jRK"


@pytest.mark.parametrize(
    ("symbol", "expected"),
    [
        (CHECK_FAIL + "Ss", StringAbi.OLD),
        (CHECK_FAIL + NEW_STRING, StringAbi.NEW),
        ("_ZNK5torch8autograd4Node4nameB5cxx11Ev", StringAbi.NEW),
        ("_ZNK5torch8autograd4Node4nameEv", StringAbi.NEUTRAL),
        # A name that holds the letters Ss is no string.
        ("_ZN5torch10AccesSsideEv", StringAbi.NEUTRAL),
        ("_ZN2at4callERKNS_6TensorES2_Ss", StringAbi.OLD),
        ("aoti_torch_abi_version", StringAbi.NEUTRAL),
        ("", StringAbi.NEUTRAL),
        ("_Z999999S", StringAbi.NEUTRAL),
    ],
)
def test_abi_of_a_symbol(symbol: str, expected: StringAbi) -> None:
    assert symbol_abi(symbol) is expected


def test_only_calls_into_torch_tell_the_abi_of_an_extension() -> None:
    own = "_ZN3own6handleE" + NEW_STRING
    assert imports_abi([own, "PyLong_FromLong"]) is StringAbi.NEUTRAL
    assert imports_abi([own, CHECK_FAIL + "Ss"]) is StringAbi.OLD
    assert imports_abi([CHECK_FAIL + NEW_STRING]) is StringAbi.NEW


@pytest.mark.parametrize(
    ("symbol", "torch", "overloads", "cause"),
    [
        (CHECK_FAIL + "Ss", StringAbi.NEW, [CHECK_FAIL + NEW_STRING], AbiCause.OLD_STRING),
        (CHECK_FAIL + NEW_STRING, StringAbi.OLD, [CHECK_FAIL + "Ss"], AbiCause.NEW_STRING),
        (
            "_ZNK5torch8autograd4Node4nameEv",
            StringAbi.NEW,
            ["_ZNK5torch8autograd4Node4nameB5cxx11Ev"],
            AbiCause.OLD_STRING,
        ),
        (
            "_ZN5torch8autograd12VariableInfoC1ERKN2at6TensorE",
            StringAbi.NEW,
            ["_ZN5torch8autograd12VariableInfoC1ERKN2at6TensorEb"],
            AbiCause.SIGNATURE_CHANGED,
        ),
        ("_ZN2at18TensorIteratorBaseC2Ev", StringAbi.OLD, [], AbiCause.GONE),
        (CHECK_FAIL + "Ss", None, [], AbiCause.GONE),
        ("aoti_torch_create_device_guard", StringAbi.NEW, [], AbiCause.STABLE_SHIM),
        ("torch_call_dispatcher", StringAbi.NEW, [], AbiCause.STABLE_SHIM),
        ("ncclCommShrink", StringAbi.NEW, [], AbiCause.NCCL),
        ("__nvJitLinkComplete_12_4", StringAbi.NEW, [], AbiCause.NVJITLINK),
        ("cusparseSpMM", StringAbi.NEW, [], AbiCause.NVJITLINK),
        ("cudaGetDriverEntryPointByVersion", StringAbi.NEW, [], AbiCause.CUDA_LIBRARY),
        ("cublasLtMatmul", StringAbi.NEW, [], AbiCause.CUDA_LIBRARY),
        ("cuTensorMapEncodeTiled", StringAbi.NEW, [], AbiCause.CUDA_DRIVER),
        ("_ZSt21ios_base_library_initv", StringAbi.NEW, [], AbiCause.LIBSTDCXX),
        ("__cxa_call_terminate", StringAbi.NEW, [], AbiCause.LIBSTDCXX),
        ("_PyThreadState_Current", StringAbi.NEW, [], AbiCause.PYTHON),
        ("my_own_function", StringAbi.NEW, [], AbiCause.OTHER),
    ],
)
def test_cause(symbol: str, torch: StringAbi | None, overloads: list[str], cause: AbiCause) -> None:
    assert cause_of(symbol, torch, overloads) is cause


def test_family_names_its_libraries() -> None:
    assert family_of("_ZTIN3c105ErrorE") is Family.TORCH
    assert Family.TORCH.has("libc10_cuda.so")
    assert Family.CUDA_DRIVER.has("libcuda.so.1")
    assert not Family.CUDA_DRIVER.has("libcudart.so.12")
    assert not Family.UNKNOWN.has("libanything.so")
