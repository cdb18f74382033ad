"""What follows from what a text states, and what stays one of a few."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from fadoctor.judging.diagnose import foresee
from fadoctor.model.fact import Absent, Known, Unknown
from fadoctor.model.packages import PACKAGES
from fadoctor.sources.logs.pasted_text import read_text
from fadoctor.sources.targets.derived import derive
from fadoctor.sources.targets.overlay import assumed_machine, assumed_python
from tests.unit.sources.pasted.reading import matrix, read_environment, shipped

if TYPE_CHECKING:
    from fadoctor.model.fact import Fact


def fact(text: str, name: str) -> Fact:
    return read_environment(text.encode()).fact(name)


def test_a_release_that_a_person_writes_is_one_of_torchs_own_builds() -> None:
    build = fact("My torch is torch 2.5.1 on Linux.", "torch.build")
    assert isinstance(build, Unknown)
    assert {"pypi", "cu118", "cu121"} <= set(build.among)
    cuda = fact("My torch is torch 2.5.1 on Linux.", "torch.cuda")
    assert isinstance(cuda, Unknown)
    assert set(cuda.among) == {"11.8", "12.1", "12.4"}


def test_where_pypi_has_no_cuda_it_is_one_among_its_builds() -> None:
    build = fact("torch 2.5.1 on Windows", "torch.build")
    assert isinstance(build, Unknown)
    assert set(build.among) == {"cpu", "cu118", "cu121", "cu124"}


def test_a_release_whose_builds_for_windows_were_not_read_tells_nothing() -> None:
    build = fact("torch 2.13.0 on Windows", "torch.build")
    assert isinstance(build, Unknown)
    assert not build.among


def test_others_builds_are_not_counted() -> None:
    build = fact("In conda, torch 2.5.1", "torch.build")
    assert isinstance(build, Unknown)
    assert not build.among


def test_a_label_says_the_build() -> None:
    build = fact("torch 2.5.1+cu118", "torch.build")
    assert isinstance(build, Known)
    assert build.value == "cu118"


@pytest.mark.parametrize(
    ("found", "below", "words"),
    [("10010", "450", "older than 450.80.02"), ("11040", "525", "older than 525.60.13")],
)
def test_the_cuda_of_a_driver_bounds_it(found: str, below: str, words: str) -> None:
    text = f"The NVIDIA driver on your system is too old (found version {found})."
    driver = fact(text, "driver.version")
    assert isinstance(driver, Unknown)
    assert driver.words == words
    assert all(float(each.partition(".")[0]) < float(below) for each in driver.among)


def test_a_driver_that_is_named_is_not_guessed() -> None:
    text = "NVIDIA-SMI 550.54.15   Driver Version: 550.54.15   CUDA Version: 12.4"
    assert isinstance(fact(text, "driver.version"), Known)


def test_a_platform_is_assumed_only_where_none_is_named() -> None:
    silent = read_environment(b"torch 2.6.0+cu124")
    assert any("Linux on x86_64" in each for each in silent.overlays)
    for text in ("torch 2.6.0+cu124, Windows 11", "torch 2.6.0 on a Jetson"):
        assert not any("Linux" in each for each in read_environment(text.encode()).overlays)


@pytest.mark.parametrize(
    ("text", "system"),
    [
        ("torch 2.6.0, I run it on windows", "windows"),
        ("torch 2.6.0 under win 11", "windows"),
        ("python_embeded has torch 2.6.0", "windows"),
        ("torch 2.6.0: DLL load failed while importing flash_attn_2_cuda", "windows"),
        ("torch 2.6.0 loads a DLL by wine", "linux"),
        ("torch 2.6.0 with sliding windows", "linux"),
        ("torch 2.6.0 runs in windows here", "windows"),
        ("torch 2.6.0 computes in windows of 4096 tokens", "linux"),
        ("\u5728windows\u7cfb\u7edf\u4e0a torch 2.6.0", "windows"),
        ("torch 2.6.0, started by trainer.exe", "windows"),
        ("torch 2.6.0 in WSL2 on Windows 11", "linux"),
        ("torch 2.6.0 in WSL, flash_attn.cp311-win_amd64.pyd", "windows"),
        ("torch 2.6.0 runs on window 10", "windows"),
        ("torch 2.6.0 on my old windows machine", "windows"),
        ("torch 2.6.0, I typed it into PowerShell", "windows"),
        ("torch 2.6.0; the task manager shows no load", "windows"),
        ("torch 2.6.0 with Visual Studio 2022", "windows"),
        ("torch 2.6.0 in Visual Studio Code", "linux"),
        (
            "`torch` (v2.6.0) only has wheels for the following platforms: `x_x86_64`, `win_amd64`",
            "linux",
        ),
    ],
)
def test_words_of_people_name_windows(text: str, system: str) -> None:
    found = fact(text, "host.os")
    assert isinstance(found, Known)
    assert found.value == system


def test_dependencies_in_json_are_read() -> None:
    text = '"dependencies": {\n  "torch"       : "2.6.0+cu124",\n  "xformers"    : null\n}'
    found = fact(text, "torch.version")
    assert isinstance(found, Known)
    assert found.value == "2.6.0+cu124"
    assert not isinstance(fact(text, "xformers.version"), Known)


LIST = """Package      Version
------------ -------
accelerate   1.12.0
torch        {}
torchvision  0.24.1
transformers 4.57.1
"""


def test_the_rocm_of_a_label_is_known() -> None:
    hip = fact(LIST.format("2.9.1+rocm6.4"), "torch.hip")
    assert isinstance(hip, Known)
    assert hip.value == "6.4"


@pytest.mark.parametrize("label", ["cu128", "cpu"])
def test_torch_with_another_label_has_no_rocm(label: str) -> None:
    assert isinstance(fact(LIST.format(f"2.9.1+{label}"), "torch.hip"), Absent)


@pytest.mark.parametrize(
    ("platform", "build"),
    [("", "pypi"), ("linux_x86_64", "pypi"), ("win_amd64", "cpu"), ("linux_aarch64", "cpu")],
)
def test_a_list_is_completed_for_the_platform_that_is_assumed(platform: str, build: str) -> None:
    data = LIST.format("2.9.1").encode()
    found = read_text(data, "paste", shipped(), machine=assumed_machine(platform))
    assert found.fact("torch.build") == Known(build, found.fact("torch.build").source)


def test_a_platform_that_the_text_names_stays_until_the_overlay() -> None:
    data = ("OS: Microsoft Windows 11 Pro\n" + LIST.format("2.9.1")).encode()
    found = read_text(data, "paste", shipped(), machine=assumed_machine("linux_x86_64"))
    system = found.fact("host.os")
    assert isinstance(system, Known)
    assert system.value == "windows"


@pytest.mark.parametrize("version", ["2.8.0", "2.8.0+cu128"])
def test_torch_for_windows_has_no_second_abi(version: str) -> None:
    """As none was known, a file for another build of torch was planned, with that torch."""
    machine = assumed_machine("win_amd64")
    found = read_text(LIST.format(version).encode(), "paste", shipped(), machine=machine)
    assert isinstance(found.fact("torch.cxx11_abi"), Absent)


def test_a_list_is_no_log_that_calls_for_something() -> None:
    """A fix that holds where no log calls for another release was left out."""
    found = read_environment(LIST.format("2.9.1").encode())
    assert not [name for name in found.facts if name.startswith("log.")]
    judged = foresee(derive(read_environment(UNMET.encode()), matrix()), shipped())
    [finding] = [e for e in judged.assessment.findings if e.rule_id == "requirement-unmet"]
    assert "install-requirements" in [fix.id for fix in finding.fixes]


UNMET = LIST.format("2.9.1") + "trl          0.28.0\nunsloth      2026.2.1\n"


@pytest.mark.parametrize(
    ("rows", "told"),
    [
        ("transformers 4.57.1\nhuggingface-hub 1.2.0\n", {"transformers": "huggingface-hub"}),
        ("trl 0.13.0\naccelerate 0.25.0\n", {"trl": "accelerate"}),
        ("llamafactory 0.9.3\ntrl 0.19.1\n", {"llamafactory": "trl"}),
        ("diffusers 0.35.1\nhuggingface-hub 0.25.2\n", {"diffusers": "huggingface-hub"}),
        ("verl 0.6.0\ntensordict 0.11.0\n", {"verl": "tensordict"}),
        ("numba 0.61.2\nnumpy 2.4.0\n", {"numba": "numpy"}),
        # its extra is in use
        ("sglang 0.4.9.post2\nsgl-kernel 0.2.5\n", {"sglang": "torch"}),
        # what is not named may be there all the same
        ("trl 0.13.0\naccelerate 1.7.0\n", {}),
        # an extra is not what an installer looks at
        ("transformers 5.2.0\nhuggingface-hub 1.4.0\n", {}),
    ],
)
def test_versions_of_a_list_are_held_against_what_its_releases_declare(
    rows: str, told: dict[str, str]
) -> None:
    found = derive(
        read_environment(("Package Version\n------- -------\ntorch 2.8.0\n" + rows).encode()),
        matrix(),
    )
    unmet = {
        str(asker.value): name
        for key in (*PACKAGES, *found.requirers())
        if isinstance(each := found.fact(f"{key}.unmet"), Known)
        and isinstance(asker := found.fact(f"{key}.distribution"), Known)
        for name in each.value  # type: ignore[union-attr] # a mapping
    }
    assert unmet == told


def test_a_name_that_ends_in_anothers_is_not_that_one() -> None:
    found = read_environment(b"Package Version\n------- -------\nhumming-kernels 0.1.19\n"
                             b"my-torch 1.0\ntransformers 5.20.2\n")  # fmt: skip
    assert isinstance(found.fact("kernels.version"), Absent)
    assert not isinstance(found.fact("torch.version"), Known)
    bullet = fact("-torch 2.6.0 on Linux", "torch.version")
    assert isinstance(bullet, Known)


WHOLE = (
    "Package Version\n------- -------\ntorch 2.8.0+cu126\nfilelock 3.20.0\nfsspec 2025.9.0\n"
    "jinja2 3.1.6\nnetworkx 3.6\nsympy 1.14.0\ntyping-extensions 4.15.0\n"
)


@pytest.mark.parametrize(
    ("platform", "text", "asker", "missing"),
    [
        ("win_amd64", WHOLE + "unsloth 2025.11.6\n", "unsloth", {"triton-windows"}),
        ("linux_x86_64", WHOLE + "unsloth 2025.11.6\n", "unsloth", {"accelerate", "peft"}),
        ("linux_x86_64", WHOLE + "peft 0.18.0\n", "peft", {"accelerate", "transformers"}),
        # the tables say what is required on Linux
        ("win_amd64", WHOLE + "peft 0.18.0\n", "peft", set()),
        # what torch requires was left out of it: others may have been, too
        ("win_amd64", WHOLE.replace("sympy", "six") + "unsloth 2025.11.6\n", "unsloth", set()),
        ("linux_x86_64", WHOLE.replace("sympy", "six") + "peft 0.18.0\n", "peft", set()),
        ("linux_x86_64", WHOLE + "...\npeft 0.18.0\n", "peft", set()),
    ],
)  # fmt: skip
def test_a_whole_list_lacks_what_its_packages_require_of_the_stack(
    platform: str, text: str, asker: str, missing: set[str]
) -> None:
    read = read_text(text.encode(), "paste", shipped(), machine=assumed_machine(platform))
    told = derive(read, matrix()).fact(f"{asker}.missing")
    found = set(told.value) if isinstance(told, Known) else set()  # type: ignore[arg-type] # names
    apart = {"triton-windows", "accelerate", "peft"} if asker == "unsloth" else found
    assert found & apart == missing


@pytest.mark.parametrize(
    ("named", "is_absent"),
    [
        ("AMD Radeon RX 7900 XTX (gfx1100)", True),
        ("NVIDIA A100", False),
        ("AMD Radeon RX 7900 XTX (gfx1100)\nNvidia driver version: 550.54.15", False),
        ("", False),
    ],
)
def test_beside_amds_gpus_alone_there_is_no_driver_of_nvidia(
    *, named: str, is_absent: bool
) -> None:
    """A torch for CUDA on such a card was no error, as a driver might have been there."""
    found = read_text(f"GPU: {named}\n{LIST.format('2.9.1')}".encode(), "paste", shipped())
    assert isinstance(found.fact("driver.version"), Absent) is is_absent


@pytest.mark.parametrize(
    ("platform", "version", "is_there"),
    [
        ("linux_x86_64", "0.0.32.post2", True),
        ("win_amd64", "0.0.32.post2", True),
        ("win_amd64", "0.0.31", False),  # a wheel without any kernels
        ("linux_x86_64", "0.0.32+abc", False),
        ("linux_aarch64", "0.0.32.post2", False),
    ],
)
def test_a_wheel_of_xformers_has_its_kernels(
    *, platform: str, version: str, is_there: bool
) -> None:
    """What it does on Blackwell was left open of every list."""
    text = LIST.format("2.8.0") + f"xformers {version}\nPython version: 3.11.9\n"
    found = read_text(text.encode(), "paste", shipped(), machine=assumed_machine(platform))
    assert isinstance(found.fact("xformers.extension"), Known) is is_there


@pytest.mark.parametrize(("python", "is_there"), [("3.10", True), ("3.13", False), ("", False)])
def test_an_assumed_python_says_whether_xformers_has_its_kernels(
    python: str, *, is_there: bool
) -> None:
    """Regression: what was given by --python-version counted only after what follows from it."""
    text = b"torch==2.4.1+cu118\nxformers==0.0.28.post1\n"
    machine = assumed_machine("linux_x86_64") | assumed_python(python)
    found = read_text(text, "env.txt", shipped(), machine=machine)
    assert isinstance(found.fact("xformers.extension"), Known) is is_there
    assert isinstance(found.fact("xformers.direct_url"), Absent) is is_there


@pytest.mark.parametrize(
    ("before", "build"),
    [
        ("Successfully installed sympy-1.14.0 torch-2.9.0 vllm-0.11.2", "pypi"),
        ("Successfully installed torch-2.8.0", None),
        ("Successfully installed torch-2.9.0+cu130", None),
        ("Collecting torch-2.9.0", None),
    ],
)
def test_what_pip_says_it_installed_is_pypis_in_a_conda_environment(
    before: str, build: str | None
) -> None:
    """Regression: a path below miniconda left the build open, and nothing was repaired."""
    listed = "pip freeze\nnumpy==2.2.6\ntorch==2.9.0\ntriton==3.5.0\nvllm==0.11.2\n"
    text = f"$ which pip\n/home/me/miniconda3/bin/pip\n{before}\n\n{listed}"
    found = read_environment(text.encode()).fact("torch.build")
    assert getattr(found, "value", None) == build
