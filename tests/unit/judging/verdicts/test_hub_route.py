"""The cells of kernels of the Hub, and of FlashAttention that torch activates."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec import structs

from fadoctor.judging.diagnose import foresee
from fadoctor.model.verdict import Backend, Dtype, Verdict
from tests.unit.judging.engine.builders import ABSENT, UNREAD, environment, shipped

FLASH = "kernels-community/flash-attn2"
VLLM = "kernels-community/vllm-flash-attn3"
EXACT = "torch212-cxx11-cu130-x86_64-linux"
STABLE = "torch-stable-abi210-cu130-x86_64-linux"
OPENED = f"{FLASH}@v1 {EXACT} 2.12.1"
KEYS = "backend id license name python-depends version"
THERE: dict[str, Any] = {
    "host.os": "linux", "host.machine": "x86_64", "torch.version": "2.12.1", "torch.cuda": "13.0",
    "torch.build": "pypi", "torch.hip": ABSENT, "torch.cxx11_abi": True,
    "torch.binary.file": "$site/torch/_C.so", "torch.binary.failure": ABSENT, "torch.loads": True,
    "torch.requires": {}, "transformers.version": "5.15.1", "transformers.requires": {},
    "kernels.version": "0.16.2", "kernels.requires": {}, "flash_attn.version": ABSENT,
    "flash_attn_3.version": ABSENT, "flash_attn_4.version": ABSENT,
    "packages.installed": {"torch": "2.12.1", "transformers": "5.15.1", "kernels": "0.16.2"},
    "env.HF_HUB_OFFLINE": ABSENT, "env.LOCAL_KERNELS": ABSENT, "gpu.count": 1,
    "gpu.visible_count": 1, "gpu[0].name": "GPU", "gpu[0].visible": True, "gpu[0].vendor": "nvidia",
    "gpu[0].compute_capability": "8.0", "hub.cache": "$home/hub", "hub.models": {},
    "hub.kernels": {f"{FLASH}@v1": EXACT, f"{VLLM}@v1": STABLE},
    "hub.archs": {f"{FLASH}@v1 {EXACT}": "8.0 9.0 10.0 12.0", f"{VLLM}@v1 {STABLE}": "8.0 9.0a"},
    "hub.loads": {f"{FLASH}@v1 {EXACT} 2.12.1": "yes", f"{VLLM}@v1 {STABLE} 2.12.1": "yes"},
    "hub.code": {}, "hub.offline": (f"{FLASH}@v1",), "hub.needs": {},
    "hub.metadata": {f"{FLASH}@v1 {EXACT}": KEYS, f"{VLLM}@v1 {STABLE}": KEYS},
}  # fmt: skip
EMPTY: dict[str, Any] = {"hub.kernels": {}, "hub.archs": {}}
FOLDER: dict[str, Any] = {
    "env.LOCAL_KERNELS": f"{FLASH}=/opt/k", "hub.local": {f"{FLASH}@v2": STABLE},
    "hub.archs": {f"{FLASH}@v2 {STABLE}": "8.0"}, "hub.metadata": {f"{FLASH}@v2 {STABLE}": KEYS},
}  # fmt: skip
TAKES_V3 = {"transformers.version": "5.17.0"}
TAKES_V4 = {"transformers.version": "5.22.2", "kernels.version": "0.17.2"}


def cells(backend: Backend, facts: dict[str, Any], dtype: Dtype = Dtype.BF16) -> Verdict | None:
    rules = tuple(rule for rule in shipped().rules if rule.area == "hub")
    known = structs.replace(shipped(), rules=rules)
    prognosis = foresee(environment({**THERE, **facts}), known)
    wanted = (backend, dtype)
    return next((v for v in prognosis.verdicts if (v.backend, v.dtype) == wanted), None)


def said(backend: Backend, facts: dict[str, Any], dtype: Dtype = Dtype.BF16) -> str:
    cell = cells(backend, facts, dtype)
    assert cell is not None
    return f"{cell.predicted.value} [{' '.join(cell.because)}] {cell.detail}"


@pytest.mark.parametrize(
    ("facts", "start", "part"),
    [
        ({}, "works []", f"{EXACT} of {FLASH}@v1, in the cache"),
        ({"gpu[0].compute_capability": "10.3"}, "works []", "in the cache"),
        ({"gpu[0].compute_capability": "7.5"}, "fails [gpu-too-old-fa2]", "Turing"),
        ({"gpu[0].compute_capability": "8.7"}, "unknown []", ""),
        ({"gpu[0].compute_capability": "11.0"}, "fails [hub-arch-refused]", "no code for 11.0"),
        ({"hub.archs": {}}, "unknown []", "name no architectures"),
        ({"env.HF_HUB_OFFLINE": "1"}, "works []", "in the cache"),
        ({"env.HF_HUB_OFFLINE": UNREAD}, "works []", "in the cache"),
        ({"env.HF_HUB_OFFLINE": "1", "hub.offline": ()}, "fails [hub-offline]", "cannot load it"),
        ({"env.HF_HUB_OFFLINE": "1", "hub.offline": UNREAD}, "unknown []", "is not known"),
        ({"env.HF_HUB_OFFLINE": UNREAD, "hub.offline": ()}, "unknown []", "is not known"),
        (
            {"hub.loads": {OPENED: "x.so: undefined symbol: y"}},
            "fails [hub-build-unloadable]", "it does not load: x.so: undefined symbol: y",
        ),
        ({"hub.loads": {OPENED: "? no file"}}, "unknown []", ": no file"),
        ({"hub.loads": ABSENT}, "works []", ""),
        ({"hub.loads": UNREAD}, "unknown []", "could not be read"),
        ({"hub.code": UNREAD}, "unknown []", "code for 8.0"),
        ({"hub.code": {OPENED: "8.0 9.0; 9.0"}}, "works []", ""),
        ({"hub.code": {OPENED: "9.0"}}, "fails [hub-arch-refused]", "no code for 8.0"),
        ({"hub.code": {OPENED: "9.0a 9.0+PTX@8.4"}}, "fails [hub-arch-refused]", ""),
        ({"hub.metadata": {}}, "fails [hub-metadata-unreadable]", "lack id, name"),
        ({"env.LOCAL_KERNELS": f"{FLASH}=/opt/k"}, "unknown []", "LOCAL_KERNELS"),
        ({"env.LOCAL_KERNELS": UNREAD}, "unknown []", "LOCAL_KERNELS may name"),
        (FOLDER, "works []", f"{STABLE} of {FLASH}@v2, in the folder that LOCAL_KERNELS names"),
        ({**FOLDER, "env.HF_HUB_OFFLINE": "1", "hub.offline": ()}, "works []", "LOCAL_KERNELS"),
        (
            {"env.LOCAL_KERNELS": "a/b=/k", "hub.local": {"a/b@v1": ""}},
            "works []", f"{FLASH}@v1, in the cache",
        ),
        (
            {**FOLDER, "hub.local": {f"{FLASH}@v2": "torch29-cxx11-cu130-x86_64-linux"}},
            "fails [hub-local-folder-wrong]", "/opt/k, without a build for this system: torch29",
        ),
        ({**FOLDER, "hub.local": {f"{FLASH}@local": ""}}, "fails [hub-local-folder-wrong]", ""),
        ({**FOLDER, "hub.local": {f"{FLASH}@v2": "."}}, "unknown []", "used without a check"),
        ({**FOLDER, "hub.local_wrong": ("/k",)}, "fails [hub-local-folder-wrong]", "for /k"),
        ({"kernels.version": "0.17.2"}, "fails [hub-kernels-out-of-range]", "0.16.0,<0.17.0, not"),
        ({"kernels.version": "0.99.0"}, "fails [hub-kernels-out-of-range]", "not 0.99.0"),
        ({"torch.version": ABSENT}, "fails []", ""),
        (EMPTY, "unknown []", "would be downloaded (0.45 GB): torch212-cxx11-cu130"),
        ({**EMPTY, "env.HF_HUB_OFFLINE": "yes"}, "fails [hub-offline]", "forbids"),
        ({**EMPTY, "env.HF_HUB_OFFLINE": UNREAD}, "unknown []", "HF_HUB_OFFLINE is unknown"),
        ({**EMPTY, "torch.version": "2.14.1"}, "unknown [hub-no-variant]", ""),
        ({**EMPTY, **TAKES_V3}, "unknown []", "fewer key heads"),
        ({**EMPTY, **TAKES_V3, "torch.version": "2.9.1"}, "fails [hub-no-variant]", "2.10 or"),
        ({**EMPTY, **TAKES_V4}, "unknown []", "the tables do not list its builds"),
        ({"torch.version": "2.11.0"}, "unknown []", "would be downloaded"),
        ({"torch.version": "2.11.0", "env.HF_HUB_OFFLINE": "1"}, "fails [hub-offline]", ""),
        ({"hub.kernels": UNREAD}, "unknown []", "could not be read"),
        ({"transformers.version": ABSENT}, "unknown []", "neither transformers nor diffusers"),
        ({"transformers.version": "4.51.3"}, "unknown []", "uses none by itself"),
        ({"transformers.version": "5.99.0"}, "unknown [", "was not read"),
        (
            {"transformers.version": "5.12.1", "kernels.version": "0.15.2"},
            "fails [hub-kernels-breaks-import]", "",
        ),
    ],
)  # fmt: skip
def test_flash_attention_2_of_the_hub(facts: dict[str, Any], start: str, part: str) -> None:
    text = said(Backend.HUB_FA2, facts)
    assert text.startswith(start), text
    assert part in text


@pytest.mark.parametrize(
    ("capability", "start"),
    [
        ("8.0", "works"), ("8.9", "works"), ("9.0", "works"), ("7.5", "fails"), ("8.7", "unknown"),
        ("10.0", "fails [kernels-hub-fa3-wrong-arch]"), ("12.0", "fails"),
    ],
)  # fmt: skip
def test_flash_attention_3_of_the_hub(capability: str, start: str) -> None:
    facts = {"gpu[0].compute_capability": capability}
    assert said(Backend.HUB_FA3, facts).startswith(start)
    assert said(Backend.HUB_FA3, facts, Dtype.FP32).startswith("fails")


def test_what_would_be_downloaded_works_where_its_build_list_was_read() -> None:
    text = said(Backend.HUB_FA3, {**EMPTY, "gpu[0].compute_capability": "9.0"})
    assert text == (
        f"works [] would be downloaded (1.7 GB): torch-stable-abi29-cu130-x86_64-linux of {VLLM}@v1"
    )


def test_flash_attention_4_of_the_hub_wants_packages() -> None:
    hopper = {"gpu[0].compute_capability": "9.0"}
    text = said(Backend.HUB_FA4, hopper)
    assert text.startswith("fails [hub-dependency-missing] it imports einops, apache-tvm-ffi")
    names = ("torch", "transformers", "einops", "apache-tvm-ffi", "nvidia-cutlass-dsl")
    installed = dict.fromkeys(names, "1.0")
    assert said(Backend.HUB_FA4, {**hopper, "packages.installed": installed}).startswith("unknown")


def test_sage_is_there_beside_diffusers_and_only_for_inference() -> None:
    assert cells(Backend.HUB_SAGE, {}) is None
    installed = {**THERE["packages.installed"], "diffusers": "0.42.1"}
    facts = {"packages.installed": installed}
    assert "the tables do not list its builds" in said(Backend.HUB_SAGE, facts)
    assert "inference only" in said(Backend.HUB_SAGE, facts, Dtype.FP32)


def test_diffusers_takes_a_kernel_where_transformers_is_not() -> None:
    old = {"transformers.version": ABSENT, "packages.installed": {"diffusers": "0.38.0"}}
    assert said(Backend.HUB_FA2, old).startswith("fails [diffusers-hub-attribute]")


def test_without_kernels_there_are_no_rows() -> None:
    for absent in (ABSENT, UNREAD):
        assert cells(Backend.HUB_FA2, {"kernels.version": absent}) is None


FA4 = {"flash_attn_4.version": "4.0.0b36", "triton.version": "3.6.0", "flash_attn_4.requires": {}}
FA3 = {"flash_attn_3.version": "3.0.0", "flash_attn_3.requires": {}}


@pytest.mark.parametrize(
    ("backend", "facts", "capability", "wanted"),
    [
        (Backend.TORCH_FA4, FA4, "9.0", "works"),
        (Backend.TORCH_FA4, FA4, "10.3", "works"),
        (Backend.TORCH_FA4, FA4, "8.0", "fails [torch-activated-fa-refused]"),
        (Backend.TORCH_FA4, FA4, "12.0", "fails [torch-activated-fa-refused]"),
        (Backend.TORCH_FA3, FA3, "9.0", "works"),
        (Backend.TORCH_FA3, FA3, "8.0", "fails [torch-activated-fa-refused]"),
        (Backend.TORCH_FA3, FA3, "10.0", "fails"),
    ],
)
def test_what_torch_activates(
    backend: Backend, facts: dict[str, Any], capability: str, wanted: str
) -> None:
    loads = {f"{name}.{noun}": value for name in ("flash_attn_3", "triton") for noun, value in (
        ("binary.file", "x.so"), ("binary.failure", ABSENT), ("loads", True)
    )}  # fmt: skip
    known = {**loads, **facts, "gpu[0].compute_capability": capability}
    assert said(backend, known).startswith(wanted), said(backend, known)
    assert said(backend, known, Dtype.FP32).startswith("fails")


def test_torch_before_2_10_activates_nothing_and_2_10_no_fa3() -> None:
    assert cells(Backend.TORCH_FA4, {**FA4, "torch.version": "2.9.1"}) is None
    assert cells(Backend.TORCH_FA3, {**FA3, "torch.version": "2.10.0"}) is None
    assert cells(Backend.TORCH_FA3, {**FA3, "torch.version": "2.11.0"}) is not None
