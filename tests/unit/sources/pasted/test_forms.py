"""The forms in which people and tools write a name beside its value."""

from __future__ import annotations

from typing import Any

import pytest

from fadoctor.model.fact import Absent, Known
from fadoctor.sources.pasted.claims import gpu_claims
from fadoctor.sources.targets.derived import derive
from tests.unit.sources.pasted.reading import matrix, read_environment, read_report
from tests.work import which_ends

UNSAID = "unknown"


def said(text: str) -> dict[str, Any]:
    facts = read_report(text.encode(), "paste").facts
    return {
        name: fact.value if isinstance(fact, Known) else None
        for name, fact in facts.items()
        if isinstance(fact, (Known, Absent))
    }


FORMS: list[tuple[str, dict[str, Any]]] = [
    # a list without its head
    ("triton      3.2.0\ntorch       2.6.0\ntorchvision 0.21.0",
     {"torch.version": "2.6.0", "triton.version": "3.2.0", "triton.distribution": "triton"}),
    ("| Package | Version |\n|:--|--:|\n| torch | 2.7.1+cu126 |\n| xformers | 0.0.31 |",
     {"torch.version": "2.7.1+cu126", "torch.cuda": "12.6", "xformers.version": "0.0.31"}),
    ("| PyTorch | CUDA driver | flash-attn |\n|---|---|---|\n| 2.7.1 | 550.54.15 | 2.8.0 |",
     {"torch.version": "2.7.1", "driver.version": "550.54.15", "flash_attn.version": "2.8.0"}),
    ("│ torch    │ 2.5.1 │ no │\n│ triton   │ 3.1.0 │ no │",
     {"torch.version": "2.5.1", "triton.version": "3.1.0"}),
    ("torch (!)    2.4.0        Tensors and networks\nxformers     0.0.27.post2 Blocks",
     {"torch.version": None, "xformers.version": "0.0.27.post2"}),
    ("torch (!)    2.4.0        Tensors and networks\nxformers (!)  0.0.27.post2 Blocks",
     {"torch.version": "2.4.0", "xformers.version": "0.0.27.post2"}),
    ("├── torch [required: >=2.0, installed: 2.4.1]", {"torch.version": "2.4.1"}),
    ("vllm 0.9.1 requires transformers<5, but you have transformers 5.1.0 which is incompatible.",
     {"vllm.version": "0.9.1", "transformers.version": "5.1.0"}),
    ("Using Python 3.11.4 environment at: /srv/env\ntorch 2.6.0\nvllm 0.8.2",
     {"python.version": "3.11.4", "vllm.version": "0.8.2"}),
    ("pytorch       2.3.0   py3.11_cuda12.1_cudnn8.9.2_0  pytorch\npytorch-cuda 12.1  h7e8668a_6",
     {"torch.version": "2.3.0", "torch.cuda": "12.1", "python.version": "3.11",
      "torch.installer": "conda"}),
    # what is not there
    ("sgl_kernel: 0.1.0\nflashinfer: Module Not Found\ntriton: 3.2.0",
     {"flashinfer.version": None, "flashinfer.distribution": None, "triton.version": "3.2.0"}),
    ("- Bitsandbytes version: not installed\n- PEFT version: 0.15.0",
     {"bitsandbytes.version": None, "peft.version": "0.15.0"}),
    ("triton: not found\ntriton-windows: 3.2.0", {"triton.version": "3.2.0"}),
    # a list that a pipe, or a pattern, has cut is no whole one
    (("$ conda list | grep -E 'py|torch'\n# packages in environment at /opt/py312:\n"
     "python  3.12.4  h5148396_1\npytorch  2.4.0  py3.12_cuda12.1_cudnn9.1.0_0  pytorch"),
     {"torch.version": "2.4.0", "packages.installed": "unknown", "vllm.version": "unknown"}),
    (("$ conda list torch\n# packages in environment at /opt/x:\n#\n"
     "# Name  Version  Build  Channel\npytorch  2.4.0  py3.12_cuda12.1_cudnn9.1.0_0  pytorch"),
     {"torch.version": "2.4.0", "vllm.version": "unknown"}),
    ("$ pip list | grep -iE 'package|torch'\nPackage  Version\ntorch  2.4.0\ntorchvision  0.19.0",
     {"torch.version": "2.4.0", "vllm.version": "unknown"}),
    ("PyTorch version (GPU?): 2.1.2+cu118 (True)", {"torch.version": "2.1.2+cu118"}),
    # numbers of GPUs, and sizes in their names
    ("GPU 0,1: NVIDIA A100-SXM4-80GB", {"gpu[1].name": "NVIDIA A100-SXM4-80GB"}),
    ("GPU: NVIDIA L4\nNumber of GPUs: 3", {"gpu.count": 3, "gpu[2].name": "NVIDIA L4"}),
    ("- Accelerator: NVIDIA A40, 46068 MiB", {"gpu[0].memory_bytes": 48305799168}),
    ("GPU: NVIDIA A100-SXM4-", {"gpu[0].name": "A100"}),
    ("GPU: NVIDIA TITAN RTX", {"gpu[0].name": "NVIDIA TITAN RTX"}),
    # the driver in other forms
    ("- driver_version: 32.0.15.6109", {"driver.version": "561.09"}),
    ("libcuda.so -> /usr/lib/x86_64-linux-gnu/libcuda.so.535.161.08",
     {"driver.version": "535.161.08"}),
    ("mount error: libcuda.so.470.57.02: file exists", {"driver.version": "unknown"}),
    ("bitsandbytes: Highest Compute Capability: (8, 9).", {"gpu[0].compute_capability": "8.9"}),
    # forms of issues
    ("### PyTorch Version\n\n2.9.0\n\n### GPU model\n\nRTX 3060 (12GB)",
     {"torch.version": "2.9.0", "gpu[0].name": "RTX 3060"}),
    ("**Torch**: 2.5.0\n**GPU**: 2x NVIDIA L40S\n**OS**: Windows 11",
     {"torch.version": "2.5.0", "gpu.count": 2, "host.os": "windows"}),
    ("- Flash Attention version: 2.7.3\n- nvidia driver: 560.35.03",
     {"flash_attn.version": "2.7.3", "driver.version": "560.35.03"}),
    ("flash-attn => 2.7.3", {}),
    # in words of other languages
    ("显卡\uff1aRTX 4090\uff0ctorch版本是2.5.1\uff0ctransformers 版本\uff1a4.47.0",
     {"torch.version": "2.5.1", "transformers.version": "4.47.0",
      "gpu[0].name": "RTX 4090"}),
    ("PyTorchのバージョン 2.6.0, Python 3.11.9", {"torch.version": "2.6.0",
                                             "python.version": "3.11.9"}),
    ("显卡是两张 RTX 3090", {"gpu.count": 2, "gpu[1].name": "RTX 3090"}),
    ("我用了4张A100训练", {"gpu.count": 4, "gpu[0].compute_capability": "8.0"}),
    # tools that have no reader of their own
    ("GPU 0,1: NVIDIA L4\nGPU 0,1 Compute Capability: 8.9\nPyTorch: 2.5.1+cu124\nsglang: 0.4.1",
     {"gpu.count": 2, "gpu[1].compute_capability": "8.9", "sglang.version": "0.4.1"}),
    ("Device: cuda:0 NVIDIA GeForce RTX 3090 : native\npytorch version: 2.3.0+cu121",
     {"gpu[0].name": "NVIDIA GeForce RTX 3090", "torch.version": "2.3.0+cu121"}),
    ("version: v1.9.0  •  python: 3.10.11  •  torch: 2.1.2+cu121  •  xformers: 0.0.23.post1",
     {"torch.version": "2.1.2+cu121", "xformers.version": "0.0.23.post1"}),
    ("- Accelerator: NVIDIA A10G, 23028 MiB\n- 🤗 Diffusers version: 0.31.0",
     {"gpu[0].name": "NVIDIA A10G"}),
    (("==((====))==  Unsloth 2024.9: Fast Mistral patching. Transformers = 4.44.0.\n"
     "   \\\\   /|    GPU: NVIDIA L4. Max memory: 22.168 GB. Platform = Linux.\n"
     "O^O/ \\_/ \\    Pytorch: 2.4.0+cu121. CUDA = 8.9. CUDA Toolkit = 12.1.\n"),
     {"torch.version": "2.4.0+cu121", "gpu[0].compute_capability": "8.9",
      "transformers.version": "4.44.0"}),
    ("OS: Debian 12\nPython: 3.13.1\ntorch: 2.8.0+cu128", {"python.abi_tag": "cp313"}),
    ("- GPU: GTX 1080 Ti (Pascal, compute capability 6.1)\n- torch: 2.8.0+cu128",
     {"gpu[0].name": "GTX 1080 Ti", "gpu[0].compute_capability": "6.1"}),
    ("* GPU: NVIDIA B7 Prototype (sm_103), 180 GB", {"gpu[0].compute_capability": "10.3"}),
    ("GPU: 2x RTX 3090 (24GB each)", {"gpu.count": 2, "gpu[1].name": "RTX 3090"}),
    ("AMD arch: gfx1100", {"gpu[0].gfx": "gfx1100", "gpu[0].vendor": "amd"}),
    (
        'not supported (supported types:[gfx1030 gfx1100])" gpu_type=gfx1032 gpu=0',
        {"gpu[0].gfx": "gfx1032", "gpu[0].vendor": "amd"},
    ),
    ("GPU[0]\t\t: Card Series: \t\tAMD Instinct MI250X\nGPU[0]\t\t: GFX Version: \t\tgfx90a",
     {"gpu[0].name": "AMD Instinct MI250X", "gpu[0].gfx": "gfx90a"}),
    (("  Name:                    gfx942\n  Marketing Name:          AMD Instinct MI300X\n"
     "  Name:                    gfx942\n  Marketing Name:          AMD Instinct MI300X"),
     {"gpu.count": 2, "gpu[1].gfx": "gfx942"}),
    (("GPU: 0\n    ASIC:\n        MARKET_NAME: AMD Instinct MI210\n"
     "        TARGET_GRAPHICS_VERSION: gfx90a"), {"gpu[0].gfx": "gfx90a"}),
    # what nvidia-smi prints, in every dress
    ("  2025-01-02T03:04:05.678Z |   0  Tesla P100-PCIE...  Off  | 00000000:3B:00.0 Off | 0 |",
     {"gpu[0].compute_capability": "6.0"}),
    ("$ nvidia-smi --query-gpu=name,driver_version --format=csv,noheader\nTesla T4, 535.161.07",
     {"gpu[0].name": "Tesla T4", "driver.version": "535.161.07"}),
    # at a prompt
    (">>> import torch\n>>> torch.__version__\n'2.5.1+cu121'\n>>> torch.version.cuda\n'12.1'",
     {"torch.version": "2.5.1+cu121", "torch.cuda": "12.1"}),
    (('$ python -c "import torch; print(torch.__version__, torch.cuda.get_device_capability(0))"\n'
     "2.6.0+cu126 (9, 0)"), {"torch.version": "2.6.0+cu126", "gpu[0].compute_capability": "9.0"}),
    ("In [2]: flash_attn.__version__\nOut[2]: '2.6.3'", {"flash_attn.version": "2.6.3"}),
    ("python3 -c 'import xformers; print(xformers.__version__)'\n0.0.29.post1",
     {"xformers.version": "0.0.29.post1"}),
]  # fmt: skip


