"""Where a program runs decides which fixes can be carried out."""

from __future__ import annotations

import pytest

from fadoctor.judging.engine.possible import QUESTION
from fadoctor.judging.explain.fixes.situations import (
    OWN_PYTHON,
    TABLE,
    Situation,
    situations,
    suiting,
)
from fadoctor.knowledge.matrix.load import load_knowledge
from fadoctor.knowledge.matrix.query import Matrix
from fadoctor.model.fix import Fix, Safety, Step, StepKind
from fadoctor.sources.logs.cleaning import Line
from fadoctor.sources.logs.facts import facts_of

LINES = {
    "on-wsl": "uname -r: 5.15.167.4-microsoft-standard-WSL2",
    "on-container-optimized-os": "the VM runs Container-Optimized OS",
    "in-a-container": "I start it by docker run --gpus all -it img",
    "in-a-container-of-amd": "I start it by docker run --device=/dev/kfd -it rocm/pytorch",
    "in-a-dockerfile": "RUN pip install -r requirements.txt",
    "in-a-server-image": "docker run --gpus all vllm/vllm-openai:latest",
    "on-a-notebook-service": "!pip list in /content/app",
    "on-a-rented-machine": "This is a pod of RunPod",
    "on-a-cluster": "#SBATCH --gres=gpu:1",
    "in-jetson": "This is a Jetson Orin Nano",
    "on-a-mac": "I have no CUDA in my Mac, and want to use the CPU",
    "own-build-of-torch": "torch 2.6.0a0+git1234abc is what I compiled",
    "without-nvidia": "My laptop does not have an NVIDIA graphics card",
    "without-a-gpu": "This server has no GPU, so that it must run on the CPU",
    "on-fedora": "ComfyUI in a venv of Python 3.12 on Fedora 42",
    "frozen-program": r"torch\cuda\__init__.py:215: UserWarning: no code for this card",
    "in-blender": "It shows when I render with the add-on in Blender",
    "in-slicer": "The extension of 3D Slicer fails",
    "comfyui-portable": r"C:\ComfyUI_windows_portable>.\python_embeded\python.exe -s main.py",
    "comfyui-desktop": "Since today my ComfyUI Desktop stops at the sampler",
    "comfyui": "ComfyUI stops at the sampler",
    "webui-on-windows": r"I start it with webui-user.bat in D:\stable-diffusion-webui",
    "webui-on-linux": "./webui.sh --medvram",
    "pinokio-on-windows": "Pinokio on Windows 11 installed the program",
    "webui-launcher": "/home/eve/stable-diffusion-webui/venv/bin/python launch.py",
    "other-launcher": "SwarmUI 0.9.7 on Linux",
    "invoke": "InvokeAI 6.2 on Linux",
    "onetrainer-windows": r"D:\OneTrainer\venv\src\mgds",
    "applio-windows": r"Applio on Windows 11 falls back to the CPU",
    "fooocus-portable": "Fooocus: Windows portable package 2.5.0",
    "aki-package": r"F:\ComfyUI-aki-v2\main.py stops",
    "framepack-one-click": "FramePack stops at Start Generation without an error",
    "pinokio": "I installed Wan by Pinokio",
    "installer-files": r"E:\tts\installer_files\env\lib\site-packages\torch",
    "a-server-by-docker-run": "docker run --gpus all lmsysorg/sglang:latest",
    "unsloth-studio": "event: Found 0 models in /home/eve/.unsloth/studio/exports",
    "in-a-uv-project": "$ uv run train.py",
    "in-a-poetry-project": "$ poetry run python train.py",
    "in-a-notebook-cell": "then %pip install xformers in the first cell",
    "in-jupyter": "train.ipynb, cell 3",
    "of-a-program": "The picture program does not like my RTX 3060",
    "packed-on-windows": "I unpacked it and double-clicked run.bat",
}

MATRIX = Matrix(load_knowledge().tables)


