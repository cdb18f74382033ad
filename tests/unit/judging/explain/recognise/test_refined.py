"""Facts of a text make a general cause special, whatever words lead to the general one."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING

import pytest

from fadoctor.judging.explain.explain import explain, read_log
from fadoctor.judging.explain.recognise.unpublished import unpublished
from fadoctor.model.fact import Known
from fadoctor.model.finding import Severity

if TYPE_CHECKING:
    from fadoctor.model.explanation import Explanation
    from fadoctor.model.finding import Finding
    from fadoctor.model.rule import Knowledge

NO_GPU = (
    "RuntimeError: Torch is not able to use GPU; add --skip-torch-cuda-test to COMMANDLINE_ARGS",
    "RuntimeError: No CUDA GPUs are available",
    "AssertionError: Torch not compiled with CUDA enabled",
    "RuntimeError: Found no NVIDIA driver on your system.",
)


def reported(text: str, knowledge: Knowledge) -> Explanation:
    return explain(read_log(io.BytesIO(text.encode()), "a.txt", knowledge), knowledge)


def first(text: str, knowledge: Knowledge) -> Finding | None:
    found = [
        each for each in reported(text, knowledge).findings if each.severity is not Severity.NOTE
    ]
    return found[0] if found else None


def id_of(found: Finding | None) -> str:
    return found.rule_id if found is not None else ""


@pytest.mark.parametrize("words", NO_GPU)
@pytest.mark.parametrize(
    "card",
    ["RX 7800 XT", "Radeon RX 6650 XT", "显卡是 AMD 7650GRE", "AMD6700XT", "видеокарта Radeon"],
)
def test_a_card_of_amd_decides_among_the_reasons_for_no_gpu(
    knowledge: Knowledge, words: str, card: str
) -> None:
    found = first(f"{card}\n{words}", knowledge)
    assert id_of(found) == "torch-other-vendor"
    assert found is not None
    assert not any("nvidia" in fix.title.lower() for fix in found.fixes[:1])


@pytest.mark.parametrize(
    "text",
    [
        "GeForce RTX 4060 beside a Ryzen 5\nRuntimeError: No CUDA GPUs are available",
        "RX 7900 XTX, torch 2.9.1+rocm6.4\nRuntimeError: No HIP GPUs are available",
        "I sold my RX 6600 and put an RTX 3060 in.\nRuntimeError: No CUDA GPUs are available",
        "RX 6800\nDetected ZLUDA 3.9.5\nRuntimeError: No CUDA GPUs are available",
    ],
)
def test_another_card_or_a_torch_for_rocm_leaves_it_open(knowledge: Knowledge, text: str) -> None:
    assert id_of(first(text, knowledge)) != "torch-other-vendor"


def test_the_general_cause_is_named_under_the_special_one(knowledge: Knowledge) -> None:
    found = first(f"RX 7800 XT\n{NO_GPU[0]}", knowledge)
    assert found is not None
    assert "torch-sees-no-gpu" in found.consequences


def test_a_card_that_moved_to_the_own_machine_is_there(knowledge: Knowledge) -> None:
    text = "I moved my 3090 to my server and put the RX 7900 XT into my main PC.\n" + NO_GPU[0]
    assert id_of(first(text, knowledge)) == "torch-other-vendor"


@pytest.mark.parametrize(
    ("driver", "wanted"), [("572.60", "driver-too-old"), ("581.15", "torch-sees-no-gpu")]
)
def test_the_driver_decides_beside_a_portable_package(
    knowledge: Knowledge, driver: str, wanted: str
) -> None:
    text = (
        f"RTX 5070 Ti, NVIDIA driver {driver}, ComfyUI_windows_portable of this week.\n"
        "RuntimeError: No CUDA GPUs are available"
    )
    assert id_of(first(text, knowledge)) == wanted


def test_an_old_driver_decides_nothing_where_torch_is_told(knowledge: Knowledge) -> None:
    text = (
        "RTX 5070 Ti, NVIDIA driver 572.60, ComfyUI_windows_portable, torch 2.7.1+cu128\n"
        "RuntimeError: No CUDA GPUs are available"
    )
    assert id_of(first(text, knowledge)) != "driver-too-old"


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        (
            "rocm/vllm:rocm6.4_mi300_ubuntu22.04 on an RX 6900 XT: the server fails at start",
            "vllm-rocm-arch-unsupported",
        ),
        (
            "llama-b5000-bin-win-hip-x64-gfx1030 crashes on my RX 7600 while it loads any model",
            "ggml-rocm-arch-unsupported",
        ),
        ("llama-b5000-bin-win-hip-x64-gfx110X crashes on my RX 7600 while it loads any model", ""),
        ("rocm/vllm:rocm6.4_mi300_ubuntu22.04 on an MI300X: the server fails at start", ""),
    ],
)
def test_what_a_build_is_made_for_is_held_against_the_gpu(
    knowledge: Knowledge, text: str, wanted: str
) -> None:
    found = id_of(first(text, knowledge))
    assert found == wanted if wanted else "arch" not in found


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("Colab, TPU runtime: pip install flash-attn fails.", "no-cuda-machine"),
        (
            """Kaggle, accelerator: TPU v3-8, flash-attn
            OSError: CUDA_HOME environment variable is not set.""",
            "no-cuda-machine",
        ),
        (
            "Colab, T4 runtime: OSError: CUDA_HOME environment variable is not set",
            "cuda-home-unset",
        ),
    ],
)
def test_a_tpu_has_no_cuda(knowledge: Knowledge, text: str, wanted: str) -> None:
    assert id_of(first(text, knowledge)) == wanted


def test_wsl_comes_before_a_compiler_that_is_missing_too(knowledge: Knowledge) -> None:
    text = (
        "WSL2, RX 7900 GRE, ROCm 6.2. torch.cuda.is_available() gives False.\n"
        "/bin/sh: 1: hipcc: not found"
    )
    assert id_of(first(text, knowledge)) == "rocm-wsl-unfit"
    assert id_of(first(text.replace("False", "True"), knowledge)) == "rocm-hipcc-missing"


def test_a_processor_at_rest_waits_for_a_download(knowledge: Knowledge) -> None:
    text = (
        "flash-attn: Building wheel takes three hours now, and the CPU is at 0 %. "
        "No prebuilt wheel was found, I think."
    )
    found = first(text, knowledge)
    assert id_of(found) == "build-wheel-unreachable"
    assert found is not None
    commands = [step.text for fix in found.fixes[:1] for step in fix.steps]
    assert not any(text.startswith("pip install https:") for text in commands)


NAMES = {
    "flash_attn-2.7.3+cu12torch2.9cxx11abiFALSE-cp311-cp311-win_amd64.whl": True,
    "flash_attn-2.7.3%2Bcu12torch2.9cxx11abiFALSE-cp311-cp311-linux_x86_64.whl": True,
    "flash_attn-2.7.3+cu12torch2.5cxx11abiFALSE-cp311-cp311-linux_x86_64.whl": False,
    "flash_attn-2.7.4.post1+cu124torch2.6.0-cp312-cp312-win_amd64.whl": False,
    "flash_attn-9.9.9+cu12torch2.5cxx11abiFALSE-cp311-cp311-linux_x86_64.whl": False,
}


@pytest.mark.parametrize(("name", "is_missing"), NAMES.items())
def test_a_name_is_looked_up_on_the_pages(
    knowledge: Knowledge, name: str, *, is_missing: bool
) -> None:
    assert isinstance(unpublished([f"where is {name}"], knowledge.tables), Known) is is_missing


def test_a_file_that_was_not_published(knowledge: Knowledge) -> None:
    name = next(iter(NAMES))
    text = f"The wheel {name} is for Windows, and I find it nowhere: all others are for Linux only."
    found = first(f"{text}\nThe name of the wheel fails to be found, not found.", knowledge)
    assert id_of(found) == "prebuilt-wheel-missing"


def test_an_ignored_rule_refines_nothing(knowledge: Knowledge) -> None:
    text = f"RX 7800 XT\n{NO_GPU[0]}".encode()
    reading = read_log(io.BytesIO(text), "a.txt", knowledge)
    report = explain(reading, knowledge, ignore=("torch-other-vendor",))
    assert report.findings[0].rule_id == "torch-sees-no-gpu"


PINK = "pink-2.1.0-{}-{}.whl"


@pytest.mark.parametrize(
    ("told", "python", "system"),
    [
        ("Python 3.12 on Ubuntu 22.04", "cp310-cp310", "linux_x86_64"),
        ("Python 3.11, glibc 2.35", "cp38-abi3", "manylinux_2_39_x86_64"),
        ("Windows 11, Python 3.11", "cp311-cp311", "manylinux_2_28_x86_64"),
    ],
)
@pytest.mark.parametrize("complaint", ["pip refuses it, it fails", "It cannot be installed, error"])
def test_tags_of_a_wheel_are_held_against_the_machine(
    knowledge: Knowledge, told: str, python: str, system: str, complaint: str
) -> None:
    text = f"{told}\npip install torch {PINK.format(python, system)}\n{complaint}"
    assert id_of(first(text, knowledge)) == "wheel-not-supported"


FITS = PINK.format("cp38-abi3", "manylinux_2_39_x86_64")
OLDER, NEWER = (PINK.format(f"cp3{each}-cp3{each}", "linux_x86_64") for each in (10, 12))


@pytest.mark.parametrize(
    "text",
    [
        f"Python 3.10, glibc 2.39\npip install torch {FITS}\nIt cannot be installed, error",
        f"Python 3.12\npip install torch {OLDER}\nIt works.",
        f"Python 3.12\n{OLDER} and {NEWER}\npip refuses one, it fails",
    ],
)
def test_a_wheel_that_fits_or_of_which_nobody_complains(knowledge: Knowledge, text: str) -> None:
    assert first(text, knowledge) is None


@pytest.mark.parametrize(
    ("text", "rule"),
    [
        ("Windows 10, Python 3.10.11, and pip install torch says:", "python-32-bit"),
        ("Windows 10, Python 3.17.0, and pip install torch says:", "python-unsupported"),
        ("Ubuntu 22.04, Python 3.10.11, and pip install torch says:", "python-unsupported"),
        ("Windows 10, Python 3.10.11 with 64-bit Python, and pip install torch says:",
         "python-unsupported"),
        ("FROM python:3.11-alpine\nRUN pip install torch", "platform-without-files"),
        ("Windows 10, Python 3.10.11\nLooking in indexes: https://pypi.example.org/simple",
         "python-unsupported"),
    ],
)  # fmt: skip
def test_a_python_that_has_a_torch_and_finds_none_is_of_32_bit_or_beside_musl(
    knowledge: Knowledge, text: str, rule: str
) -> None:
    """Python 3.9 to 3.13 have files of torch on Windows: too new or too old is no reason there."""
    said = "ERROR: Could not find a version that satisfies the requirement torch"
    assert id_of(first(f"{text}\n{said} (from versions: none)", knowledge)) == rule


@pytest.mark.parametrize(
    "text",
    [
        (
            "pip install flash-attn==2.3.2 ends in an error. I could not find the file "
            "flash_attn-2.3.2+cu124torch2.6cxx11abiFALSE-cp310-cp310-linux_x86_64.whl anywhere."
        ),
        (
            "https://github.com/Dao-AILab/flash-attention/releases/download/v2.8.0.post2/"
            "flash_attn-2.8.0.post2+cu11torch2\n.0cxx11abiFALSE-cp310-cp310-linux_x86_64.whl "
            "下载失败, 返回404"
        ),
    ],
)
def test_a_file_that_nobody_published_is_the_cause(text: str, knowledge: Knowledge) -> None:
    assert id_of(first(text, knowledge)) == "prebuilt-wheel-missing"


LISTED = "pytorch          {}          py3.8_cuda{}_0    pytorch\n"
NO_IMAGE = "RuntimeError: CUDA error: no kernel image is available for execution on the device"


@pytest.mark.parametrize(
    ("card", "release", "cuda", "expected"),
    [
        ("NVIDIA H100 80GB HBM3", "1.12.1", "11.3_cudnn8.3.2", True),
        ("NVIDIA H100 80GB HBM3", "2.1.2", "11.8_cudnn8.7.0", False),
        ("NVIDIA GeForce RTX 3090", "1.8.1", "10.2_cudnn7.6.5", True),
        ("NVIDIA GeForce RTX 4090", "1.12.1", "11.3_cudnn8.3.2", False),
        ("NVIDIA GeForce RTX 5080", "2.1.2", "11.8_cudnn8.7.0", False),  # another rule says it
        ("Tesla T4", "1.8.1", "10.2_cudnn7.6.5", False),
    ],
)
def test_a_torch_of_conda_that_is_older_than_the_card(
    knowledge: Knowledge, card: str, release: str, cuda: str, *, expected: bool
) -> None:
    found = first(f"{LISTED.format(release, cuda)}GPU 0: {card}\n{NO_IMAGE}\n", knowledge)
    assert (id_of(found) == "conda-torch-older-than-gpu") is expected