@pytest.mark.parametrize(("text", "facts"), FORMS)
def test_what_a_form_says(text: str, facts: dict[str, Any]) -> None:
    found = said(text)
    assert {name: found.get(name, UNSAID) for name in facts} == facts


@pytest.mark.parametrize(
    "prefix", ["> ", "web-1  | ", "2025-03-04T05:06:07.891Z ", "[rank0]: ", "    "]
)
@pytest.mark.parametrize(("text", "facts"), FORMS[:2] + FORMS[18:19])
def test_a_prefix_before_each_line_changes_nothing(
    text: str, facts: dict[str, Any], prefix: str
) -> None:
    found = said("\n".join(prefix + line for line in text.splitlines()))
    assert {name: found.get(name) for name in facts} == facts


@pytest.mark.parametrize(
    "text",
    [
        "torch: >=2.4",
        "torch: 2.4 or newer",
        "| torch | ^2.4 |",
        "GPU: yes",
        "device: cuda:0",
        "We need PyTorch 2.6.0. It should be there soon.",
        "需要 torch 2.6.0 以上",
        "the T4 line of products",
        "step 3.10.2 took 2.6.0 seconds",
        "chapter   1.2.3\nsection   1.2.4",
        "--offload-arch=gfx90a;gfx942",
    ],
)
def test_what_is_wanted_or_about_something_else_is_no_fact(text: str) -> None:
    named = {"torch.version", "gpu[0].name", "gpu.count", "python.version", "gpu[0].gfx"}
    assert not named & said(text).keys()