def _shown(*lines: str) -> tuple[str, ...]:
    said = facts_of(tuple(Line(n, text, "") for n, text in enumerate(lines, 1)), "a.txt", MATRIX)
    found = situations(lines, said.environment, MATRIX.tables)
    return tuple(each.name for each in found)


@pytest.mark.parametrize("place", LINES)
def test_a_line_shows_the_place(place: str) -> None:
    assert place in _shown("hello", LINES[place])


def test_frames_of_the_desktop_edition_outweigh_a_folder_of_the_portable_one() -> None:
    # the package was put into another program's Python: its folder is named, and does not run
    shown = _shown(
        r"triton is in D:\Comfy\python_embeded\Lib\site-packages\triton",
        r'  File "C:\Programs\@comfyorgcomfyui-electron\resources\ComfyUI\execution.py", line 7',
    )
    assert "comfyui-desktop" in shown
    assert "comfyui-portable" not in shown


@pytest.mark.parametrize(
    "line",
    [
        "My torch is the newest, and ComfyUI and the other programs work fine.",
        "The voice tool fails. ComfyUI runs without any problems.",
        "ComfyUI Desktop is working well (same card).",
    ],
)
def test_a_program_that_works_is_not_the_one_that_fails(line: str) -> None:
    assert not {"comfyui", "comfyui-desktop"} & {*_shown("No kernel image. RTX 5070", line)}


@pytest.mark.parametrize(
    "line",
    ["ComfyUI works fine until I enable it", "ComfyUI works fine. But with masks it fails."],
)
def test_a_program_that_only_worked_is(line: str) -> None:
    assert "comfyui" in _shown("hello", line)


@pytest.mark.parametrize(
    "line",
    [
        "I do not have a graphics card, only the processor",
        "我的电脑没有显卡",
        "ein Rechner ohne Grafikkarte (GPU)",
        "I want to run the model on CPU",
        "It is a CPU-only VM with a GPU-less kernel",
    ],
)
def test_who_has_no_gpu_says_so(line: str) -> None:
    assert "without-a-gpu" in _shown("hello", line)


@pytest.mark.parametrize(
    "line",
    ["The login node has no GPU, the job has one", "RTX 3060: the server has no GPU any more"],
)
def test_who_has_one_elsewhere_does_not(line: str) -> None:
    assert "without-a-gpu" not in _shown(line)


@pytest.mark.parametrize(
    "line",
    [
        "I use a self-compiled PyTorch",
        "compiled torch 2.6.0 myself for sm_61",
        "这是我自己编译的 pytorch",
        "eine selbst kompilierte torch",
    ],
)
def test_who_compiled_torch_says_so(line: str) -> None:
    assert "own-build-of-torch" in _shown("hello", line)


def test_each_place_of_the_table_is_tried() -> None:
    rows = MATRIX.tables[TABLE].rows
    assert {row["situation"] for row in rows} == LINES.keys()


@pytest.mark.parametrize(
    "line",
    [
        'File "/opt/venv/lib/python3.11/site-packages/torch/nn/modules/container.py", line 250',
        "Error: Found no NVIDIA driver on your system",
        "RuntimeError: No CUDA GPUs are available",
        "No NVIDIA GPU was found, and no GPU without NVIDIA drivers",
        "The laptop (Arch Linux) has Iris Xe graphics and a GeForce RTX 3050",
        "This system does not have a CUDA-capable GPU",
        "The GPU host has no GPU in its list since the update",
        "I don't have a GPU with more memory",
        "It works on my Mac, and fails on the server",
        "I call it from my Mac over ssh, on a machine with an A100",
        "macro average, a mac address, and big-mac in a list",
        "GPUs before Ampere, such as those that are available on Google Colab",
        "It works in WSL and runs fine on Colab, my own Linux box fails",
        "On Colab the same code runs fine, and on this V100 it does not",
        "A collab of two labs trained the model",
        "I run python train.py FROM the shell, and from torch import nn",
    ],
)
def test_what_programs_print_shows_no_place(line: str) -> None:
    assert _shown(line) == ()


