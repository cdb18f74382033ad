"""The vendor that a log names: whose fixes are shown, and whose are not."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING

import pytest

from fadoctor.judging.engine.possible import QUESTION
from fadoctor.judging.explain.explain import explain, read_log
from fadoctor.judging.explain.fixes.selection import OTHERS_FIXES
from fadoctor.judging.explain.fixes.vendor import Vendor
from fadoctor.sources.logs.cleaning import Line

if TYPE_CHECKING:
    from fadoctor.model.explanation import Explanation
    from fadoctor.model.rule import Knowledge

MISMATCH = (
    "CUDA initialization: The NVIDIA driver on your system is too old (found version 11040). "
    "Please update your GPU driver"
)
IMAGE = "RuntimeError: CUDA error: no kernel image is available for execution on the device"


def explained(knowledge: Knowledge, log: str) -> Explanation:
    return explain(read_log(io.BytesIO(log.encode()), "a.log", knowledge), knowledge)


@pytest.mark.parametrize(
    ("text", "vendor"),
    [
        ("torch 2.5.1+rocm6.2 on an MI300X", "amd"),
        ("gcnArchName gfx942:sramecc+", "amd"),
        ("AMD Radeon RX 7900 XTX", "amd"),
        ("I have an AMD GPU, and torch is not compiled with CUDA", "amd"),
        ("the AMD card is not seen", "amd"),
        ("RuntimeError: No HIP GPUs are available", "amd"),
        ("torch.OutOfMemoryError: HIP out of memory", "amd"),
        ("MIOpen(HIP): Error [Compile]", "amd"),
        ("ZLUDA device failed to pass", "amd"),
        ("an RDNA3 card", "amd"),
        ("an AMD Ryzen 9 with 64 GB", ""),
        ("torch 2.5.1+cu124", "nvidia"),
        ("NVIDIA H100 80GB HBM3", "nvidia"),
        ("RTX 4090 and nvidia-smi", "nvidia"),
        ("an H100 here, an MI300X there", ""),
        ("ROCM used to build PyTorch: N/A", ""),
        ("https://github.com/ROCm/flash-attention/issues/1", ""),
        ("Search for hipErrorInvalidValue in https://docs.nvidia.com/cuda", ""),
        ("L4 loss of layer M10", ""),
        ("     59     include = os.path.join(rocm_path_dir(), 'include')", ""),
        ("ROCm platform is not available because: No module named 'amdsmi'", ""),
        ("DEBUG [__init__.py:106] Checking if ROCm platform is available.", ""),
    ],
)
def test_who_is_named(knowledge: Knowledge, text: str, vendor: str) -> None:
    assert Vendor([Line(1, text, "")], knowledge).name == vendor


@pytest.mark.parametrize(("torch", "notes"), [("rocm6.2.4", [OTHERS_FIXES]), ("cu126", [])])
def test_the_torch_decides_where_both_are_named(
    knowledge: Knowledge, torch: str, notes: list[str]
) -> None:
    """A package that was built for CUDA names both in one message."""
    asked = f"for ROCm it was built for torch 2.6.0+cu124\ntorch 2.6.0+{torch}\n{IMAGE}"
    found = explained(knowledge, asked).notes
    assert [each for each in found if each == OTHERS_FIXES] == notes


def test_on_amd_nothing_of_nvidia_is_offered(knowledge: Knowledge) -> None:
    report = explained(knowledge, f"Instinct MI300X, torch 2.5.1+rocm6.2, xformers\n{IMAGE}")
    texts = [step.text for each in report.findings for fix in each.fixes for step in fix.steps]
    assert not any("TORCH_CUDA_ARCH_LIST" in text or "nvcc" in text for text in texts)
    assert OTHERS_FIXES in report.notes


def test_where_nobody_is_named_nothing_is_left_out(knowledge: Knowledge) -> None:
    report = explained(knowledge, IMAGE)
    assert report.findings[0].fixes
    assert OTHERS_FIXES not in report.notes


def test_on_nvidia_nothing_of_amd_is_offered(knowledge: Knowledge) -> None:
    log = "GeForce RTX 4090\nRuntimeError: hipErrorIllegalAddress"
    report = explained(knowledge, log)
    assert not any(
        "AMD_SERIALIZE" in step.text
        for each in report.findings
        for fix in each.fixes
        for step in fix.steps
    )


def test_where_every_fix_is_another_vendors_something_is_said(knowledge: Knowledge) -> None:
    report = explained(knowledge, f"torch 2.5.1+rocm6.2\n{MISMATCH}")
    [first, *_] = report.findings[0].fixes
    assert first.id == "of-this-vendor"
    assert "ROCm" in first.title
    assert OTHERS_FIXES in report.notes


@pytest.mark.parametrize(
    ("log", "said"),
    [
        ("sglang.launch_server on an MI300X", "setup_rocm.py"),
        ("vllm serve on an MI300X", "wheels.vllm.ai/rocm"),
        ("sglang --attention-backend flashinfer, MI300X", "--attention-backend triton"),
        ("pip install sageattention==2.2.0, RX 7900 XTX", "sageattention==1.0.6"),
        ("pip install causal-conv1d, RX 7900 XTX", "mamba-ssm"),
        ("a package of mine, RX 7900 XTX", "The package builds CUDA code"),
    ],
)
def test_where_every_fix_is_anothers_the_package_decides(
    knowledge: Knowledge, log: str, said: str
) -> None:
    """A fix for NVIDIA alone was left out, and only a general sentence remained."""
    fixes = Vendor([Line(1, log, "")], knowledge).instead()
    assert said in fixes[0].steps[0].text


@pytest.mark.parametrize(
    ("text", "vendor"),
    [
        ("my 4090 went into the server, this machine has a 7900XTX", ""),
        ("a laptop with Radeon 780M graphics and an RTX 4070", ""),
        ("XPU backend on a Core Ultra", "intel"),
        ("Intel Arc A770 here, an RTX 3060 there", ""),
        ("used on CUDA or MLU devices or NPU devices or certain XPU devices (with IPEX).", ""),
        ("RX 7900 XT, and pip installed torch 2.6.0+cu124", "amd"),
    ],
)
def test_products_count_more_than_words(knowledge: Knowledge, text: str, vendor: str) -> None:
    assert Vendor([Line(1, text, "")], knowledge).name == vendor


def test_where_two_vendors_cards_are_named_it_is_asked(knowledge: Knowledge) -> None:
    """A CUDA build was recommended for a machine with a Radeon, whose owner had named both."""
    log = (
        "My 4090 is in the other machine, here is a 7900XTX on Windows 11\n"
        "AssertionError: Torch not compiled with CUDA enabled"
    )
    fixes = explained(knowledge, log).findings[0].fixes
    assert fixes[0].id == QUESTION
    assert "which" in fixes[0].steps[0].text.casefold()
    assert not any("whl/" in f"{step.text} {step.index}" for fix in fixes for step in fix.steps)


def test_intels_triton_is_not_replaced(knowledge: Knowledge) -> None:
    log = (
        "torch 2.8.0+xpu on Windows 11, Intel Arc A770\n"
        "RuntimeError: Failed to find C compiler. Please specify via CC environment variable"
    )
    fixes = explained(knowledge, log).findings[0].fixes
    assert "Build Tools" in fixes[0].steps[0].text
    assert not any("triton-windows" in step.text for fix in fixes for step in fix.steps)


def test_a_card_beside_the_graphics_of_the_processor_is_not_of_its_vendor(
    knowledge: Knowledge,
) -> None:
    text = "The laptop has an integrated Radeon 780M and a dedicated 4070; PyTorch uses the CPU."
    assert Vendor([Line(1, text, "")], knowledge).name == ""


OF_NVIDIA = ("nvidia-", "whl/cu", "cu126", "NVIDIA's", "nvcc", "--gpus all", "GeForce", "CUDA_HOME")


@pytest.mark.parametrize(
    "complaint",
    [
        "{} is not used by PyTorch on Linux, everything runs on the CPU.",
        "torch.cuda.is_available() returns False with my {}.",
        "RuntimeError: Found no NVIDIA driver on your system. My GPU is a {}.",
        "ComfyUI on my {}: AssertionError: Torch not compiled with CUDA enabled",
        "xformers does not work on my {}",
    ],
)
@pytest.mark.parametrize(
    "gpu",
    ["RX 9070 XT", "RX 560D", "Vega 8", "R9 390", "WX 9100", "Radeon 610M", "Strix Halo", "MI-50",
     "6750 GRE", "Navi 21", "BC-250", "AMD card"],
)  # fmt: skip
def test_no_advice_of_nvidia_for_a_gpu_of_amd(
    knowledge: Knowledge, gpu: str, complaint: str
) -> None:
    fixes = [fix for each in explained(knowledge, complaint.format(gpu)).findings
             for fix in each.fixes]  # fmt: skip
    said = [part for fix in fixes for step in fix.steps
            for part in (step.text, step.index, *step.items)]  # fmt: skip
    assert not [part for part in said if any(word in part for word in OF_NVIDIA)]


def test_a_question_about_a_gpu_of_amd_asks_what_its_owner_can_run(knowledge: Knowledge) -> None:
    report = explained(
        knowledge, "RuntimeError: Found no NVIDIA driver on your system, Rocm 6, AMD"
    )
    asked = [step.text for each in report.findings for fix in each.fixes if fix.id == QUESTION
             for step in fix.steps]  # fmt: skip
    assert any("rocminfo" in text for text in asked)
    assert not any("nvidia-smi" in text for text in asked)
