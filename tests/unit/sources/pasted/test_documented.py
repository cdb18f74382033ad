"""The table of docs/pasted-reports.md says what each tool gives, as its sample shows."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from fadoctor.model.fact import Known, Unknown
from tests.unit.sources.pasted import test_tools as samples
from tests.unit.sources.pasted.reading import read_report

DOCS = Path(__file__).parents[4] / "docs" / "pasted-reports.md"

VLLM = """
==============================
        System Info
==============================
OS                           : Ubuntu 24.04.2 LTS (x86_64)
GCC version                  : (Ubuntu 13.3.0-6ubuntu2~24.04) 13.3.0
Libc version                 : glibc-2.39

==============================
       PyTorch Info
==============================
PyTorch version              : 2.9.0+cu128
Is debug build               : False
CUDA used to build PyTorch   : 12.8
ROCM used to build PyTorch   : N/A

==============================
      Python Environment
==============================
Python version               : 3.12.12 (main, Oct 10 2025, 08:52:57) [GCC 13.3.0] (64-bit runtime)
Python platform              : Linux-6.8.0-40-generic-x86_64-with-glibc2.39

==============================
       CUDA / GPU Info
==============================
Is CUDA available            : True
CUDA runtime version         : 12.8.93
GPU models and configuration : GPU 0: NVIDIA L40S
Nvidia driver version        : 570.172.08

==============================
Versions of relevant libraries
==============================
[pip3] flashinfer-python==0.5.2
[pip3] torch==2.9.0
[pip3] triton==3.5.0
[conda] Could not collect

==============================
         vLLM Info
==============================
ROCM Version                 : Could not collect
vLLM Version                 : 0.11.2
vLLM Build Flags:
  CUDA Archs: Not Set; ROCm: Disabled

==============================
     Environment Variables