def _fix(*texts: str, kind: StepKind = StepKind.ADVICE) -> Fix:
    items = ("torch",) if kind is StepKind.INSTALL else ()
    return Fix("a", "A title", steps=tuple(Step(kind, text, items) for text in texts))


WSL = Situation("on-wsl", ("modprobe",), ("WSL",), title="For WSL", instead="Say so.")


def test_what_cannot_be_done_there_is_left_out() -> None:
    possible = _fix("pip install torch")
    assert suiting([_fix("sudo modprobe nvidia"), possible], [WSL]) == (possible,)


def test_what_speaks_of_the_place_stays() -> None:
    own = _fix("No modprobe in WSL: update the driver of Windows.")
    assert suiting([own], [WSL]) == (own,)


def test_where_nothing_is_left_the_place_says_what_helps() -> None:
    (said,) = suiting([_fix("sudo modprobe nvidia")], [WSL])
    assert (said.title, said.steps[0].text) == ("For WSL", "Say so.")
    assert suiting([], [WSL]) == ()


def test_pip_is_started_as_it_is_there_and_what_follows_is_said_once() -> None:
    here = [Situation("x", pip="uv pip", installs="Then A."), Situation("y", installs="Then B.")]
    (placed,) = suiting([_fix("pip install torch", kind=StepKind.INSTALL)], here)
    assert [step.text for step in placed.steps] == ["uv pip install torch", "Then A."]


def test_how_pip_is_started_is_not_said_beside_a_command_that_has_python_start_it() -> None:
    own = Situation(OWN_PYTHON, pip="/v/bin/python -m pip", installs="pip of this program: it.")
    (said,) = suiting([_fix("python -c \"call(['-m', 'pip', 'install', 'x'])\"")], [own])
    assert [step.text[:16] for step in said.steps] == ["/v/bin/python -c"]


def test_a_new_environment_is_not_that_of_the_program() -> None:
    """A server that was to get an environment of its own was installed over the old one."""
    own = Situation(OWN_PYTHON, pip="/v/bin/python -m pip", installs="pip of this program: it.")
    install = "pip install sglang"
    apart = Fix("a", "Install it in an environment of its own", steps=_fix(install).steps)
    (there,) = suiting([apart], [own])
    assert [step.text for step in there.steps] == [install]
    either = _fix("pip install a", "Or in a new environment: pip install a")
    (first,) = suiting([either], [own])
    assert [step.text for step in first.steps] == [
        "/v/bin/python -m pip install a",
        either.steps[1].text,
    ]


@pytest.mark.parametrize(
    ("pip", "placed"),
    [
        ("!pip", "!pip uninstall -y xformers"),
        ("/v/bin/python -m pip", "/v/bin/python -m pip uninstall -y xformers"),
        ("uv pip", "uv pip uninstall xformers"),
        ("!uv pip", "!uv pip uninstall xformers"),
    ],
)
@pytest.mark.parametrize("kind", [StepKind.UNINSTALL, StepKind.ADVICE])
def test_pip_is_answered_and_uv_asks_nothing(pip: str, placed: str, kind: StepKind) -> None:
    fix = _fix("pip uninstall -y xformers", kind=kind)
    assert suiting([fix], [Situation("x", pip=pip)])[0].steps[0].text == placed


def test_a_fix_about_the_driver_is_told_whose_it_is() -> None:
    here = [Situation("x", installs="Then A.", drivers="It is the host's.")]
    (placed,) = suiting([_fix("Update the driver.")], here)
    assert placed.steps[-1].text == "It is the host's."


def test_a_question_does_not_come_before_what_helps_there() -> None:
    asked = Fix(QUESTION, "Say which torch this is", steps=(Step(StepKind.ADVICE, "Which?"),))
    fixes = suiting([_fix("sudo modprobe nvidia"), asked], [WSL])
    assert [fix.title for fix in fixes] == ["For WSL", asked.title]
    assert suiting([asked], [WSL]) == (asked,)