def test_two_versions_are_none_and_a_longer_spelling_is_one() -> None:
    assert "torch.version" not in said("torch: 2.4.0\nthen\ntorch: 2.5.0")
    assert said("Python 3.11\nPython version: 3.11.4")["python.version"] == "3.11.4"


@pytest.mark.parametrize(
    ("name", "capability"),
    [("Tesla V100-SXM2...", "7.0"), ("NVIDIA A100-SXM...", "8.0"), ("GeForce RTX 208...", "7.5"),
     ("NVIDIA GeForce ...", None), ("Quadro RTX 8000...", "7.5"), ("NVIDIA H100 80G...", "9.0")],
)  # fmt: skip
def test_a_name_that_a_table_has_cut(name: str, capability: str | None) -> None:
    row = f"|   0  {name}  Off  | 00000000:3B:00.0 Off |                    0 |"
    assert said(row).get("gpu[0].compute_capability") == capability
    assert said(row)["gpu.count"] == 1


def known(text: str, name: str) -> Any:
    fact = derive(read_environment(text.encode()), matrix()).facts.get(name)
    return fact.value if isinstance(fact, Known) else fact


def test_a_release_without_a_label_is_that_of_pypi_and_the_report_says_so() -> None:
    text = "torch       2.6.0\ntorchvision 0.21.0\nGPU: RTX 3090\nOS: Windows 11"
    assert known(text, "torch.build") == "cpu"
    assert any("PyPI" in each for each in read_environment(text.encode()).overlays)
    assert known(text.replace("Windows 11", "Ubuntu 22.04"), "torch.cuda") == "12.4"


