"""A falsified cell of every derived table is reported; the right one is not."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING, NamedTuple

import pytest

from tests.tools.tiny_index import metadata, packed, torch_wheel
from tools.refresh.cli import main

if TYPE_CHECKING:
    from pathlib import Path

    from tests.tools.tiny_index import TinyIndex


class Kind(NamedTuple):
    """One table, the wheel that tells about its row, the right row, and what is falsified."""

    table: str
    package: str
    needs: tuple[str, ...]
    cells: dict[str, str]
    wrong: tuple[str, str]
    keys: str = "version: release"
    members: tuple[tuple[str, bytes], ...] = ()
    platform: str = "any"
    row: str = ""
    """Cells of keys beside the version, as YAML."""


PIN = ("torch==90.0.0",)
HUB = b"""
KERNELS_MIN_VERSION = "0.9.0"
def is_flash_attn_2_available():
    return x >= version.parse("2.3.3")

def other():
    pass
"""
ASIDE = b"""logger.warning(f"Disabling PyTorch because PyTorch >= 2.6 is required but found {x}")"""
X86 = "manylinux_2_28_x86_64"
KINDS = [
    Kind(
        "vllm-releases",
        "vllm",
        (*PIN, "transformers>=5,<6"),
        {"torch": "==90.0.0", "transformers": ">=5,<6"},
        ("torch", "==89.0.0"),
    ),
    Kind(
        "vllm-releases",
        "vllm",
        ("xformers==1.0; platform_machine == 'x86_64'",),
        {"xformers": "==1.0"},
        ("xformers", "==1.1"),
    ),
    Kind(
        "unsloth-releases",
        "unsloth",
        ("torch>=2.4", "bitsandbytes", "torchvision"),
        {"torch": ">=2.4", "bitsandbytes": ">=0", "others": "torchvision"},
        ("bitsandbytes", ">=1"),
    ),
    Kind(
        "unsloth-releases",
        "unsloth",
        (),
        {"dora_guard": "true"},
        ("dora_guard", "false"),
        members=(
            (
                "unsloth/utils/attention_dispatch.py",
                b"Q, K, V = Q.to(flash_dtype), K.to(flash_dtype), V.to(flash_dtype)",
            ),
        ),
    ),
    Kind(
        "flash-attn-4-releases",
        "flash-attn-4",
        ("nvidia-cutlass-dsl>=4.6", "torch"),
        {"cutlass_dsl": ">=4.6", "others": "torch"},
        ("cutlass_dsl", ">=4.5"),
    ),
    Kind(
        "sglang-releases",
        "sglang",
        (*PIN, "sgl-kernel==0.4"),
        {"torch": "==90.0.0", "kernel": "==0.4"},
        ("kernel", "==0.3"),
    ),
    Kind(
        "sglang-releases",
        "sglang",
        ("torch==90.0.0; extra == 'srt'",),
        {"torch": "==90.0.0", "in_extra": "true"},
        ("torch", "==89.0.0"),
    ),
    Kind(
        "trl-requires",
        "trl",
        ("transformers>=5", "accelerate"),
        {"transformers": ">=5", "accelerate": ">=0"},
        ("transformers", ">=6"),
    ),
    Kind(
        "llamafactory-releases",
        "llamafactory",
        ("peft>=0.18,<=0.18.1",),
        {"peft": ">=0.18,<=0.18.1"},
        ("peft", ">=0.18,<=0.19"),
    ),
    Kind(
        "accelerate-requires",
        "accelerate",
        ("numpy>=1.17",),
        {"numpy": ">=1.17"},
        ("numpy", "<2"),
        "version: range",
    ),
    Kind(
        "peft-requires",
        "peft",
        ("accelerate>=0.21",),
        {"accelerate": ">=0.21"},
        ("accelerate", ">=1"),
        "version: range",
    ),
    Kind(
        "liger-kernel-requires",
        "liger-kernel",
        ("triton>=2.3",),
        {"triton": ">=2.3"},
        ("triton", ">=3"),
        "version: range",
    ),
    Kind(
        "transformers-releases",
        "transformers",
        ("torch>=2.4; extra == 'torch'",),
        {"torch": "2.6"},
        ("torch", "2.4"),
        "version: range",
        (("transformers/utils/import_utils.py", ASIDE),),
    ),
    Kind(  # what the extra asks for counts where the message of the release asks for less
        "transformers-releases",
        "transformers",
        ("torch>=2.7; extra == 'torch'",),
        {"torch": "2.7.0"},
        ("torch", "2.6"),
        "version: range",
        (("transformers/utils/import_utils.py", ASIDE),),
    ),
    Kind(
        "transformers-hub-library",
        "transformers",
        ("huggingface-hub>=1.3,<2",),
        {"needs": ">=1.3,<2"},
        ("needs", ">=1.3,<3"),
        "version: range",
    ),
    Kind(
        "transformers-flash-attn",
        "transformers",
        (),
        {"flash_attn": ">=2.3.3"},
        ("flash_attn", ">=2.4"),
        "version: range",
        (("transformers/utils/import_utils.py", HUB),),
    ),
    Kind(
        "torch-nvidia",
        "torch",
        ("nvidia-cudnn-cu13==9.9.9",),
        {"cudnn": "9.9.9"},
        ("cudnn", "9.9.8"),
        "version: release, build: word, platform: word",
        platform=X86,
        row=", build: pypi, platform: linux_x86_64",
    ),
    Kind(
        "bitsandbytes-cuda",
        "bitsandbytes",
        (),
        {"cuda": "12.8 13.0"},
        ("cuda", "12.8"),
        "version: range",
        (
            ("bitsandbytes/libbitsandbytes_cuda128.so", b""),
            ("bitsandbytes/libbitsandbytes_cuda130.so", b""),
        ),
        X86,
    ),
    Kind(
        "helper-releases",
        "einops",
        ("numpy>=1,<3",),
        {"requires": '"numpy>=1,<3"'},
        ("requires", '"numpy>=1,<2"'),
        "package: word, version: release",
        row=", package: einops",
    ),
    Kind(
        "declared-requirements",
        "peft",
        ("accelerate>=1",),
        {"requires": '"accelerate>=1"'},
        ("requires", '"accelerate>=2"'),
        "package: word, version: range",
        row=", package: peft",
    ),
    Kind(
        "framework-releases",
        "timm",
        PIN,
        {"requires": '"torch==90.0.0"'},
        ("requires", '"torch==89.0.0"'),
        "package: word, version: release",
        row=", package: timm",
    ),
    Kind(
        "packages-glibc",
        "vllm",
        (),
        {"glibc": "2.28"},
        ("glibc", "2.31"),
        "package: word, version: range",
        platform=X86,
        row=", package: vllm",
    ),
    Kind(
        "kernels-releases",
        "kernels",
        (),
        {"trust": "true"},
        ("trust", "false"),
        "version: range",
        (("kernels/a.py", b"trustedKernelPublisher"),),
    ),
]


def table_of(kind: Kind, cells: dict[str, str]) -> str:
    """Return a table of one row, with columns for what the row says."""
    version = '">=90.0.0,<90.1"' if "range" in kind.keys else "90.0.0"
    typed = {"cuda": "list", "requires": "list", "glibc": "version", "cudnn": "version"}
    typed |= dict.fromkeys(("dora_guard", "in_extra", "trust"), "boolean")
    columns = ", ".join(f"{name}: {typed.get(name, 'text')}" for name in cells)
    plain = ("true", "false")
    shown = ", ".join(
        f"{name}: {text if text in plain or text.startswith(chr(34)) else chr(34) + text + chr(34)}"
        for name, text in cells.items()
    )
    return (
        f"table: {kind.table}\ndoc: A test.\nkeys: {{{kind.keys}}}\ncolumns: {{{columns}}}\n"
        f"references: []\nrows:\n  - {{version: {version}{kind.row}, {shown}}}\n"
    )


def contradictions(index: TinyIndex, folder: Path, kind: Kind, cells: dict[str, str]) -> list[str]:
    """Return what a run reports of the columns that the table has."""
    folder.mkdir(exist_ok=True)
    (folder / f"{kind.table}.yaml").write_text(table_of(kind, cells), "utf-8")
    stem = kind.package.replace("-", "_")
    members = {f"{stem}-90.0.0.dist-info/METADATA": metadata(kind.package, "90.0.0", *kind.needs)}
    tag = f"py3-none-{kind.platform}"
    index.add(kind.package, (f"{stem}-90.0.0-{tag}.whl", packed({**members, **dict(kind.members)})))
    err = io.StringIO()
    options = ["--index-url", index.url, "--cache", str(folder / "c"), "--tables", str(folder)]
    main([*options, "--table", kind.table, "--package", kind.package], io.StringIO(), err)
    told = [line for line in err.getvalue().splitlines() if line.startswith("CONTRADICTION")]
    return [line for line in told if any(f": {name} is " in line for name in kind.cells)]


@pytest.mark.sampled(every=3)
@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: f"{kind.table}-{kind.wrong[0]}")
def test_a_falsified_cell_is_reported_and_the_right_one_is_not(
    index: TinyIndex, tmp_path: Path, kind: Kind
) -> None:
    assert contradictions(index, tmp_path / "right", kind, kind.cells) == []
    column, text = kind.wrong
    (told,) = contradictions(index, tmp_path / "wrong", kind, {**kind.cells, column: text})
    assert f": {column} is " in told


def test_there_are_twenty_kinds() -> None:
    assert len(KINDS) >= 20


def test_a_falsified_build_of_torch_is_reported(index: TinyIndex, tmp_path: Path) -> None:
    (tmp_path / "torch-builds.yaml").write_text(
        "table: torch-builds\ndoc: A test.\nkeys: {version: release, build: word, platform: word}\n"
        "columns: {cuda: version, sm: list, ptx: version, cxx11_abi: boolean}\nreferences: []\n"
        "rows:\n  - {build: pypi cu991, platform: linux_x86_64, version: 90.0.0, cuda: '99.1',\n"
        "     sm: 7.5 9.0, cxx11_abi: true}\n",
        "utf-8",
    )
    index.add("torch", torch_wheel("90.0.0"))
    err = io.StringIO()
    options = ["--index-url", index.url, "--cache", str(tmp_path / "c"), "--tables", str(tmp_path)]
    assert main([*options, "--table", "torch-builds"], io.StringIO(), err) == 1
    assert "sm is 7.5 9.0 in the table and 7.5 9.0 10.0" in err.getvalue()