@pytest.mark.parametrize(
    ("kind", "line", "here"),
    [
        (StepKind.SYSTEM, "sudo apt install gcc", "RUN apt-get update && apt-get install -y gcc"),
        (StepKind.SET, "export MAX_JOBS=2", "ENV MAX_JOBS=2"),
        (StepKind.SYSTEM, "sudo apt update", "sudo apt update"),
    ],
)
def test_a_dockerfile_has_its_own_words(kind: StepKind, line: str, here: str) -> None:
    said = facts_of((Line(1, line, ""),), "a.txt", MATRIX)
    found = situations(("FROM python:3.12-slim", "gcc"), said.environment, MATRIX.tables)
    (placed,) = suiting([_fix(line, kind=kind)], found)
    assert placed.steps[0].text == here


@pytest.mark.parametrize(
    ("apt", "here"),
    [
        ("sudo apt install python3.12-dev", "sudo dnf install python3.12-devel"),
        ("sudo apt install build-essential", "sudo dnf install gcc-c++"),
        ("sudo apt install libsndfile1", "sudo apt install libsndfile1"),
    ],
)
def test_packages_of_the_system_have_its_own_names(apt: str, here: str) -> None:
    lines = ("a venv on Rocky Linux 9",)
    said = facts_of((Line(1, lines[0], ""),), "a.txt", MATRIX)
    found = situations(lines, said.environment, MATRIX.tables)
    (placed,) = suiting([_fix(apt, kind=StepKind.SYSTEM)], found)
    assert placed.steps[0].text == here


def test_the_folder_of_another_installation_is_not_where_desktop_installs() -> None:
    lines = [
        r"I put triton into C:\ui\python_embeded\Lib\site-packages\triton",
        r'File "C:\Users\eve\AppData\Local\Programs\@comfyorgcomfyui-electron\x.py", line 3',
    ]
    assert _shown(*lines) == ("comfyui-desktop",)


@pytest.mark.parametrize(
    ("kind", "text", "written"),
    [
        (StepKind.SYSTEM, 'python -c "import torch"', r'venv\Scripts\python.exe -c "import torch"'),
        (StepKind.SYSTEM, "python main.py", "python main.py"),
        (
            StepKind.ADVICE,
            "`python -m pip show torch`.",
            r"`venv\Scripts\python.exe -m pip show torch`.",
        ),
        (StepKind.ADVICE, "python -m venv new", "python -m venv new"),
        # the web UI starts it by itself with python -m
        (
            StepKind.ADVICE,
            "set TORCH_COMMAND=pip install torch==2.7.0",
            "set TORCH_COMMAND=pip install torch==2.7.0",
        ),
    ],
)
def test_the_python_of_the_place_runs_what_asks_its_packages(
    kind: StepKind, text: str, written: str
) -> None:
    here = Situation("there", pip=r"venv\Scripts\python.exe -m pip")
    fix = Fix("a", "A", Safety.SAFE, (Step(kind, text),))
    assert here.started(fix).steps[0].text == written


MACS = (
    "The laptop is a MacBook Air",
    "OS: macOS 15.1",
    "**Operating System:** macOS",
    "训练跑在 Mac M3 上面",
    "I work on a silicon Mac with the M4 chip",
    "File /Users/eve/app/train.py, line 3",
    "I started it with device='mps'",
)
NO_MACS = (
    "OS: Linux, Windows or macOS",
    "Operating System (macOS/Windows/Linux): Windows",
    "NVIDIA's MPS is running on the node",
    r"C:\Users\eve\app\train.py, the same on my MacBook",
    "From my MacBook I use a server with an RTX 4090 by ssh",
    "the MAC address of the card",
)


@pytest.mark.parametrize("line", MACS)
def test_a_mac_is_read_from_words_paths_and_systems(line: str) -> None:
    assert "on-a-mac" in _shown(line)


@pytest.mark.parametrize("line", NO_MACS)
def test_a_mac_beside_another_machine_is_none(line: str) -> None:
    assert "on-a-mac" not in _shown(line)