def test_where_conda_is_named_nobody_knows_the_build() -> None:
    assert not isinstance(known("(base) $ pip list\ntorch: 2.4.1", "torch.build"), str)


def test_cuda_libraries_of_pip_show_that_torch_is_of_pypi_even_in_conda() -> None:
    text = "(base) $ pip list\nnvidia-cuda-runtime-cu12 12.1.105\ntorch                2.4.1\n"
    assert known(text, "torch.build") == "pypi"
    assert known(text, "torch.cuda") == "12.1"
    other = text.replace("12.1.105", "11.8.89")
    assert not isinstance(known(other, "torch.build"), str)


def test_versions_that_a_list_names_are_held_against_requirements() -> None:
    text = "torch        2.6.0\nxformers     0.0.28.post3\n"
    unmet = known(text, "xformers.unmet")
    assert isinstance(unmet, dict)
    assert "2.6.0 is installed" in unmet["torch"]
    assert not isinstance(known(text, "vllm.missing"), tuple)


@pytest.mark.sampled(every=3)
@pytest.mark.parametrize(
    "unit",
    ["torch ", "torch: ", "| torch ", "torch 2.6 ", "2x A100 ", ">>> torch.__version__ ", "GPU 0,",
     "显卡 ", "GPU[0] : ", "py3_1 ", "requires , but you have "],
)  # fmt: skip
def test_no_reader_runs_away(unit: str) -> None:
    with which_ends():
        read_report(f"{unit * (8_000 // len(unit))}\n".encode() * 20, "paste")


@pytest.mark.parametrize(
    ("name", "vendor"),
    [
        ("GIGABYTE AMD Radeon RX 6650 XT", "amd"),
        ("Sapphire Nitro+ RX 7900 XTX", "amd"),
        ("PowerColor Hellhound 7800XT", "amd"),
        ("ASUS TUF RTX 5090", "nvidia"),
        ("MSI GeForce RTX 4090 beside AMD Radeon Graphics", "nvidia"),
        ("Gainward Phantom", "nvidia"),
    ],
)
def test_the_maker_of_a_card_is_not_that_of_its_gpu(name: str, vendor: str) -> None:
    claims = {each.name: each.value for each in gpu_claims(0, name, 1, "a report")}
    assert claims["gpu[0].vendor"] == vendor


@pytest.mark.parametrize(
    ("row", "cuda"),
    [
        ("pytorch    2.5.1    cpu_mkl_py310_h12ddca3_103    conda-forge", None),
        ("pytorch  1.13.1  py3.10_cuda11.7_cudnn8.5.0_0  pytorch", "11.7"),
        ("pytorch  2.0.1  py3.9_cpu_0", None),
    ],
)
def test_a_row_of_conda_that_stands_alone(row: str, cuda: str | None) -> None:
    found = said(f"I looked at the list:\n{row}\nand wonder.\n")
    assert found["torch.cuda"] == cuda


@pytest.mark.parametrize("row", ["pytorch 2.5.1 py3 here", "pyscf 2.5.1 cpu_py310_h1 conda-forge"])
def test_other_rows_that_stand_alone_say_nothing_of_torch(row: str) -> None:
    assert "torch.cuda" not in said(f"I looked at the list:\n{row}\nand wonder.\n")
