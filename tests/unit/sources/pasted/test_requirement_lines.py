"""Lines about one requirement: each form that installers and checks write."""

from __future__ import annotations

import pytest

from fadoctor.sources.pasted.claims import PastedLine
from fadoctor.sources.pasted.package_lists import read
from fadoctor.sources.pasted.requirement_lines import requirement_lines
from fadoctor.sources.pasted.requirement_rows import ToldRequirement

Row = ToldRequirement
END = "which is incompatible."
NO = "but none of the providers can be installed"

MANY = "!=2.0.0,!=2.1.0,!=2.1.1,!=2.2.0,!=2.2.1,!=2.3.0,<3.0.0,>=1.9.5"


@pytest.mark.parametrize(
    ("line", "row"),
    [
        (
            f"ERROR: peft 0.19.0 requires torch>=2.5, but you have torch 2.4.1 {END}",
            Row("peft", "0.19.0", "torch", ">=2.5", "2.4.1"),
        ),
        (
            f"Peft 0.19.0 has requirement numpy<2, but you'll have numpy 2.1.0 {END}",
            Row("peft", "0.19.0", "numpy", "<2", "2.1.0"),
        ),
        (
            f"helper 1.2 requires einops{MANY}, but you have einops 3.1.0 {END}",
            Row("helper", "1.2", "einops", MANY, "3.1.0"),
        ),
        (
            'fancy.tool 1 requires Flash_Attn[x]~=2.8.0; extra == "x", but you have flash-attn 2',
            Row("fancy-tool", "1", "flash-attn", "~=2.8.0", "2"),
        ),
        (
            "flash-attn 2.8.3 requires einops, which is not installed.",
            Row("flash-attn", "2.8.3", "einops", "", is_missing=True),
        ),
        (
            "and xformers==0.0.31 requires torch==2.7.1",
            Row("xformers", "0.0.31", "torch", "==2.7.1"),
        ),
        (
            "because trl (0.19.1) depends on transformers (>=4.50.0)",
            Row("trl", "0.19.1", "transformers", ">=4.50.0"),
        ),
        (
            "The package `vllm` requires `transformers>=4.56.0,<5`, but `5.2.0` is installed",
            Row("vllm", "", "transformers", ">=4.56.0,<5", "5.2.0"),
        ),
        (
            "The package `peft` requires `numpy>=1.7 ; os_name == 'nt'`, but it's not installed",
            Row("peft", "", "numpy", ">=1.7", is_missing=True),
        ),
        (
            f"  - package torchvision-0.15.2-py310_cu117 requires pytorch 2.0.1, {NO}",
            Row("torchvision", "0.15.2", "torch", "==2.0.1"),
        ),
        (
            f"  - package xformers-0.0.28-py311_cu12 requires pytorch =2.4 *cuda*, {NO}",
            Row("xformers", "0.0.28", "torch", "==2.4.*"),
        ),
        (
            "VersionConflict: (numpy 2.0.1 (/opt/py), Requirement.parse('numpy<2'))",
            Row("", "", "numpy", "<2", "2.0.1"),
        ),
        (
            "VersionConflict: (torch 2.4.0 (/s), Requirement.parse('torch==2.3.1'), {'xformers'})",
            Row("xformers", "", "torch", "==2.3.1", "2.4.0"),
        ),
        (
            "tokenizers 0.20.1 is installed but tokenizers<0.20 is required by {'transformers'}",
            Row("transformers", "", "tokenizers", "<0.20", "0.20.1"),
        ),
        (
            "The 'triton>=3.0' distribution was not found and is required by liger-kernel",
            Row("liger-kernel", "", "triton", ">=3.0", is_missing=True),
        ),
        (
            "The 'peft>=0.18' distribution was not found and is required by this application.",
            Row("", "", "peft", ">=0.18", is_missing=True),
        ),
        (
            "peft>=0.18 is required for a normal functioning of this module, but found peft==0.17.",
            Row("", "", "peft", ">=0.18", "0.17"),
        ),
        (
            "PackageNotFoundError: No package metadata was found for bitsandbytes",
            Row("", "", "bitsandbytes", "", is_missing=True),
        ),
    ],
)  # fmt: skip
def test_each_form_gives_the_same_row(line: str, row: ToldRequirement) -> None:
    assert tuple(requirement_lines(line)) == (row,)


@pytest.mark.parametrize(
    "line",
    [
        "The package requires torch and a GPU.",
        "peft 0.19.0 was installed, which requires nothing else.",
        "torch 2.4.0 (/srv/lib) is older than Requirement.parse would like",
        "A tokenizer is required for a normal functioning of this module.",
        "the distribution was not found and is required by many",
        # what one says about a package, and another one's release, do not belong together
        "(torch 2.4.0 (/srv/lib), Requirement.parse('numpy<2'))",
    ],
)
def test_what_names_no_requirement_gives_no_row(line: str) -> None:
    assert tuple(requirement_lines(line)) == ()


@pytest.mark.parametrize(
    ("line", "there"),
    [
        (
            "trl>=0.20 is required for a normal functioning of this module, but found trl==0.19.1.",
            {"package:trl": "0.19.1"},
        ),
        (
            "The package `vllm` requires `transformers>=4.56.0,<5`, but `5.2.0` is installed",
            {"package:transformers": "5.2.0"},
        ),
        (
            "VersionConflict: (numpy 2.0.1 (/opt/py/site-packages), Requirement.parse('numpy<2'))",
            {"package:numpy": "2.0.1"},
        ),
        (
            "flash-attn 2.8.3 requires einops, which is not installed.",
            {"package:flash-attn": "2.8.3"},
        ),
        # a resolver speaks of releases that it could take
        ("xformers==0.0.31 depends on torch==2.7.1", {}),
        ("No package metadata was found for bitsandbytes", {}),
    ],
)
def test_a_line_says_which_releases_are_there(line: str, there: dict[str, str]) -> None:
    assert {claim.name: claim.value for claim in read([PastedLine(1, line)])} == there
