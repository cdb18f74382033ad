"""Fixes that tell to choose a prebuilt wheel name the file, as far as a text decides on it."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING

import pytest

from fadoctor.judging.explain.explain import explain, read_log

if TYPE_CHECKING:
    from fadoctor.model.rule import Knowledge

_SYMBOL = "undefined symbol: _ZN3c104cuda9SetDeviceEab"
_NO_PART = "No module named 'flash_attn_2_cuda'"
_FAILED = (
    "  Building wheel for flash-attn (setup.py) ... error\n  error C2872: 'std': ambiguous symbol"
)
_UNFIT = "is not a supported wheel on this platform."
_FILES = "flash-attention-prebuild-wheels/releases/download/"

DECIDED = {
    # Windows: the file of others, of the CUDA of torch
    f"{_NO_PART}\nWindows 11, C:\\a\\venv\\Scripts\\python.exe\nPython 3.11.5\ntorch 2.8.0+cu128": (
        "C:\\a\\venv\\Scripts\\python.exe -m pip install --no-deps --force-reinstall "
        f"https://github.com/mjun0812/{_FILES}v0.4.10/"
        "flash_attn-2.8.2%2Bcu128torch2.8-cp311-cp311-win_amd64.whl"
    ),
    # nothing is there that would have to be replaced
    f"C:\\a> pip install flash-attn\n{_FAILED}\nPython 3.10.11\ntorch 2.7.1+cu128": (
        f"pip install https://github.com/mjun0812/{_FILES}v0.7.7/"
        "flash_attn-2.8.3%2Bcu128torch2.7-cp310-cp310-win_amd64.whl"
    ),
    # Linux: the file of flash-attn itself; torch without a label is that of Python's index
    f"flash_attn-2.7.3+cu12torch2.5cxx11abiFALSE-cp310-cp310-linux_x86_64.whl {_UNFIT}\n"
    "Python 3.12, torch 2.5.1": (
        "pip install https://github.com/Dao-AILab/flash-attention/releases/download/v2.8.3.post1/"
        "flash_attn-2.8.3.post1%2Bcu12torch2.5cxx11abiFALSE-cp312-cp312-linux_x86_64.whl"
    ),
    # torch has the other ABI than that of the file that was installed
    "File flash_attn-2.6.3+cu123torch2.4cxx11abiFALSE-cp310-cp310-linux_x86_64.whl\n"
    "ImportError: /usr/local/lib/python3.10/dist-packages/flash_attn_2_cuda.so: undefined symbol: "
    "_ZN3c105ErrorC2ENS_14SourceLocationESs": (
        "pip install --no-deps --force-reinstall https://github.com/Dao-AILab/flash-attention/"
        "releases/download/v2.8.3.post1/"
        "flash_attn-2.8.3.post1%2Bcu12torch2.4cxx11abiTRUE-cp310-cp310-linux_x86_64.whl"
    ),
    # setup.py names the file that it looks for by the torch and the Python that are there
    "Guessing wheel URL:  https://github.com/Dao-AILab/flash-attention/releases/download/v2.7.4/"
    "flash_attn-2.7.4+cu12torch2.6cxx11abiFALSE-cp311-cp311-win_amd64.whl\n"
    "Precompiled wheel not found. Building from source...": (
        f"pip install https://github.com/mjun0812/{_FILES}v0.4.19/"
        "flash_attn-2.8.3%2Bcu124torch2.6-cp311-cp311-win_amd64.whl"
    ),
    # torch as the file says that an installer chose for another system
    "error: A URL dependency is incompatible with the current platform: https://x.org/"
    "flash_attn-2.8.3%2Bcu12torch2.8cxx11abiTRUE-cp312-cp312-linux_x86_64.whl\n"
    "Using Python 3.12.11 environment at: env, on Windows (win_amd64)": (
        f"pip install https://github.com/mjun0812/{_FILES}v0.7.11/"
        "flash_attn-2.8.3%2Bcu128torch2.8-cp312-cp312-win_amd64.whl"
    ),
}


def _steps(text: str, knowledge: Knowledge) -> list[str]:
    report = explain(read_log(io.BytesIO(text.encode()), "a.txt", knowledge), knowledge)
    return [step.text for step in report.findings[0].fixes[0].steps]


@pytest.mark.parametrize("text", DECIDED)
def test_the_file_is_named_that_a_text_decides_on(knowledge: Knowledge, text: str) -> None:
    assert _steps(text, knowledge)[0] == DECIDED[text]


def test_a_file_goes_before_what_makes_a_build_possible(knowledge: Knowledge) -> None:
    text = (
        "pip install flash-attn\nPython 3.10.12\ntorch 2.4.0+cu121\nRuntimeError: FlashAttention "
        "is only supported on CUDA 11.7 and above.  Note: make sure nvcc has a supported version"
    )
    assert "flash_attn-2.8.3.post1%2Bcu12torch2.4" in _steps(text, knowledge)[0]


LEFT = {
    # uv's environments have no pip, by which a command could install
    f"uv pip install vllm\nImportError: /srv/python3.10/flash_attn_2_cuda.so: {_SYMBOL}": (
        "With torch 2.4, 2.5, 2.7 or 2.8: uv pip install --no-build-isolation --no-cache-dir "
        "--no-deps --force-reinstall flash-attn==2.8.3.post1"
    ),
    # CUDA unknown, of which both majors have builds
    f"{_NO_PART}\nWindows, Python 3.12.4, torch 2.9.1": (
        "With torch 2.9 for CUDA 13.0: pip install --no-deps --force-reinstall "
        f"https://github.com/mjun0812/{_FILES}v0.9.28/"
        "flash_attn-2.8.3%2Bcu130torch2.9-cp312-cp312-win_amd64.whl"
    ),
    "AssertionError: SM89 kernel is not available. Make sure you GPUs with compute capability": (
        "On Linux: pip install --no-deps --force-reinstall --no-build-isolation "
        "git+https://github.com/thu-ml/SageAttention. "
        "It compiles, which needs nvcc of torch's CUDA and the GPU in sight."
    ),
}


def test_a_command_for_windows_reads_what_the_text_does_not_tell(knowledge: Knowledge) -> None:
    command = _steps(f"{_NO_PART}\nWindows 11", knowledge)[0]
    assert command.startswith('python -c "import sys')
    assert "128 2.8 312" in command
    assert "win_amd64.whl" in command


@pytest.mark.parametrize("text", LEFT)
def test_the_commands_that_are_left_have_conditions(knowledge: Knowledge, text: str) -> None:
    steps = _steps(text, knowledge)
    assert steps[0].startswith(("`python -c", "On Windows run the next line."))
    assert any(step.startswith(LEFT[text]) for step in steps)


READING = {
    # Linux, torch or Python unknown: the command reads it
    f"ImportError: /srv/e/lib/python3.10/site-packages/flash_attn_2_cuda.so: {_SYMBOL}": (
        "('2.7.4.post1', ['2.2 12', '2.3 12', '2.6 12'])"
    ),
    f"ImportError: /srv/flash_attn_2_cuda.so: {_SYMBOL}\ntorch 2.6.0+cu124, Linux": (
        "[('2.7.4.post1', ['2.6 12']), ('2.7.3', ['2.6 11'])]"
    ),
    # boxes of a form that are not checked
    f"ImportError: /opt/e/flash_attn_2_cuda.so: {_SYMBOL}\n- [X] Linux\n- [ ] Windows": (
        "-linux_x86_64.whl"
    ),
    "pip install xformers: ERROR: Failed building wheel for xformers\nerror: command 'nvcc.exe' "
    "failed on Windows": "('2.8.0', '0.0.32.post2')",
}


@pytest.mark.parametrize("text", READING)
def test_one_command_reads_what_is_not_told(knowledge: Knowledge, text: str) -> None:
    (command,) = [each for each in _steps(text, knowledge) if 'python -c "import sys' in each]
    assert READING[text] in command
    assert not set("{}$!") & set(command)


def test_a_release_is_named_where_torch_is_told(knowledge: Knowledge) -> None:
    text = "pip install mamba-ssm\nERROR: Failed building wheel for mamba-ssm\nTorch 2.6.0+cu124"
    assert _steps(text, knowledge)[1] == (
        "pip install --no-build-isolation --no-cache-dir causal-conv1d==1.5.3.post1 "
        "mamba-ssm==2.2.6.post3"
    )


def test_a_file_that_is_no_attention_needs_the_python_of_its_name(knowledge: Knowledge) -> None:
    file = "torch-2.0.1+gite19229c-cp310-cp310-linux_x86_64.whl"
    said, *lines = _steps(f"ERROR: {file} {_UNFIT}", knowledge)
    assert said == "The name says cp310: this file is for Python 3.10 alone."
    assert lines == ["uv venv --python 3.10 py310", f"uv pip install --python py310 {file}"]


def test_several_files_need_the_python_of_their_names(knowledge: Knowledge) -> None:
    """A list of requirements names them: the list is installed again, not one file."""
    names = ("exllama-0.1.0+cu118", "auto_gptq-0.4.2+cu118")
    text = "\n".join(f"ERROR: {each}-cp310-cp310-linux_x86_64.whl {_UNFIT}" for each in names)
    said, *lines = _steps(text, knowledge)
    assert said == "The name says cp310: these files are for Python 3.10 alone."
    assert lines == [
        "uv venv --python 3.10 py310",
        "uv pip install --python py310 -r requirements.txt",
    ]


def test_amd_gets_no_file_for_cuda(knowledge: Knowledge) -> None:
    text = f"{_NO_PART}\ntorch 2.8.0+rocm6.4, Python 3.12 on Windows, Radeon RX 7900 XTX"
    assert not any("http" in step for step in _steps(text, knowledge))


def test_one_command_for_one_file(knowledge: Knowledge) -> None:
    """Two fixes of a rule named the same file, each in its own words."""
    text = (
        "Windows 11, torch 2.9.1+cu130\nAssertionError: SM89 kernel is not available. Make sure "
        "you GPUs with compute capability 8.9."
    )
    report = explain(read_log(io.BytesIO(text.encode()), "a.txt", knowledge), knowledge)
    said = [step.text for fix in report.findings[0].fixes for step in fix.steps]
    assert sum("win_amd64.whl" in text for text in said) == 1


def test_linux_compiles_sageattention(knowledge: Knowledge) -> None:
    text = "Ubuntu 22.04, torch 2.9.1\nAssertionError: SM89 kernel is not available. Make sure you"
    steps = _steps(f"{text} GPUs with compute capability 8.9.", knowledge)
    assert steps[0].endswith("git+https://github.com/thu-ml/SageAttention")
    assert not any("windows" in step for step in steps)