==============================
VLLM_ATTENTION_BACKEND=FLASHINFER
SOME_SECRET_TOKEN=of-no-concern
"""
ROCM = """
Collecting environment information...
PyTorch version: 2.8.0+rocm6.4
Is debug build: False
CUDA used to build PyTorch: N/A
ROCM used to build PyTorch: 6.4.43482-0f2d60242
Libc version: glibc-2.39
Python version: 3.12.3 (main, Jun 18 2025, 17:59:45) [GCC 13.3.0] (64-bit runtime)
Python platform: Linux-6.8.0-60-generic-x86_64-with-glibc2.39
Is CUDA available: True
GPU models and configuration: AMD Instinct MI300X (gfx942:sramecc+:xnack-)
"""
OLD = """
PyTorch version: 1.13.1+cu117
Is debug build: False
CUDA used to build PyTorch: 11.7
OS: Ubuntu 20.04.6 LTS (x86_64)
GCC version: (Ubuntu 9.4.0-1ubuntu1~20.04.2) 9.4.0
Libc version: glibc-2.31
Python version: 3.8.10 (default, Nov 22 2023, 10:22:35)  [GCC 9.4.0] (64-bit runtime)
Python platform: Linux-5.4.0-150-generic-x86_64-with-glibc2.29
Is CUDA available: True
CUDA runtime version: 11.7.99
GPU 0: Tesla T4
Nvidia driver version: 470.199.02
Versions of relevant libraries:
[pip3] numpy==1.24.4
[pip3] torch==1.13.1
"""
ACCELERATE = """
- `Accelerate` version: 1.15.0
- Platform: Linux-6.8.0-60-generic-x86_64-with-glibc2.39
- `accelerate` bash location: /opt/venv/bin/accelerate
- Python version: 3.12.3
- Numpy version: 2.2.6
- PyTorch version (GPU?): 2.7.1+cu126 (True)
- System RAM: 503.51 GB
- GPU type: NVIDIA A100-SXM4-80GB
- `Accelerate` default config:
\tNot found
"""
LISTED = "GPU 0: NVIDIA L4 (UUID: GPU-00000000-0000-0000-0000-000000000000)\n"

TOOLS = {
    "`torch.utils.collect_env`": samples.COLLECT_ENV,
    "`vllm collect-env`": VLLM,
    "`transformers env`": samples.DASHED.replace(
        "Windows-11-10.0.26100-SP0", "Linux-6.8.0-59-generic-x86_64-with-glibc2.39"
    ),
    "`accelerate env`": ACCELERATE,
    "`llamafactory-cli env`": samples.LLAMAFACTORY,
    "`xformers.info`": samples.XFORMERS,
    "`ds_report`": samples.DEEPSPEED,
    "unsloth": samples.UNSLOTH,
    "`nvidia-smi`": samples.SMI,
    "`nvidia-smi -q`": samples.QUERY,
    "`nvidia-smi -L`": LISTED,
    "`nvidia-smi` csv": samples.CSV,
    "`nvcc`": samples.NVCC,
    "`pip list`": samples.PIP_LIST,
    "`pip freeze`": samples.FREEZE,
    "`pip show`": samples.SHOW,
    "`conda list`": samples.CONDA,
}

_FOLLOWS = re.compile(
    r"(?<!host)\.distribution$|\.vendor$|\.visible$|visible_count$|^host\.(?:libc|wsl|machine|os)$"
    r"|^python\.(?:implementation|free_threaded|abi_tag)$|^flash_attn\.wheel\.|^packages\.(?:nvidia|named)$"
)
_MADE_ONE = (
    (re.compile(r"^gpu\[\d+\]"), "gpu[]"),
    (re.compile(r"^env\..*"), "env.*"),
    (re.compile(r"^(?!torch\.|python\.|driver\.|toolkit\.)\w+\.version$"), "other `*.version`"),
)


_GONE = ("it is not in the list", "it is not installed")


def given(text: str) -> set[str]:
    """Return the facts that a text gives, as the table names them."""
    found = set()
    for name, fact in read_report(text.encode(), "sample").facts.items():
        if isinstance(fact, Unknown) or _FOLLOWS.search(name):
            continue
        if not isinstance(fact, Known) and fact.source.endswith(_GONE):
            continue
        for pattern, one in _MADE_ONE:
            name = pattern.sub(one, name)  # noqa: PLW2901 -- each name in one form
        found.add(name if name.startswith("other") else f"`{name}`")
    return found


def documented() -> dict[str, set[str]]:
    """Return the tools that the table names for each fact."""
    lines = DOCS.read_text(encoding="utf-8").splitlines()
    start = lines.index("| fact | tools that say it |") + 2
    table: dict[str, set[str]] = {}
    for line in lines[start:]:
        if not line.startswith("|"):
            break
        fact, tools = (cell.strip() for cell in line.strip("|").split("|"))
        table[fact] = {tool.strip() for tool in tools.split(",")}
    return table


@pytest.mark.parametrize("tool", TOOLS)
def test_the_table_says_what_each_tool_gives(tool: str) -> None:
    assert {fact for fact, tools in documented().items() if tool in tools} == given(TOOLS[tool])


def test_the_table_names_no_other_tool() -> None:
    assert {tool for tools in documented().values() for tool in tools} <= TOOLS.keys()


@pytest.mark.parametrize(
    ("text", "facts"),
    [
        (VLLM, {"vllm.version": "0.11.2", "torch.build": "pypi", "host.glibc": "2.39",
                "env.VLLM_ATTENTION_BACKEND": "FLASHINFER", "gpu[0].name": "NVIDIA L40S"}),
        (ROCM, {"torch.hip": "6.4.43482-0f2d60242", "torch.build": "rocm", "gpu[0].gfx": "gfx942",
                "gpu[0].name": "AMD Instinct MI300X"}),
        (OLD, {"torch.version": "1.13.1", "python.tag": "cp38", "gpu[0].name": "Tesla T4",
               "toolkit.nvcc.version": "11.7", "driver.version": "470.199.02"}),
        (ACCELERATE, {"accelerate.version": "1.15.0", "numpy.version": "2.2.6"}),
        (f"[2026-11-22 10:00:00,123] [INFO] [real_accelerator.py:222] set\n{samples.DEEPSPEED}",
         {"deepspeed.version": "0.15.1"}),
        ("Name: flash_attn Version: 2.8.3\n", {"flash_attn.version": "2.8.3"}),
        ('PS C:\\x> uv run python -c "import torch; print(torch.__version__)"\n2.9.1+cpu\n',
         {"torch.version": "2.9.1+cpu"}),
        ('docker run --rm img python3 -c "import torch; print(torch.__version__)"\n2.6.0+cu124\n',
         {"torch.version": "2.6.0+cu124"}),
        ("$ pip show torch | grep Version\nVersion: 2.6.0\n", {"torch.version": "2.6.0"}),
    ],
    ids=["vllm", "rocm", "1.13", "accelerate", "a logger before it", "folded",
         "uv run", "docker run", "grep"],
)  # fmt: skip
def test_other_releases_of_the_tools(text: str, facts: dict[str, str]) -> None:
    found = read_report(text.encode(), "sample").facts
    values = {name: found.get(name) for name in facts}
    assert {n: f.value if isinstance(f, Known) else f for n, f in values.items()} == facts


def test_a_variable_that_is_of_no_concern_is_not_kept() -> None:
    assert "env.SOME_SECRET_TOKEN" not in read_report(VLLM.encode(), "sample").facts


@pytest.mark.parametrize(("answer", "is_seen"), [("False", False), ("No", False), ("Yes", True)])
def test_torch_before_1_5_answers_yes_and_no(answer: str, is_seen: bool) -> None:  # noqa: FBT001
    text = OLD.replace("CUDA available: True", f"CUDA available: {answer}")
    facts = read_report(text.encode(), "paste").facts
    assert isinstance(facts.get("gpu[0].visible"), Known) is is_seen
